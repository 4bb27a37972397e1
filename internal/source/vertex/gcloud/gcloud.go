// Package gcloud knows which project and region gcloud would use, in gcloud's
// own order, from its environment variables and configuration files. It never
// runs gcloud, and what it cannot read it takes as not set.
package gcloud

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Env is where the settings come from; the zero value is this process's.
type Env struct {
	Getenv func(string) string // nil: os.Getenv
	Home   string              // "": the user's home
}

func (e Env) get(key string) string {
	if e.Getenv != nil {
		return e.Getenv(key)
	}
	return os.Getenv(key)
}

// Project is the project to use when none was said: CLOUDSDK_CORE_PROJECT, the
// active configuration, GOOGLE_CLOUD_PROJECT, the project of a service account's
// key; "" when there is none.
func (e Env) Project() string {
	return cmp.Or(e.get("CLOUDSDK_CORE_PROJECT"), e.active("core", "project"), e.get("GOOGLE_CLOUD_PROJECT"), e.keyProject())
}

// Region is the region to use when none was said: CLOUDSDK_AI_REGION, the active
// configuration; "" when there is none.
func (e Env) Region() string {
	return cmp.Or(e.get("CLOUDSDK_AI_REGION"), e.active("ai", "region"))
}

// Dir is gcloud's configuration folder.
func (e Env) Dir() string {
	if d := e.get("CLOUDSDK_CONFIG"); d != "" {
		return d
	}
	if runtime.GOOS == "windows" {
		return filepath.Join(e.get("APPDATA"), "gcloud")
	}
	home := e.Home
	if home == "" {
		home = e.get("HOME")
	}
	return filepath.Join(home, ".config", "gcloud")
}

// active reads a property of the active configuration.
func (e Env) active(section, key string) string {
	name := e.get("CLOUDSDK_ACTIVE_CONFIG_NAME")
	if name == "" {
		b, _ := os.ReadFile(filepath.Join(e.Dir(), "active_config"))
		name = strings.TrimSpace(string(b))
	}
	name = cmp.Or(name, "default")
	if name != filepath.Base(name) {
		return ""
	}
	f, err := os.Open(filepath.Join(e.Dir(), "configurations", "config_"+name))
	if err != nil {
		return ""
	}
	defer f.Close()
	return property(bufio.NewScanner(f), section, key)
}

// property finds a key in a section of an INI file.
func property(lines *bufio.Scanner, section, key string) string {
	in := false
	for lines.Scan() {
		l := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(l, "[") {
			in = l == "["+section+"]"
			continue
		}
		k, v, ok := strings.Cut(l, "=")
		if !ok {
			k, v, ok = strings.Cut(l, ":")
		}
		if ok && in && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// keyProject is the project that a service account's key names.
func (e Env) keyProject() string {
	b, err := os.ReadFile(e.Credentials())
	if err != nil {
		return ""
	}
	var key struct {
		ProjectID string `json:"project_id"`
	}
	if json.Unmarshal(b, &key) != nil {
		return ""
	}
	return key.ProjectID
}

// Credentials is the file of application default credentials; it need not exist.
func (e Env) Credentials() string {
	return cmp.Or(e.get("GOOGLE_APPLICATION_CREDENTIALS"), filepath.Join(e.Dir(), "application_default_credentials.json"))
}
