package state

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFolderIsClosedToOthers(t *testing.T) {
	base := t.TempDir()
	open := filepath.Join(base, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]os.FileMode{open: 0o755, filepath.Join(base, "a", "b"): 0o700} {
		if err := Make(dir); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v %v", dir, st.Mode(), err)
		}
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Make(file); err == nil {
		t.Error("a file is a folder")
	}
}

func TestTheFolderIsTheUsers(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/x")
	if got, err := Dir("gate"); err != nil || got != filepath.Join("/x", "trainmedic", "gate") {
		t.Error(got, err)
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "/h")
	if got, err := Dir("gate"); err != nil || got != filepath.Join("/h", ".local", "state", "trainmedic", "gate") {
		t.Error(got, err)
	}
}
