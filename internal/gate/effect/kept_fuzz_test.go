package effect

import (
	"os"
	"path/filepath"
	"testing"
)

func FuzzMemories(f *testing.F) {
	f.Add([]byte(`[{"Run":"w1","PID":12,"Start":"1","Launch":{"Args":["sh"],"Env":["A=b"],"Dir":"/tmp"}}]`))
	f.Add([]byte(`[null]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "w1.json")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, m := range memories(path) {
			if m.Run != "w1" || m.PID <= 1 || len(m.Launch.Args) == 0 || m.doubt() == "" {
				t.Errorf("%s gives %+v", b, m)
			}
		}
	})
}
