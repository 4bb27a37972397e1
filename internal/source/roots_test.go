package source_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/trainmedic/trainmedic/internal/source"
)

// tree has a folder "in" that may be read and a folder "out" that may not.
func tree(t *testing.T) (dir string, roots source.Roots) {
	t.Helper()
	dir = t.TempDir()
	for _, d := range []string{"in/run", "in/other", "out", "inside"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"in/run/a.log", "out/secret.log", "inside/secret.log"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte(f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"in/run/up.log": "../../out/secret.log", "in/run/abs.log": filepath.Join(dir, "out/secret.log"), "in/door": "../out",
		"in/latest": filepath.Join(dir, "in/run"), "in/run/gone.log": filepath.Join(dir, "out/none.log"), "way": filepath.Join(dir, "in"),
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	roots, err := source.NewRoots([]string{filepath.Join(dir, "in")})
	if err != nil {
		t.Fatal(err)
	}
	return dir, roots
}

func TestOnlyWhatLiesBelowARootIsRead(t *testing.T) {
	dir, roots := tree(t)
	for path, want := range map[string]error{
		"in/run/a.log": nil, "in/run/../run/a.log": nil, "in/latest/a.log": nil, "way/run/a.log": nil,
		"in/run/none.log": fs.ErrNotExist, "in/none/none.log": fs.ErrNotExist,
		"out/secret.log": source.ErrDenied, "in/run/up.log": source.ErrDenied, "in/run/abs.log": source.ErrDenied,
		"in/door/secret.log": source.ErrDenied, "in/run/../../out/secret.log": source.ErrDenied, "inside/secret.log": source.ErrDenied,
		"in/door/none.log": source.ErrDenied, "out/none.log": source.ErrDenied, "none/none": source.ErrDenied,
	} {
		f, err := roots.Open(filepath.Join(dir, filepath.FromSlash(path)), os.O_RDONLY)
		if err == nil {
			f.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: want %v, got %v", path, want, err)
		}
		if denied := errors.Is(roots.Check(filepath.Join(dir, path)), source.ErrDenied); denied != errors.Is(want, source.ErrDenied) {
			t.Errorf("%s: the check says denied=%v", path, denied)
		}
	}
}

func TestALinkThatComesAfterTheCheckLeadsNowhere(t *testing.T) {
	dir, roots := tree(t)
	d, err := roots.OpenDir(filepath.Join(dir, "in/latest"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if f, err := d.Open("up.log"); err == nil {
		b, _ := io.ReadAll(f)
		t.Errorf("read %q through a link that leaves the folder", b)
	}
	if _, err := roots.OpenDir(filepath.Join(dir, "in/door")); !errors.Is(err, source.ErrDenied) {
		t.Errorf("a link to a folder outside: %v", err)
	}
}

func TestWithoutRootsEverythingIsRead(t *testing.T) {
	dir, _ := tree(t)
	var roots source.Roots
	f, err := roots.Open(filepath.Join(dir, "in/door/secret.log"), os.O_RDONLY)
	if err != nil || roots.Check("/etc") != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestARootIsAFolderThatExists(t *testing.T) {
	dir, _ := tree(t)
	for _, d := range []string{"none", "in/run/a.log"} {
		if _, err := source.NewRoots([]string{filepath.Join(dir, d)}); err == nil {
			t.Errorf("%s is taken as a root", d)
		}
	}
}
