package sshconfig

import (
	"strings"
	"testing"
)

// FuzzConfig: whatever stands in a file, it is read or refused.
func FuzzConfig(f *testing.F) {
	f.Add("Host a b !c\n Port 22\nMatch host x user y\n IdentityFile ~/k\n", "a")
	f.Add("Include x*\nHost \"a b\"\nPort=1 # c\nMatch !all exec \"true\"\n", "h")
	f.Fuzz(func(t *testing.T, text, host string) {
		r := &reader{Config: Config{values: map[string][]string{}}, alias: host, home: "/nowhere", local: "me"}
		if err := r.text(text, "config", "/nowhere", 0); err != nil {
			return
		}
		for key, v := range r.values {
			if len(v) == 0 || key != strings.ToLower(key) {
				t.Errorf("%q has %q", key, v)
			}
		}
	})
}
