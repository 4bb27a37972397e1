package cloud

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/source"
)

// key writes the key of a service account that gets its tokens from a server.
func key(t *testing.T, tokens string) string {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	b, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "p", "client_email": "trainer@p.iam.gserviceaccount.com", "token_uri": tokens,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b})),
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCredentials(t *testing.T) {
	const secret = "ya29.c2VjcmV0"
	for _, c := range []struct {
		name, body string
		code       int
		kind       error
		says       string
	}{
		{"good", `{"access_token":"` + secret + `","expires_in":3600,"token_type":"Bearer"}`, 200, nil, ""},
		{"expired", `{"error":"invalid_grant","error_subtype":"invalid_rapt","error_description":"` + secret + `"}`, 400, source.ErrDenied, "invalid_grant (invalid_rapt)"},
		{"an answer that is no JSON", secret, 403, source.ErrDenied, "refused"},
		{"an answer that hides a secret in its kind", `{"error":"` + secret + `"}`, 400, source.ErrDenied, "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.code)
				w.Write([]byte(c.body))
			}))
			t.Cleanup(s.Close)
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", key(t, s.URL))
			_, err := credentialsOf(t.Context())
			if c.kind == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			a, ok := errors.AsType[*source.Advice](err)
			if !ok || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || !strings.Contains(a.Ask, "gcloud auth application-default login") {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(err.Error()+a.Ask, secret) {
				t.Errorf("a secret is in %v", err)
			}
		})
	}
}

func TestAServerOfTokensThatIsAway(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", key(t, s.URL))
	s.Close()
	if _, err := credentialsOf(t.Context()); !errors.Is(err, source.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

func TestCredentialsThatAreNone(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte(`{"type":"service_account","private_key":"s3cret"`), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, says := range map[string]string{filepath.Join(dir, "none.json"): "which is not there", broken: "no usable key"} {
		t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
		_, err := credentialsOf(t.Context())
		if !errors.Is(err, source.ErrDenied) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v", file, err)
		}
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	if err := noClient(errors.New("credentials: could not find default credentials. See https://…")); !strings.Contains(err.Error(), "no Google credentials") {
		t.Errorf("got %v", err)
	}
	t.Setenv("CLOUDSDK_CONFIG", dir)
	if err := os.WriteFile(filepath.Join(dir, "application_default_credentials.json"), []byte(`{"type":"nobody"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := credentialsOf(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("the file in gcloud's folder: got %v", err)
	}
}
