package file_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

func write(t testing.TB, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

func open(t *testing.T, ref string, opt source.Options) source.Source {
	t.Helper()
	s, err := file.Kind(nil).Open(t.Context(), ref, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func look(t *testing.T, s source.Source, since run.Cursor) run.Observation {
	t.Helper()
	obs, err := s.Observe(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	return obs
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	plain := write(t, filepath.Join(dir, "run.log"), "step 1\nstep 2\nTraceback")
	gz := write(t, filepath.Join(dir, "run.log.gz"), zipped("step 1\nstep 2\n"))
	for _, r := range []string{"0", "1", "2"} {
		write(t, filepath.Join(dir, "ranks", "rank"+r+".log"), "hello "+r+"\n")
	}
	cases := map[string]struct {
		ref string
		opt source.Options
	}{
		"plain":      {ref: plain},
		"gzip":       {ref: gz},
		"last lines": {ref: plain, opt: source.Options{Last: 1}},
		"gzip last":  {ref: gz, opt: source.Options{Last: 1}},
		"glob":       {ref: filepath.Join(dir, "ranks", "*.log")},
		"empty":      {ref: write(t, filepath.Join(dir, "empty.log"), "")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, func(t *testing.T) source.Source { return open(t, c.ref, c.opt) })
		})
	}
	t.Run("stdin", func(t *testing.T) {
		sourcetest.Run(t, func(t *testing.T) source.Source {
			return open(t, "-", source.Options{Stdin: strings.NewReader(zipped("a\nb\n"))})
		})
	})
	t.Run("traceback", func(t *testing.T) {
		sourcetest.Run(t, func(t *testing.T) source.Source {
			s, err := file.Traceback().Open(t.Context(), "", source.Options{Stdin: strings.NewReader("Traceback\nKeyError: 'x'\n")})
			if err != nil {
				t.Fatal(err)
			}
			return s
		})
	})
}

func TestLast(t *testing.T) {
	dir := t.TempDir()
	const log = "one\ntwo\nthree\nfour\n"
	for name, ref := range map[string]string{
		"plain": write(t, filepath.Join(dir, "a.log"), log),
		"gzip":  write(t, filepath.Join(dir, "a.log.gz"), zipped(log)),
		"stdin": "-",
	} {
		t.Run(name, func(t *testing.T) {
			obs := look(t, open(t, ref, source.Options{Last: 2, Stdin: strings.NewReader(log)}), nil)
			st := obs.Streams[0]
			if diff := cmp.Diff("three\nfour\n", sourcetest.Text(t, st)); diff != "" {
				t.Error(diff)
			}
			if st.Offset != 8 || st.FirstLine != 3 {
				t.Errorf("offset %d, first line %d; want 8 and 3", st.Offset, st.FirstLine)
			}
		})
	}
}

func TestGrowingLog(t *testing.T) {
	name := write(t, filepath.Join(t.TempDir(), "run.log"), "step 1\nste")
	s := open(t, name, source.Options{})
	obs := look(t, s, nil)
	if diff := cmp.Diff("step 1\nste", sourcetest.Text(t, obs.Streams[0])); diff != "" {
		t.Error(diff)
	}
	write(t, name, "step 1\nstep 2\nstep")
	obs = look(t, s, obs.Next)
	if st := obs.Streams[0]; sourcetest.Text(t, st) != "step 2\n" || st.Offset != 7 {
		t.Errorf("got %q at %d, want the cut line again, whole", sourcetest.Text(t, st), st.Offset)
	}
	obs = look(t, s, obs.Next)
	if st := obs.Streams[0]; sourcetest.Text(t, st) != "step" || st.Offset != 14 {
		t.Errorf("got %q at %d, want the rest of a file that stands still", sourcetest.Text(t, st), st.Offset)
	}
	write(t, name, "new\n")
	obs = look(t, s, obs.Next)
	if st := obs.Streams[0]; sourcetest.Text(t, st) != "new\n" || st.Offset != 0 {
		t.Errorf("got %q at %d, want a shorter file from its start", sourcetest.Text(t, st), st.Offset)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	loop := filepath.Join(dir, "loop.log")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	secret := write(t, filepath.Join(dir, "secret.log"), "x")
	os.Chmod(secret, 0)
	cases := []struct {
		name, ref string
		want      error
	}{
		{"missing", filepath.Join(dir, "nope.log"), source.ErrNotFound},
		{"glob without files", filepath.Join(dir, "nope*.log"), source.ErrNotFound},
		{"bad glob", filepath.Join(dir, "[.log"), source.ErrBadTarget},
		{"folder", dir, source.ErrBadTarget},
		{"fifo", fifo, source.ErrNoEvidence},
		{"device", "/dev/zero", source.ErrNoEvidence},
		{"symlink loop", loop, source.ErrNotFound},
		{"no permission", secret, source.ErrDenied},
		{"nothing", "", source.ErrBadTarget},
		{"no stdin", "-", source.ErrBadTarget},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if errors.Is(c.want, source.ErrDenied) && os.Getuid() == 0 {
				t.Skip("root may read everything")
			}
			s, err := file.Kind(nil).Open(t.Context(), c.ref, source.Options{})
			if err == nil {
				_, err = s.Observe(t.Context(), nil)
			}
			if !errors.Is(err, c.want) {
				t.Errorf("want %v, got %v", c.want, err)
			}
		})
	}
}

func TestWhatIsNoText(t *testing.T) {
	dir := t.TempDir()
	tarball := "run/train.log" + strings.Repeat("\x00", 87) + "0000644\x00" + strings.Repeat("0", 149) + "ustar\x0000" + strings.Repeat("\x00", 247) + "step 1 loss 0.5\n"
	const elf = "\x7fELF\x02\x01\x01\x00\x00\x00\x00"
	for name, c := range map[string]struct{ text, want string }{
		"a.out":       {elf, "is a binary file, not a text log; pass the text log of the run"},
		"run.log":     {elf, "is a binary file, not a text log; pass the text log of the run"},
		"z.log.gz":    {zipped(elf), "is a binary file, not a text log"},
		"run.tar.gz":  {zipped(tarball), "is an archive, which is not read; pass the folder in it: unpack it (tar -xzf run.tar.gz), then pass the directory"},
		"oddname.gz":  {zipped(tarball), "unpack it (tar -xf oddname.gz)"},
		"run.tar":     {tarball, "unpack it (tar -xf run.tar)"},
		"run.zip":     {"PK\x03\x04\x14\x00", "unpack it (unzip run.zip)"},
		"download":    {"PK\x03\x04\x14\x00", "unpack it (unzip download)"},
		"my run.zip":  {"PK\x03\x04\x14\x00", "unpack it (unzip 'my run.zip')"},
		"run.7z":      {"7z\xbc\xaf\x27\x1c\x00\x04", "unpack it (7z x run.7z)"},
		"run.tar.zst": {"\x28\xb5\x2f\xfd\x00", "unpack it (tar --zstd -xf run.tar.zst)"},
		"run.log.xz":  {"\xfd7zXZ\x00\x00\x04", "is compressed in a way that is not read here (gzip and zstd are); pass the log unpacked (unxz -k run.log.xz)"},
		"torn.log.gz": {"\x1f\x8b\x08\x00", "cannot be unpacked: tail: read torn.log.gz: unexpected EOF; pass an undamaged copy of torn.log.gz"},
		"model.pt":    {"PK\x03\x04\x14\x00", "is a binary file, not a text log"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range []source.Source{
				open(t, write(t, filepath.Join(dir, name), c.text), source.Options{}),
				open(t, filepath.Join(dir, name[:1]+"*"+name[1:]), source.Options{}),
			} {
				if _, err := s.Observe(t.Context(), nil); !errors.Is(err, source.ErrNoEvidence) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("want an error with %q, got %v", c.want, err)
				}
			}
		})
	}
	piped := open(t, "-", source.Options{Stdin: strings.NewReader(tarball)})
	if _, err := piped.Observe(t.Context(), nil); !errors.Is(err, source.ErrNoEvidence) || !strings.Contains(err.Error(), "(tar -xf FILE)") {
		t.Errorf("a piped archive: %v", err)
	}
	write(t, filepath.Join(dir, "two", "a.log"), elf)
	two := filepath.Join(dir, "two", "*.log")
	write(t, filepath.Join(dir, "two", "b.log"), "step 1\n")
	if obs := look(t, open(t, two, source.Options{}), nil); len(obs.Streams) != 1 || len(obs.Gaps) != 1 {
		t.Errorf("one log and one binary file: %d streams, %+v", len(obs.Streams), obs.Gaps)
	}
}

