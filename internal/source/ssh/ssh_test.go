package ssh_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/trainmedic/trainmedic/internal/remote"
	"github.com/trainmedic/trainmedic/internal/remote/sshdtest"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/artifacts"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
	"github.com/trainmedic/trainmedic/internal/source/ssh"
)

// box is a server, a home that reaches it as "box", and the kind of source that
// does.
type box struct {
	*sshdtest.Server
	home *sshdtest.Home
	kind *source.Kind
}

func newBox(t *testing.T, config ...string) *box {
	t.Helper()
	s := sshdtest.Start(t, config...)
	h := sshdtest.NewHome(t, s)
	h.Config(sshdtest.Box("box", s))
	return &box{s, h, kindOf(t, h)}
}

func kindOf(t *testing.T, h *sshdtest.Home) *source.Kind {
	t.Helper()
	pool := &remote.Pool{Client: remote.Client{Home: h.Dir}}
	t.Cleanup(pool.Close)
	return ssh.Kind(pool, artifacts.Over, artifacts.Kind())
}

func (b *box) open(t *testing.T, path string, opt source.Options) source.Source {
	t.Helper()
	s, err := b.kind.Open(t.Context(), "box:"+path, opt)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return s
}

func put(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func aRun() map[string]string {
	return map[string]string{
		"train.log": "step 1 loss 0.5\nstep 2 loss 0.4\nTraceback (most recent call last):\n", "rank1.log": "a\nb", "config.yaml": "lr: 0.1\n",
		"ds_config.json": `{"fp16": {"enabled": true}}`, "trainer_state.json": `{"global_step": 2, "log_history": [{"loss": 0.4, "step": 2}]}`,
		"checkpoint-2/pytorch_model.bin": "PK\x03\x04 torn", "checkpoint-2/trainer_state.json": `{"global_step": 2}`, "df.txt": "Filesystem Size Used Avail Use% Mounted on\nshm 64M 0 64M 0% /dev/shm\n",
	}
}

func TestSource(t *testing.T) {
	for userland, b := range boxes(t) {
		t.Run(userland, func(t *testing.T) {
			dir := put(t, aRun())
			for _, ref := range []string{dir, dir + "/train.log", dir + "/*.log"} {
				t.Run(filepath.Base(ref), func(t *testing.T) {
					sourcetest.Run(t, func(t *testing.T) source.Source { return b.open(t, ref, source.Options{}) })
				})
			}
		})
	}
}

func TestGrows(t *testing.T) {
	for userland, b := range boxes(t) {
		t.Run(userland, func(t *testing.T) {
			for form, ref := range map[string]string{"a log": "/train.log", "a folder": ""} {
				t.Run(form, func(t *testing.T) {
					sourcetest.GrowsOften(t, 4, "train.log", func(t *testing.T, dir string) source.Source {
						return b.open(t, dir+ref, source.Options{Watch: true})
					})
				})
			}
		})
	}
}

// boxes are servers with GNU's userland and with busybox's.
func boxes(t *testing.T) map[string]*box {
	t.Helper()
	return map[string]*box{"gnu": newBox(t), "busybox": newBox(t, "ForceCommand /bin/busybox sh", fmt.Sprintf("SetEnv PATH=%s", busybox(t)))}
}

// busybox is a folder with busybox under the names of all that it can be.
func busybox(t *testing.T) string {
	t.Helper()
	program := sshdtest.Program(t, "busybox")
	dir := t.TempDir()
	for _, name := range []string{"sh", "stat", "dd", "find", "gzip", "head", "printf", "readlink", "grep", "awk", "wc", "sleep", "cat", "timeout", "df", "ps", "id", "touch"} {
		if err := os.Symlink(program, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
