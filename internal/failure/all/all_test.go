package all_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/failure/all"
)

var update = flag.Bool("update", false, "pack the signatures anew")

func TestBookIsValid(t *testing.T) {
	if _, err := all.Book(); err != nil {
		t.Fatal(err)
	}
}

// TestSignaturesAreProvedAndPacked holds every signature to its own examples,
// and what the classes embed to the YAML.
func TestSignaturesAreProvedAndPacked(t *testing.T) {
	dirs, err := filepath.Glob("../*/signatures")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no signatures: %v", err)
	}
	for _, dir := range dirs {
		class := filepath.Dir(dir)
		t.Run(filepath.Base(class), func(t *testing.T) {
			packed, err := failure.Pack(signatures(t, dir))
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(class, "signatures.json")
			if *update {
				if err := os.WriteFile(name, packed, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if old, err := os.ReadFile(name); err != nil || !bytes.Equal(packed, old) {
				t.Errorf("%s is stale (%v): go test ./internal/failure/all -update", name, err)
			}
		})
	}
}

func signatures(t *testing.T, dir string) []failure.Signature {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out []failure.Signature
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := failure.Parse(strings.TrimSuffix(filepath.Base(name), ".yaml"), b)
		if err == nil {
			err = s.Prove()
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		out = append(out, s)
	}
	return out
}
