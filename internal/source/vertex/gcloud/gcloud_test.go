package gcloud_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/trainmedic/trainmedic/internal/source/vertex/gcloud"
)

func TestProjectAndRegion(t *testing.T) {
	home := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	write("g/active_config", "work")
	write("g/configurations/config_work", "[core]\naccount = a@b.example\nproject = work-proj\n\n[ai]\nregion = europe-west4\n")
	write("g/configurations/config_default", "[compute]\nproject = no\nregion = no\n[core]\nproject=home-proj\n")
	key := write("key.json", `{"type":"service_account","project_id":"key-proj"}`)
	write(".config/gcloud/configurations/config_default", "[core]\nproject = dot-proj\n")
	bad := write("bad.json", "{")
	dir := filepath.Join(home, "g")
	for _, c := range []struct {
		name            string
		env             map[string]string
		project, region string
	}{
		{"the active configuration", map[string]string{"CLOUDSDK_CONFIG": dir}, "work-proj", "europe-west4"},
		{"another one by name", map[string]string{"CLOUDSDK_CONFIG": dir, "CLOUDSDK_ACTIVE_CONFIG_NAME": "default"}, "home-proj", ""},
		{"the environment wins", map[string]string{"CLOUDSDK_CONFIG": dir, "CLOUDSDK_CORE_PROJECT": "env-proj", "CLOUDSDK_AI_REGION": "asia-east1"}, "env-proj", "asia-east1"},
		{"GOOGLE_CLOUD_PROJECT comes after gcloud's own", map[string]string{"CLOUDSDK_CONFIG": dir, "GOOGLE_CLOUD_PROJECT": "late-proj"}, "work-proj", "europe-west4"},
		{"GOOGLE_CLOUD_PROJECT where gcloud has none", map[string]string{"CLOUDSDK_CONFIG": filepath.Join(home, "none"), "GOOGLE_CLOUD_PROJECT": "late-proj"}, "late-proj", ""},
		{"a service account's key", map[string]string{"CLOUDSDK_CONFIG": filepath.Join(home, "none"), "GOOGLE_APPLICATION_CREDENTIALS": key}, "key-proj", ""},
		{"a damaged key", map[string]string{"CLOUDSDK_CONFIG": filepath.Join(home, "none"), "GOOGLE_APPLICATION_CREDENTIALS": bad}, "", ""},
		{"the usual folder", nil, "dot-proj", ""},
		{"a configuration's name is no path", map[string]string{"CLOUDSDK_CONFIG": dir, "CLOUDSDK_ACTIVE_CONFIG_NAME": "../../x"}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := gcloud.Env{Getenv: func(k string) string { return c.env[k] }, Home: home}
			if p, r := e.Project(), e.Region(); p != c.project || r != c.region {
				t.Errorf("want %q %q, got %q %q", c.project, c.region, p, r)
			}
		})
	}
}

func FuzzConfiguration(f *testing.F) {
	f.Add("[core]\nproject = a\n")
	f.Add("[core\n=\n:")
	dir := f.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "configurations"), 0o755); err != nil {
		f.Fatal(err)
	}
	e := gcloud.Env{Getenv: func(k string) string { return map[string]string{"CLOUDSDK_CONFIG": dir}[k] }, Home: dir}
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(filepath.Join(dir, "configurations", "config_default"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		e.Project()
		e.Region()
	})
}
