package monitor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
	sourceall "github.com/trainmedic/trainmedic/internal/source/all"
)

// Passwords of the users of MLflow's basic-auth.
const (
	adminPassword = "correct-horse-" + "battery"
	guestPassword = "a-guest-has-" + "no-key"
)

// account asks MLflow's server something as its administrator.
func account(t *testing.T, server, path string, body, answer any) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server+"/api/2.0/mlflow/"+path, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth("admin", adminPassword)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", path, resp.Status, err)
	}
}

// trackersAreGuarded: MLflow's own basic-auth lets the right password in; who may
// not see a run is told what to do, and no password is told.
func trackersAreGuarded(t *testing.T, python, dir string) {
	ini := filepath.Join(t.TempDir(), "auth.ini")
	text := "[mlflow]\ndefault_permission = NO_PERMISSIONS\ndatabase_uri = sqlite:///" + ini + ".db\nadmin_username = admin\nauthorization_function = mlflow.server.auth:authenticate_request_basic_auth\n"
	if err := os.WriteFile(ini, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"MLFLOW_AUTH_CONFIG_PATH": ini, "MLFLOW_AUTH_ADMIN_PASSWORD": adminPassword, "MLFLOW_FLASK_SERVER_SECRET_KEY": "test", "MLFLOW_TRACKING_TOKEN": ""} {
		t.Setenv(k, v)
	}
	server := trackerServer(t, python, dir, "--app-name", "basic-auth")
	t.Setenv("HOME", t.TempDir()) // where no credentials lie
	account(t, server, "users/create", map[string]string{"username": "guest", "password": guestPassword}, &struct{}{})
	var found struct {
		Runs []struct {
			Info struct {
				ID string `json:"run_id"`
			}
		}
	}
	account(t, server, "runs/search", map[string]any{"experiment_ids": []string{"0"}, "filter": "attributes.run_name = 'agree-served'"}, &found)
	if len(found.Runs) != 1 {
		t.Fatalf("%d runs", len(found.Runs))
	}
	book, err := theBook()
	if err != nil {
		t.Fatal(err)
	}
	doctor := &diagnose.Doctor{Book: book, Sources: sourceall.Kinds()}
	id := "mlflow:" + server + "#" + found.Runs[0].Info.ID
	for name, c := range map[string]struct {
		user, password, target string
		is                     error
		says                   string
	}{
		"the right password":     {"admin", adminPassword, id, nil, ""},
		"the run by its name":    {"admin", adminPassword, "mlflow:" + server + "#agree-served", nil, ""},
		"a wrong password":       {"admin", guestPassword, id, source.ErrDenied, "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"},
		"no password":            {"", "", id, source.ErrDenied, "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"},
		"no permission":          {"guest", guestPassword, id, source.ErrDenied, "ask for READ permission on its experiment"},
		"no permission, by name": {"guest", guestPassword, "mlflow:" + server + "#agree-served", source.ErrNotFound, "READ permission on its experiment"},
		"no permission for any":  {"guest", guestPassword, "mlflow:" + server, source.ErrNotFound, "READ permission on an experiment"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("MLFLOW_TRACKING_USERNAME", c.user)
			t.Setenv("MLFLOW_TRACKING_PASSWORD", c.password)
			r, err := doctor.Diagnose(t.Context(), diagnose.Request{Target: c.target})
			if c.is == nil {
				if err != nil || r.Diagnosis.PrimaryCause != report.NaNInf {
					t.Errorf("%v, %+v", err, r)
				}
				return
			}
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("want %v and %q, got %v", c.is, c.says, err)
			}
			for _, secret := range []string{adminPassword, guestPassword} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("it tells a password: %v", err)
				}
			}
		})
	}
}
