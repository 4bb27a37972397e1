package remote

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestSettings reads testdata/*.txtar: a home's files, and in "want" a line for
// each host: the host, then what is known of it.
func TestSettings(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no texts: %v", err)
	}
	t.Setenv("SSH_AUTH_SOCK", "/agent")
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(f)
			if err != nil {
				t.Fatal(err)
			}
			home := t.TempDir()
			want := ""
			for _, file := range a.Files {
				if file.Name == "want" {
					want = string(file.Data)
					continue
				}
				p := filepath.Join(home, file.Name)
				if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p, file.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var got strings.Builder
			for line := range strings.Lines(want) {
				host, _, _ := strings.Cut(strings.TrimSpace(line), ": ")
				got.WriteString(strings.ReplaceAll(describe(t, home, host), home, "HOME") + "\n")
			}
			if diff := cmp.Diff(want, got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// describe is what the configuration says beyond what is usual.
func describe(t *testing.T, home, host string) string {
	a, err := ParseAddress(host)
	if err != nil {
		return host + ": " + err.Error()
	}
	s, err := Client{Home: home}.settings(a)
	if err != nil {
		return host + ": " + err.Error()
	}
	out := host + ": " + s.where()
	if s.User != "" && s.User != localUser(t, home) {
		out += " as " + s.User
	}
	if len(s.identities) != 5 {
		out += " with " + strings.Join(s.identities, ",")
	}
	for _, j := range s.jump {
		out += " via " + j.String()
		if j.Port > 0 {
			out += " port"
		}
	}
	if s.agent != "/agent" {
		out += " agent=" + s.agent
	}
	if s.algorithms != "" {
		out += " keys=" + s.algorithms
	}
	if s.keyName() != s.where() {
		out += " known as " + s.keyName()
	}
	if s.system != "" {
		out += " by the system's ssh: " + s.system
	}
	return out
}

func localUser(t *testing.T, home string) string {
	t.Helper()
	s, err := Client{Home: filepath.Join(home, "none")}.settings(Address{Host: "x"})
	if err != nil {
		t.Fatal(err)
	}
	return s.User
}

// FuzzAddress: what is taken as an address cannot be an option, and has nothing
// in it that a shell would take apart.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"user@host", "-oProxyCommand=x", "a@b@c", "ssh://u@h:22", "[::1]", "u@$(id)", "a b", "\n", "user@-h", "ssh://-o@h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddress(s)
		if err != nil {
			return
		}
		for _, word := range []string{a.Host, a.User} {
			if strings.HasPrefix(word, "-") || strings.ContainsAny(word, " \t\r\n'\"`;&|<>(){}*?!#/\x00") {
				t.Errorf("%q became %q", s, word)
			}
		}
		if a.Host == "" || a.Port < 0 || a.Port > 65535 {
			t.Errorf("%q became %+v", s, a)
		}
	})
}
