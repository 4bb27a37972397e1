package wandb

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/source"
)

func TestPaths(t *testing.T) {
	for ref, want := range map[string]path{
		"abc": {id: "abc"}, "vision/abc": {project: "vision", id: "abc"}, "vision:abc": {project: "vision", id: "abc"}, "acme/vision/abc": {entity: "acme", project: "vision", id: "abc"},
		"acme/vision/runs/abc": {entity: "acme", project: "vision", id: "abc"}, "/acme/vision:abc/": {entity: "acme", project: "vision", id: "abc"}, "vision/runs/abc": {project: "vision", id: "abc"},
		"https://wandb.ai/acme/vision/runs/abc":                    {server: "wandb.ai", entity: "acme", project: "vision", id: "abc"},
		"https://wandb.ai/acme/vision/runs/abc/logs?nw=1":          {server: "wandb.ai", entity: "acme", project: "vision", id: "abc"},
		"https://wandb.corp.example:8443/acme/vision/runs/abc#top": {server: "wandb.corp.example:8443", entity: "acme", project: "vision", id: "abc"},
	} {
		if got, err := parsePath(ref); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", ref, got, err)
		}
	}
	for _, ref := range []string{"", "a/b/c/d", "a b/c", "acme/vision/", "https://wandb.ai/acme", "https://", "a/b/c/d/e", "runs", "x://user:secret@"} {
		p, err := parsePath(ref)
		if ref == "acme/vision/" { // a project and a run, as far as a name tells
			continue
		}
		if !errors.Is(err, source.ErrBadTarget) {
			t.Errorf("%q: got %+v, %v", ref, p, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error has the secret: %v", err)
		}
	}
}

func FuzzPath(f *testing.F) {
	f.Add("acme/vision/runs/abc")
	f.Add("https://wandb.ai/acme/vision/runs/abc/logs")
	f.Add("a:b:c")
	f.Fuzz(func(t *testing.T, ref string) {
		if p, err := parsePath(ref); err == nil && p.id == "" || err != nil && !errors.Is(err, source.ErrBadTarget) {
			t.Errorf("%q: %+v, %v", ref, p, err)
		}
	})
}

func save(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSettings(t *testing.T) {
	netrc := "machine other\n login user\n password other-key\nmachine api.wandb.ai\n login user\n password netrc-key\nmachine wandb.corp.example login user password corp-key\n"
	for name, c := range map[string]struct {
		env   map[string]string
		files map[string]string // under the home folder; "./" under the working folder
		host  string
		want  settings
		err   error
	}{
		"nothing":             {err: source.ErrDenied},
		"the environment":     {env: map[string]string{"WANDB_API_KEY": "k", "WANDB_ENTITY": "e", "WANDB_PROJECT": "p"}, want: settings{publicServer, "k", "WANDB_API_KEY", "e", "p"}},
		"a netrc file":        {files: map[string]string{".netrc": netrc}, want: settings{base: publicServer, key: "netrc-key", keyFrom: "HOME/.netrc"}},
		"of the run's server": {files: map[string]string{".netrc": netrc}, host: "wandb.corp.example", want: settings{base: "https://wandb.corp.example", key: "corp-key", keyFrom: "HOME/.netrc"}},
		"the run's page":      {files: map[string]string{".netrc": netrc}, host: "wandb.ai", want: settings{base: publicServer, key: "netrc-key", keyFrom: "HOME/.netrc"}},
		"settings files": {
			files: map[string]string{".netrc": netrc, ".config/wandb/settings": "[default]\nentity = mine\nbase_url = https://wandb.corp.example/\n", "./wandb/settings": "[default]\nproject: here\n[other]\nentity = no\n"},
			want:  settings{"https://wandb.corp.example", "corp-key", "HOME/.netrc", "mine", "here"},
		},
		"NETRC names another": {
			env: map[string]string{"NETRC": "~/keys"}, files: map[string]string{"keys": "default login x password any-key", ".netrc": netrc},
			want: settings{base: publicServer, key: "any-key", keyFrom: "~/keys"},
		},
		"a bad address": {env: map[string]string{"WANDB_API_KEY": "k", "WANDB_BASE_URL": "wandb.corp:secret"}, err: source.ErrBadTarget},
		"a password in the address": {
			env:  map[string]string{"WANDB_API_KEY": "k", "WANDB_BASE_URL": "https://me:secret@wandb.corp.example/base/?x=1"},
			want: settings{base: "https://wandb.corp.example/base", key: "k", keyFrom: "WANDB_API_KEY"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			t.Chdir(t.TempDir())
			for _, k := range []string{"WANDB_API_KEY", "WANDB_BASE_URL", "WANDB_ENTITY", "WANDB_PROJECT", "WANDB_CONFIG_DIR", "NETRC"} {
				t.Setenv(k, c.env[k])
			}
			t.Setenv("HOME", home)
			for p, text := range c.files {
				if !strings.HasPrefix(p, "./") {
					p = filepath.Join(home, p)
				}
				save(t, p, text)
			}
			got, err := readSettings(c.host)
			if !errors.Is(err, c.err) || err != nil && strings.Contains(err.Error(), "secret") {
				t.Fatalf("got %v", err)
			}
			got.keyFrom = strings.Replace(got.keyFrom, home, "HOME", 1)
			if err == nil {
				if d := cmp.Diff(c.want, got, cmp.AllowUnexported(settings{})); d != "" {
					t.Errorf("settings (-want +got):\n%s", d)
				}
			}
		})
	}
}

func TestClaims(t *testing.T) {
	log := filepath.Join(t.TempDir(), "run-x.wandb")
	save(t, log, ":W&B")
	for target, want := range map[string]bool{
		"https://wandb.ai/acme/vision/runs/abc": true, "https://wandb.corp.example/acme/vision/runs/abc": true, log: true,
		"https://example.com/acme/vision/runs/abc": false, "acme/vision/abc": false, "run.log": false, "missing.wandb": false, "https://wandb.ai/acme": false,
	} {
		if got := claim(target); got != want {
			t.Errorf("%s: claimed %v", target, got)
		}
	}
}