// never blocks until the test ends, as a terminal does.
type never struct{ done <-chan struct{} }

func (n never) Read([]byte) (int, error) { <-n.done; return 0, io.EOF }

func TestStdinDoesNotOutliveContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	s := open(t, "-", source.Options{Stdin: never{t.Context().Done()}})
	if _, err := s.Observe(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("want %v, got %v", context.DeadlineExceeded, err)
	}
}

func TestCutGzipKeepsWhatWasRead(t *testing.T) {
	whole := zipped(strings.Repeat("step 1 loss 0.5\n", 1000))
	s := open(t, write(t, filepath.Join(t.TempDir(), "run.log.gz"), whole[:len(whole)-6]), source.Options{})
	r, err := look(t, s, nil).Streams[0].Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(b, []byte("step 1 loss")) {
		t.Errorf("got %d bytes and %v", len(b), err)
	}
}

func TestHoleAtTheStart(t *testing.T) {
	const text = "step 900 loss 0.5\n"
	dir := t.TempDir()
	obs := look(t, open(t, write(t, filepath.Join(dir, "run.log"), strings.Repeat("\x00", 10_000)+strings.Repeat(text, 500)), source.Options{}), nil)
	if len(obs.Streams) != 1 {
		t.Errorf("a log that begins with a hole is no log: %+v", obs.Gaps)
	}
	zeros := open(t, write(t, filepath.Join(dir, "zero.log"), strings.Repeat("\x00", 10_000)), source.Options{})
	if obs, err := zeros.Observe(t.Context(), nil); !errors.Is(err, source.ErrNoEvidence) {
		t.Errorf("a file of zeros is a log: %v, %+v", err, obs.Streams)
	}
}

