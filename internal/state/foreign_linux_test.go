package state

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const nobody = 65534

// TestAFolderOfAnotherUserIsRefused asks as another user: for root every folder
// is its own.
func TestAFolderOfAnotherUserIsRefused(t *testing.T) {
	if dir := os.Getenv("TRAINMEDIC_TEST_FOREIGN"); dir != "" {
		if err := Make(dir); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("%v", err)
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	base, err := os.MkdirTemp("", "trainmedic-test-") // others can enter it
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	program := filepath.Join(base, "test")
	b, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(program, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{base, filepath.Join(base, "shared")} {
		os.Mkdir(dir, 0o777)
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(program, "-test.run=^TestAFolderOfAnotherUserIsRefused$")
	c.Dir, c.Env = base, append(os.Environ(), "TRAINMEDIC_TEST_FOREIGN="+filepath.Join(base, "shared"))
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
