//go:build unix

package hostile

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// special is a target of a file that is made by f.
func special(f func(path string) error) func(t *testing.T, dir string) string {
	return func(t *testing.T, dir string) string {
		path := filepath.Join(dir, "a.log")
		if err := f(path); err != nil {
			t.Skipf("cannot be made here: %v", err)
		}
		return path
	}
}

func there(path string) func(t *testing.T, dir string) string {
	return func(t *testing.T, _ string) string {
		if _, err := os.Lstat(path); err != nil {
			t.Skipf("%s is not there", path)
		}
		return path
	}
}

// besides is a run's folder whose log fails with oom, and what f puts into it.
func besides(f func(t *testing.T, dir string)) func(t *testing.T, dir string) string {
	return func(t *testing.T, dir string) string {
		write(t, filepath.Join(dir, "train.log"), steps(20), oom)
		f(t, dir)
		return dir
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Files that are none, and folders that lead nowhere.
func TestPlaces(t *testing.T) {
	each(t, []target{
		{name: "nothing", put: func(_ *testing.T, dir string) string { return filepath.Join(dir, "none.log") }, want: `no such file`, once: true},
		{name: "FIFO", put: special(func(p string) error { return syscall.Mkfifo(p, 0o644) }), want: `FIFO`},
		{name: "socket", put: special(func(p string) error { l, err := net.Listen("unix", p); _ = l; return err }), want: `socket`},
		{name: "/dev/zero", put: there("/dev/zero"), want: `device`},
		{name: "/dev/tty", put: there("/dev/tty"), want: `device`},
		{name: "/dev/null", put: there("/dev/null"), want: `device`},
		{name: "a link to /dev/zero", put: special(func(p string) error { return os.Symlink("/dev/zero", p) }), want: `device`},
		{name: "/dev/stdin", put: there("/dev/stdin"), want: `device|socket|FIFO|is empty|no such|not a log`},
		{name: "/proc/self/mem", put: there("/proc/self/mem"), want: `"error"|is empty|unknown`},
		{name: "/proc/kmsg", put: there("/proc/kmsg"), want: `"error"|is empty|unknown`},
		{name: "/proc/kcore", put: there("/proc/kcore"), want: `not a text log|"error"|unknown`},
		{name: "/proc/meminfo", put: there("/proc/meminfo"), want: `MemTotal|unknown|is empty`},
		{name: "/proc/self", put: there("/proc/self"), want: `"error"|"primary_cause"`},
		{name: "a folder under /proc", put: there("/proc/sys"), want: `"error"|"primary_cause"`},
		{name: "a link to itself", put: special(func(p string) error { return os.Symlink(p, p) }), want: `circle`},
		{name: "a name of 4,000 bytes", put: func(_ *testing.T, dir string) string { return filepath.Join(dir, strings.Repeat("n", 4000)+".log") }, want: `"error"`},
		{name: "a path of 200,000 bytes", put: func(_ *testing.T, dir string) string { return dir + strings.Repeat("/a", 50_000) + ".log" }, want: `"error"`, once: true},
		{name: "a glob of stars", put: func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, strings.Repeat("a", 200)+".log"), oom)
			return filepath.Join(dir, strings.Repeat("a*", 40)+"b*.log")
		}, want: `no file matches`},
		{name: "a glob that is none", put: func(_ *testing.T, dir string) string { return filepath.Join(dir, "[a-") }, want: `syntax error in pattern`, exits: []int{2}, once: true},
		{name: "a glob of FIFOs and folders", put: func(t *testing.T, dir string) string {
			must(t, syscall.Mkfifo(filepath.Join(dir, "rank0.log"), 0o644))
			must(t, os.Mkdir(filepath.Join(dir, "rank1.log"), 0o755))
			write(t, filepath.Join(dir, "rank2.log"), steps(5), oom)
			return filepath.Join(dir, "rank*.log")
		}, want: found},
		{name: "a name with a newline and escapes", put: func(t *testing.T, dir string) string {
			return write(t, filepath.Join(dir, "a\n\x1b[31mb\x07\u202e.log"), steps(5), oom)
		}, want: found},
		{name: "a name that is no UTF-8", put: func(t *testing.T, dir string) string {
			return write(t, filepath.Join(dir, "a\xff\xfe.log"), steps(5), oom)
		}, want: found},
		{name: "a name like a flag", put: func(t *testing.T, dir string) string {
			return write(t, filepath.Join(dir, "--json; rm -rf $HOME `x`.log"), steps(5), oom)
		}, want: found},

		{name: "an empty folder", put: func(_ *testing.T, dir string) string { return dir }, want: `no log`},
		{name: "names in a folder", put: besides(func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "x\n\x1b[2Jy.log"), steps(5))
			write(t, filepath.Join(dir, "bad\xff.log"), steps(5))
			write(t, filepath.Join(dir, "\xc0\x80/\u202egpj.json"), `{"lr": 1}`)
			write(t, filepath.Join(dir, " .yaml"), "a: 1\n")
			write(t, filepath.Join(dir, "ck\n/step_5.pt"), "PK\x03\x04")
			write(t, filepath.Join(dir, "config.json\n"), "{}")
		}), want: found},
		{name: "a FIFO in a folder", put: besides(func(t *testing.T, dir string) {
			for _, n := range []string{"rank1.log", "config.json", "model.pt", "events.out.tfevents.1.h", "latest", "mlflow.db", "x.csv"} {
				must(t, syscall.Mkfifo(filepath.Join(dir, n), 0o644))
			}
		}), want: found},
		{name: "sockets in a folder", put: besides(func(t *testing.T, dir string) {
			if _, err := net.Listen("unix", filepath.Join(dir, "rank1.log")); err != nil {
				t.Skip(err)
			}
		}), want: found},
		{name: "links that go round", put: besides(func(t *testing.T, dir string) {
			must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
			must(t, os.Symlink("../..", filepath.Join(dir, "a/b/up")))
			must(t, os.Symlink("b", filepath.Join(dir, "a/c")))
			must(t, os.Symlink("b.log", filepath.Join(dir, "a.log")))
			must(t, os.Symlink("a.log", filepath.Join(dir, "b.log")))
		}), want: found},
		{name: "links out of the folder", put: besides(func(t *testing.T, dir string) {
			must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "config.json")))
			must(t, os.Symlink("/dev/zero", filepath.Join(dir, "rank1.log")))
			must(t, os.Symlink("/", filepath.Join(dir, "root")))
		}), want: found},
		{name: "5,000 links to one log", put: besides(func(t *testing.T, dir string) {
			for i := range 5000 {
				must(t, os.Symlink("train.log", filepath.Join(dir, fmt.Sprintf("rank%d.log", i))))
			}
		}), want: found},
		{name: "folders 300 deep", put: besides(func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, strings.Repeat("d/", 300)+"a.log"), "x")
		}), want: found + `.*lies deeper`},
		{name: "files that may not be read", put: besides(func(t *testing.T, dir string) {
			for i := range 3000 {
				p := write(t, filepath.Join(dir, fmt.Sprintf("rank%d.log", i)), "x")
				must(t, os.Symlink("none", p+".gone"))
				must(t, os.Chmod(p, 0))
			}
		}), want: found},
		{name: "a folder that may not be entered", put: besides(func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "secret/a.log"), "x")
			must(t, os.Chmod(filepath.Join(dir, "secret"), 0))
			t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "secret"), 0o755) })
		}), want: found},
		{name: "25,000 files before the log", put: func(t *testing.T, dir string) string {
			for i := range 25_000 {
				write(t, filepath.Join(dir, fmt.Sprintf("data/%06d.txt", i)), "")
			}
			write(t, filepath.Join(dir, "train.log"), steps(20), oom)
			return dir
		}, want: found + `.*more than 20000 files`},
		{name: "200,000 files", soak: true, put: func(t *testing.T, dir string) string {
			for i := range 200_000 {
				write(t, filepath.Join(dir, fmt.Sprintf("%06d.txt", i)), "")
			}
			write(t, filepath.Join(dir, "train.log"), steps(20), oom)
			return dir
		}, want: found + `.*more than 20000 files`},
		{name: "2,000 logs of ranks", put: func(t *testing.T, dir string) string {
			for i := range 2000 {
				write(t, filepath.Join(dir, fmt.Sprintf("rank%d.log", i)), steps(3))
			}
			write(t, filepath.Join(dir, "rank7.log"), steps(3), oom)
			return dir
		}, want: found},
	})
}
