package mlflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/source"
)

// service answers as a tracking server does: the values of one metric in pages of
// two, and before that whatever fails says.
type service struct {
	t      *testing.T
	values []string // "value step"
	fails  func(w http.ResponseWriter, r *http.Request) bool
	asked  []string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, "/api/2.0/mlflow/")
	s.asked = append(s.asked, path)
	if s.fails != nil && s.fails(w, r) {
		return
	}
	answer := map[string]any{}
	info := map[string]any{"run_id": newRun, "run_name": "new", "experiment_id": "7", "status": "RUNNING", "start_time": "1700000001000"}
	last := strings.Fields(s.values[len(s.values)-1])
	data := map[string]any{
		"metrics": []any{map[string]any{"key": "train/loss", "value": last[0], "timestamp": 1700000002000, "step": last[1]}},
		"params":  []any{map[string]any{"key": "lr", "value": "0.1"}},
	}
	switch path {
	case "runs/get":
		answer["run"] = map[string]any{"info": info, "data": data}
	case "experiments/search":
		answer["experiments"] = []any{map[string]any{"experiment_id": "7"}}
	case "runs/search":
		answer["runs"] = []any{map[string]any{"info": info}}
	case "metrics/get-history":
		from := 0
		if token := r.URL.Query().Get("page_token"); token != "" {
			fmt.Sscan(token, &from)
		}
		var page []any
		for _, v := range s.values[from:min(from+2, len(s.values))] {
			f := strings.Fields(v)
			page = append(page, map[string]any{"key": "train/loss", "value": f[0], "timestamp": 1700000002000, "step": f[1]})
		}
		answer["metrics"] = page
		if from+2 < len(s.values) {
			answer["next_page_token"] = fmt.Sprint(from + 2)
		}
	default:
		ok = false
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.t.Error(err)
	}
}

// serve starts a service and points MLflow's environment at nothing else.
func serve(t *testing.T, s *service) string {
	t.Helper()
	for _, v := range []string{"MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "DATABRICKS_HOST", "DATABRICKS_TOKEN"} {
		t.Setenv(v, "")
	}
	t.Setenv("HOME", t.TempDir())
	s.t = t
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return h.URL
}

func TestServer(t *testing.T) {
	svc := &service{values: []string{"0.5 1", "0.4 2", "NaN 3", "Infinity 4", "-Infinity 5"}}
	base := serve(t, svc)
	for _, ref := range []string{base + "#" + newRun, base, base + "/#/experiments/7/runs/" + newRun, base + "#new"} {
		samples, facts, _ := seen(t, opened(t, ref, source.Options{}), nil)
		if diff := cmp.Diff([]string{"train/loss@1=0.5", "train/loss@2=0.4", "train/loss@3=NaN", "train/loss@4=+Inf", "train/loss@5=-Inf"}, samples); diff != "" {
			t.Errorf("%s: %s", ref, diff)
		}
		want := []string{"tracker.kind=MLflow", "tracker.run=new (" + newRun + ")", "tracker.state=RUNNING", "tracker.url=" + base + "/#/experiments/7/runs/" + newRun, "tracker.started_at=2023-11-14T22:13:21Z", "config.lr=0.1"}
		if diff := cmp.Diff(want, facts); diff != "" {
			t.Errorf("%s: %s", ref, diff)
		}
	}
}

// TestServerThatGrows: a look asks for the last page again and takes what is new
// of it.
func TestServerThatGrows(t *testing.T) {
	svc := &service{values: []string{"0.5 1", "0.4 2", "0.3 3"}}
	s := opened(t, serve(t, svc)+"#"+newRun, source.Options{Watch: true})
	_, _, obs := seen(t, s, nil)
	for _, c := range []struct{ adds, want []string }{
		{nil, nil},
		{[]string{"0.2 4"}, []string{"train/loss@4=0.2"}},
		{[]string{"0.1 5", "NaN 6", "NaN 7"}, []string{"train/loss@5=0.1", "train/loss@6=NaN", "train/loss@7=NaN"}},
	} {
		svc.values = append(svc.values, c.adds...)
		samples, facts, next := seen(t, s, obs.Next)
		obs = next
		if diff := cmp.Diff(c.want, samples); diff != "" || len(facts) > 0 {
			t.Error(diff, facts)
		}
	}
}

