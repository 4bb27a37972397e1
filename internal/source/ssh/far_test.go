package ssh_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/remote/sshdtest"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

// proxied is a box behind a proxy.
func proxied(t *testing.T) (*box, *sshdtest.Proxy) {
	t.Helper()
	s := sshdtest.Start(t)
	p := sshdtest.NewProxy(t, s)
	h := sshdtest.NewHome(t, s)
	h.Know(p.Server(s))
	h.Config(sshdtest.Box("box", p.Server(s)))
	return &box{s, h, kindOf(t, h)}, p
}

func observe(t *testing.T, s source.Source, since run.Cursor) run.Observation {
	t.Helper()
	obs, err := s.Observe(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	return obs
}

// TestIdleLook: a look at what has not changed is one question and one answer.
func TestIdleLook(t *testing.T) {
	b, p := proxied(t)
	dir := put(t, aRun())
	for form, ref := range map[string]string{"a log": dir + "/train.log", "a folder": dir, "a pattern": dir + "/*.log"} {
		t.Run(form, func(t *testing.T) {
			s := b.open(t, ref, source.Options{Watch: true})
			defer s.Close()
			obs := observe(t, s, nil)
			obs = observe(t, s, obs.Next)
			sessions, logins := b.Sessions()
			turns, bytes := p.Turns.Load(), p.To.Load()+p.From.Load()
			const looks = 20
			for range looks {
				obs = observe(t, s, obs.Next)
			}
			if n := p.Turns.Load() - turns; n > looks {
				t.Errorf("%d looks took %d turns", looks, n)
			}
			if n := p.To.Load() + p.From.Load() - bytes; n > looks*4<<10 {
				t.Errorf("%d looks took %d bytes", looks, n)
			}
			if s, l := b.Sessions(); s != sessions || l != logins {
				t.Errorf("sessions %d → %d, logins %d → %d", sessions, s, logins, l)
			}
		})
	}
}

// TestManyWatches: all watches of a host share one connection and one session.
func TestManyWatches(t *testing.T) {
	b := newBox(t)
	dir := put(t, nil)
	var wait sync.WaitGroup
	for n := range 200 {
		name := fmt.Sprintf("run%d.log", n)
		if err := os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, "step %d\n", n), 0o644); err != nil {
			t.Fatal(err)
		}
		wait.Go(func() {
			s := b.open(t, dir+"/"+name, source.Options{Watch: true})
			defer s.Close()
			obs, err := s.Observe(t.Context(), nil)
			if err != nil || len(obs.Streams) != 1 || sourcetest.Text(t, obs.Streams[0]) != fmt.Sprintf("step %d\n", n) {
				t.Errorf("%d: %v, %d streams", n, err, len(obs.Streams))
			}
			if _, err := s.Observe(t.Context(), obs.Next); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if sessions, logins := b.Sessions(); sessions != 1 || logins != 1 {
		t.Errorf("%d sessions on %d connections", sessions, logins)
	}
}

// cutting is a source under whose looks the connection is cut at some moment.
type cutting struct {
	source.Source
	server *sshdtest.Server
	rnd    *rand.Rand
}

func (c cutting) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	if c.rnd.Intn(2) == 0 {
		after := time.AfterFunc(time.Duration(c.rnd.Intn(40))*time.Millisecond, c.server.Cut)
		defer after.Stop()
	}
	for {
		obs, err := c.Source.Observe(ctx, since)
		if !errors.Is(err, source.ErrUnreachable) {
			return obs, err
		}
		select {
		case <-ctx.Done():
			return obs, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestCuts: whenever the connection is cut, no byte is lost or given twice.
func TestCuts(t *testing.T) {
	b := newBox(t)
	rnd := rand.New(rand.NewSource(1))
	for form, ref := range map[string]string{"a log": "/train.log", "a folder": ""} {
		t.Run(form, func(t *testing.T) {
			sourcetest.GrowsOften(t, 2, "train.log", func(t *testing.T, dir string) source.Source {
				return cutting{b.open(t, dir+ref, source.Options{Watch: true}), b.Server, rnd}
			})
		})
	}
	if _, logins := b.Sessions(); logins < 10 {
		t.Errorf("only %d connections were made", logins)
	}
}

// TestCutWhileReading: a log that is read through is read to its end, also when
// the connection is cut in between.
func TestCutWhileReading(t *testing.T) {
	b := newBox(t)
	text := long(40 << 20)
	dir := put(t, map[string]string{"train.log": text})
	s := b.open(t, dir+"/train.log", source.Options{})
	defer s.Close()
	obs := observe(t, s, nil)
	r, err := obs.Streams[0].Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got strings.Builder
	for n := 0; ; n++ {
		k, err := io.CopyN(&got, r, 3<<20)
		if n%3 == 1 {
			b.Cut()
		}
		if err != nil && k < 3<<20 {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break
		}
	}
	if got.String() != text {
		t.Errorf("%d bytes came, not the %d that are there", got.Len(), len(text))
	}
}

func long(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "2026-01-31 10:20:%02d INFO step %d loss 0.%d\n", i%60, i, i*7919%1000000)
	}
	return b.String()
}

// TestLittleTravels: of a folder with a checkpoint of 5 GB, and of a log of
// which the last lines are asked for, only what is needed comes.
func TestLittleTravels(t *testing.T) {
	b, p := proxied(t)
	files := aRun()
	files["train.log"] = long(50 << 20)
	dir := put(t, files)
	if err := os.Truncate(filepath.Join(dir, "checkpoint-2/pytorch_model.bin"), 5<<30); err != nil {
		t.Fatal(err)
	}
	for form, c := range map[string]struct {
		ref  string
		opt  source.Options
		most int64
	}{
		"a folder":         {dir, source.Options{}, 300 << 10},
		"the last lines":   {dir + "/train.log", source.Options{Last: 100}, 600 << 10},
		"a log as a whole": {dir + "/train.log", source.Options{}, 12 << 20},
	} {
		t.Run(form, func(t *testing.T) {
			start := p.From.Load() + p.To.Load()
			s := b.open(t, c.ref, c.opt)
			defer s.Close()
			obs := observe(t, s, nil)
			if form != "a folder" {
				want := files["train.log"]
				if c.opt.Last > 0 {
					lines := strings.SplitAfter(want, "\n")
					want = strings.Join(lines[len(lines)-101:], "")
					if obs.Streams[0].FirstLine != len(lines)-100 {
						t.Errorf("it begins with line %d", obs.Streams[0].FirstLine)
					}
				}
				if got := sourcetest.Text(t, obs.Streams[0]); got != want {
					t.Errorf("got %d bytes, want %d", len(got), len(want))
				}
			}
			if n := p.From.Load() + p.To.Load() - start; n > c.most {
				t.Errorf("%d bytes travelled, more than %d", n, c.most)
			} else {
				t.Logf("%d bytes travelled", n)
			}
		})
	}
}

// TestNotThereYet: a watch waits for a log, and finds it.
func TestNotThereYet(t *testing.T) {
	b := newBox(t)
	dir := put(t, nil)
	if _, err := b.kind.Open(t.Context(), "box:"+dir+"/train.log", source.Options{}); !errors.Is(err, source.ErrNotFound) {
		t.Errorf("a check of what is not there: %v", err)
	}
	s := b.open(t, dir+"/train.log", source.Options{Watch: true})
	defer s.Close()
	obs := observe(t, s, nil)
	if len(obs.Streams) != 0 || len(obs.Gaps) != 1 {
		t.Errorf("got %d streams, %d gaps", len(obs.Streams), len(obs.Gaps))
	}
	if err := os.WriteFile(filepath.Join(dir, "train.log"), []byte("step 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	obs = observe(t, s, obs.Next)
	if len(obs.Streams) != 1 || sourcetest.Text(t, obs.Streams[0]) != "step 1\n" {
		t.Errorf("got %d streams", len(obs.Streams))
	}
}

// TestLinksStayInside: a link that leaves the folder is not followed.
func TestLinksStayInside(t *testing.T) {
	b := newBox(t)
	out := put(t, map[string]string{"secret.log": "secret\n"})
	dir := put(t, map[string]string{"train.log": "step 1\n", "logs/a.log": "a\n"})
	for from, to := range map[string]string{"out.log": out + "/secret.log", "in.log": "logs/a.log", "gone.log": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	s := b.open(t, dir, source.Options{})
	defer s.Close()
	obs := observe(t, s, nil)
	var names []string
	for _, st := range obs.Streams {
		names = append(names, st.Name)
		if strings.Contains(sourcetest.Text(t, st), "secret") {
			t.Errorf("%s was read", st.Name)
		}
	}
	if diff := cmp.Diff("train.log logs/a.log", strings.Join(names, " ")); diff != "" {
		t.Error(diff)
	}
	if len(obs.Gaps) != 2 {
		t.Errorf("gaps %+v", obs.Gaps)
	}
}

// TestNothingIsExecuted: names that a shell would run are names of files.
func TestNothingIsExecuted(t *testing.T) {
	for userland, b := range boxes(t) {
		t.Run(userland, func(t *testing.T) {
			var dirs []string
			for i, name := range []string{
				"a b", "it's", `qu"ote`, "$(touch canary)", "`touch canary`", "-rf", "--version", "x\ny", `"; touch canary; "`,
				"'; touch canary; '", "a&touch canary", "%s%n%d", `back\slash`, "*", "[ab]", "~", "{}", "é日本", "@file", "$HOME", "  two  ",
			} {
				dir := put(t, map[string]string{name + "/" + name + ".log": "step 1\n", name + "/sub/" + name + ".log": "2\n"})
				dirs = append(dirs, dir)
				for _, ref := range []string{dir + "/" + name, dir + "/" + name + "/" + name + ".log"} {
					s := b.open(t, ref, source.Options{Watch: i%2 == 0})
					obs := observe(t, s, nil)
					if len(obs.Streams) == 0 || obs.Streams[0].Name != name+".log" || sourcetest.Text(t, obs.Streams[0]) != "step 1\n" {
						t.Errorf("%q: %d streams", ref, len(obs.Streams))
					}
					observe(t, s, obs.Next)
					s.Close()
				}
			}
			u, err := user.Current()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(u.HomeDir, "canary")); err == nil {
				t.Error("a name was executed")
			}
			for _, dir := range dirs {
				for _, at := range []string{"/canary", "/*/canary", "/*/*/canary"} {
					if found, err := filepath.Glob(dir + at); len(found) > 0 || err != nil {
						t.Errorf("a name was executed: %v %v", found, err)
					}
				}
			}
		})
	}
	b := newBox(t)
	for _, ref := range []string{"-oProxyCommand=touch canary:/x", "$(touch canary):/x", "a b:/x", "u;touch canary@h:/x", "u@h\n:/x", "'':/x"} {
		if _, err := b.kind.Open(t.Context(), ref, source.Options{}); !errors.Is(err, source.ErrBadTarget) {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

// TestAWatchKnowsTheRoomOfTheHost: what df says of the file system that a watched
// log lies on is told at the first look, and not at every further one.
func TestAWatchKnowsTheRoomOfTheHost(t *testing.T) {
	b := newBox(t)
	dir := put(t, aRun())
	for form, ref := range map[string]string{"a log": dir + "/train.log", "a folder": dir} {
		t.Run(form, func(t *testing.T) {
			s := b.open(t, ref, source.Options{Watch: true})
			defer s.Close()
			room := func(obs run.Observation) (n int) {
				for _, f := range obs.Facts {
					if strings.HasPrefix(f.Key, "disk.") && strings.HasSuffix(f.Key, run.DiskAvail) && f.From.File == "" {
						n++
					}
				}
				return n
			}
			obs := observe(t, s, nil)
			if room(obs) != 1 {
				t.Errorf("the first look tells %d file systems: %+v", room(obs), obs.Facts)
			}
			if next := observe(t, s, obs.Next); room(next) != 0 {
				t.Errorf("so does the next one: %+v", next.Facts)
			}
		})
	}
}