func TestClaim(t *testing.T) {
	dir := t.TempDir()
	k := file.Kind(nil)
	for target, want := range map[string]bool{
		write(t, filepath.Join(dir, "plainname"), "x"): true,
		dir: false, "-": true, "logs/rank*.log": true, "missing.log": true, "~/run": true,
		"me@host:/var/log/run.log": false, "me@host:run.log": false, "https://wandb.ai/x": false, "wandb-run-id": false,
	} {
		if got := k.Claim(target); got != want {
			t.Errorf("Claim(%q) = %v, want %v", target, got, want)
		}
	}
}

func TestRankOf(t *testing.T) {
	cases := map[string]int{
		"rank3.log": 3, "rank_3": 3, "stderr.rank-3": 3, "log_rank3": 3, "worker3.log": 3, "worker-3": 3, "workerlog.3": 3, "task1.log": 1,
		"attempt_0/3/stderr.log": 3, "x/attempt_12/17/error.json": 17, "logs/rank_07/out.log": 7, "slurm-123-t4.out": 4,
		"global_rank12.txt": 12, "r/exp_rank2.stderr": 2, "GPU3.log": 3,
		"node0.log": -1, "run.log": -1, "slurm-123.out": -1, "slurm-123_4.out": -1, "local_rank0.log": -1,
		"train_1129.stdout": -1, "frank3.log": -1, "ranking.log": -1, "nohup.out": -1,
	}
	for name, want := range cases {
		if got := file.RankOf(name); got != want {
			t.Errorf("RankOf(%q) = %d, want %d", name, got, want)
		}
	}
}