func TestServerErrors(t *testing.T) {
	const secret = "hunter" + "2hunter2"
	reply := func(code int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(code)
			fmt.Fprint(w, body)
			return true
		}
	}
	for name, c := range map[string]struct {
		fails func(http.ResponseWriter, *http.Request) bool
		want  error
		says  string
	}{
		"no such run":        {reply(404, `{"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "Run with id=x not found"}`), source.ErrNotFound, "Run with id=x not found"},
		"no credentials":     {reply(401, "You are not authenticated."), source.ErrDenied, "MLFLOW_TRACKING_USERNAME"},
		"no permission":      {reply(403, `{"error_code": "PERMISSION_DENIED", "message": "Permission denied"}`), source.ErrDenied, "READ permission"},
		"no tracking server": {reply(404, "<html>nginx</html>"), source.ErrNotFound, "is it an MLflow tracking server"},
		"a page, no answer":  {reply(200, "<html>log in</html>"), source.ErrBadTarget, "answers no JSON"},
		"broken":             {reply(500, "oops"), source.ErrUnreachable, "asked 4 times"},
		"refuses the form":   {reply(400, `{"error_code": "INVALID_PARAMETER_VALUE", "message": "bad"}`), source.ErrUnreachable, "400 bad"},
	} {
		t.Run(name, func(t *testing.T) {
			base := serve(t, &service{values: []string{"1 1"}, fails: c.fails})
			t.Setenv("MLFLOW_TRACKING_TOKEN", secret)
			st, err := newServer(base)
			if err != nil {
				t.Fatal(err)
			}
			s := st.(*server)
			s.firstIn = time.Millisecond
			_, err = s.info(t.Context(), newRun)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), secret) {
				t.Errorf("want %v and %q, got %v", c.want, c.says, err)
			}
		})
	}
}

// TestABusyServerIsAskedAgain: 429 lets the look wait, and the report says so.
func TestABusyServerIsAskedAgain(t *testing.T) {
	refusals := 2
	svc := &service{values: []string{"0.5 1"}}
	svc.fails = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "get-history") || refusals == 0 {
			return false
		}
		refusals--
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	src := opened(t, serve(t, svc)+"#"+newRun, source.Options{})
	src.(*tracked).store.(*server).firstIn = time.Millisecond
	samples, _, obs := seen(t, src, nil)
	if len(samples) != 1 || len(obs.Gaps) != 1 || !strings.Contains(obs.Gaps[0].Why, "busy") {
		t.Errorf("%v, %+v", samples, obs.Gaps)
	}
}

// TestOneMetricThatFails leaves the others, and its place in them.
func TestOneMetricThatFails(t *testing.T) {
	svc := &service{values: []string{"0.5 1", "0.4 2", "0.3 3"}}
	broken := true
	svc.fails = func(w http.ResponseWriter, r *http.Request) bool {
		if broken && r.URL.Query().Get("page_token") != "" {
			w.WriteHeader(http.StatusBadRequest)
			return true
		}
		return false
	}
	s := opened(t, serve(t, svc)+"#"+newRun, source.Options{Watch: true})
	samples, _, obs := seen(t, s, nil)
	if len(samples) != 2 || len(obs.Gaps) != 1 {
		t.Fatalf("%v, %+v", samples, obs.Gaps)
	}
	broken = false
	samples, _, _ = seen(t, s, obs.Next)
	if diff := cmp.Diff([]string{"train/loss@3=0.3"}, samples); diff != "" {
		t.Error(diff)
	}
}

func TestCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		file string
		want string
	}{
		"none":              {nil, "", ""},
		"a token":           {map[string]string{"MLFLOW_TRACKING_TOKEN": "abc"}, "", "Bearer abc"},
		"a user goes first": {map[string]string{"MLFLOW_TRACKING_TOKEN": "abc", "MLFLOW_TRACKING_USERNAME": "u", "MLFLOW_TRACKING_PASSWORD": "p"}, "", "Basic dTpw"},
		"the file":          {nil, "[other]\nmlflow_tracking_username = x\n[mlflow]\nmlflow_tracking_username = u\nmlflow_tracking_password = p\n", "Basic dTpw"},
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, &service{})
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			if c.file != "" {
				put(t, os.Getenv("HOME"), ".mlflow/credentials", c.file)
			}
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			readCredentials().sign(r)
			if diff := cmp.Diff(c.want, r.Header.Get("Authorization")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCertificates(t *testing.T) {
	serve(t, &service{})
	bad := filepath.Join(t.TempDir(), "ca.pem")
	put(t, filepath.Dir(bad), "ca.pem", "no certificate")
	for _, v := range []string{"MLFLOW_TRACKING_SERVER_CERT_PATH", "MLFLOW_TRACKING_CLIENT_CERT_PATH"} {
		t.Run(v, func(t *testing.T) {
			t.Setenv(v, bad)
			if _, err := newServer("https://h"); !errors.Is(err, source.ErrBadTarget) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Setenv("MLFLOW_TRACKING_INSECURE_TLS", "true")
	if c, err := tlsConfig(); err != nil || !c.InsecureSkipVerify {
		t.Errorf("%v %v", c, err)
	}
}

// TestPlaces: what a cursor holds is read back, and anything else is the start.
func TestPlaces(t *testing.T) {
	if p := (point{7, 3}); parsePoint(p.String()) != p {
		t.Errorf("%v", parsePoint(p.String()))
	}
	for _, s := range []string{"", "x", "7", "-1 2"} {
		if p := parsePoint(s); p != (point{}) {
			t.Errorf("%q: %v", s, p)
		}
	}
}
