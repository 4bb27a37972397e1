package wandb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

func TestTheServiceIsASource(t *testing.T) {
	s := newServer(30)
	s.lines = []string{"step 1 loss 0.5\n", "step 2 loss 0.4"}
	sourcetest.Run(t, func(t *testing.T) source.Source {
		src, _ := serve(t, s, source.Options{})
		return src
	})
}

// seen is what looks at a run showed, until there is no more.
type seen struct {
	run.Observation
	loss  run.Series
	text  string
	facts map[string]string
}

func (s *seen) look(t *testing.T, src source.Source) {
	t.Helper()
	if s.facts == nil {
		s.facts = map[string]string{}
	}
	for more := true; more; more = s.More {
		obs, err := src.Observe(t.Context(), s.Next)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range obs.Samples {
			if v.Name == "train/loss" {
				s.loss.Add(run.Point{Step: v.Step, Value: v.Value})
			}
		}
		for _, st := range obs.Streams {
			if int(st.Offset) != len(s.text) || st.FirstLine != strings.Count(s.text, "\n")+1 {
				t.Errorf("%s goes on at %d, line %d, behind %q", st.Name, st.Offset, st.FirstLine, s.text)
			}
			s.text += sourcetest.Text(t, st)
		}
		for _, f := range obs.Facts {
			s.facts[f.Key] = f.Value
		}
		s.Observation = obs
	}
}

func TestTheWholeHistoryIsRead(t *testing.T) {
	for name, c := range map[string]struct{ steps, every, pages int64 }{
		"one page": {500, 1, 1}, "many pages": {25_000, 1, 40}, "steps far apart": {1_000_000, 250, 12}, "many looks": {120_000, 1, 160}, "none": {0, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(c.steps)
			s.every = c.every
			const lost = 9_000
			s.value = func(step int64) float64 {
				if step >= lost {
					return math.NaN()
				}
				return 1
			}
			src, _ := serve(t, s, source.Options{})
			var got seen
			got.look(t, src)
			if want := int((c.steps + c.every - 1) / c.every); got.loss.Count != want {
				t.Errorf("%d rows, want %d", got.loss.Count, want)
			}
			if p := got.loss.FirstNonFinite; c.steps > lost && (p == nil || p.Step != lost) {
				t.Errorf("first NaN at %v, want step %d", p, lost)
			}
			if n := s.asked["History"]; int64(n) > c.pages {
				t.Errorf("%d pages were asked for, want at most %d", n, c.pages)
			}
		})
	}
}

// Of millions of rows a sample is fetched, and the place where the run went wrong
// is looked at closely.
func TestAHugeHistoryIsSampled(t *testing.T) {
	const lost = 7_654_321
	s := newServer(10_000_000)
	s.value = func(step int64) float64 {
		if step >= lost {
			return math.NaN()
		}
		return 1
	}
	src, _ := serve(t, s, source.Options{})
	src.most = 60
	var got seen
	got.look(t, src)
	if p := got.loss.FirstNonFinite; p == nil || p.Step != lost {
		t.Errorf("first NaN at %v, want step %d", p, lost)
	}
	if got.loss.Last.Step < 9_999_000 || s.asked["History"] > 70 {
		t.Errorf("read to step %d with %d pages", got.loss.Last.Step, s.asked["History"])
	}
	if len(got.Gaps) != 1 || !strings.Contains(got.Gaps[0].Why, "10000000 rows: at most 1000 of each 166667 steps") {
		t.Errorf("gaps %+v", got.Gaps)
	}
}

func TestWhatTheServiceSaysOfARun(t *testing.T) {
	src, _ := serve(t, newServer(3), source.Options{})
	var got seen
	got.look(t, src)
	want := map[string]string{
		"tracker.kind": "W&B", "tracker.run": "acme/vision/abc", "tracker.name": "lively-fog", "tracker.state": "finished", "tracker.started_at": "2026-03-01T10:00:00Z",
		"tracker.heartbeat_at": "2026-03-01T12:00:00Z", "tracker.host": "gpu-7", "tracker.url": src.base + "/acme/vision/runs/abc", "config.lr": "0.001",
		"gpu.0.utilization": "97.5", "host.cpu_percent": "12",
	}
	if d := cmp.Diff(want, got.facts); d != "" {
		t.Errorf("facts (-want +got):\n%s", d)
	}
}

func TestARunIsFollowed(t *testing.T) {
	s := newServer(1500)
	s.run["state"] = "running"
	s.lines = []string{"step 1 loss 0.5\n"}
	src, _ := serve(t, s, source.Options{Watch: true})
	var got seen
	got.look(t, src)
	s.mu.Lock()
	s.steps, s.lines = 1700, append(s.lines, "step 2 loss nan\n", "Traceback (most recent call last):\n")
	s.value = func(step int64) float64 { return math.NaN() }
	s.run["heartbeatAt"], s.run["state"] = "2026-03-01T12:00:30Z", "failed"
	s.mu.Unlock()
	pages := s.asked["History"]
	got.look(t, src)
	if got.loss.Count != 1700 || got.loss.FirstNonFinite == nil || got.loss.FirstNonFinite.Step != 1500 {
		t.Errorf("%d rows, first NaN %v", got.loss.Count, got.loss.FirstNonFinite)
	}
	if want := strings.Join(s.lines, ""); got.text != want {
		t.Errorf("console %q, want %q", got.text, want)
	}
	if got.facts["tracker.state"] != "failed" || got.facts["tracker.heartbeat_at"] != "2026-03-01T12:00:30Z" || s.asked["History"] != pages+1 {
		t.Errorf("facts %v, %d pages", got.facts, s.asked["History"]-pages)
	}
}

func TestConsoleLines(t *testing.T) {
	var all []string
	for i := range 23_000 {
		all = append(all, fmt.Sprintf("line %d\n", i))
	}
	for _, old := range []bool{false, true} {
		s := newServer(1)
		s.lines, s.old = all, old
		src, _ := serve(t, s, source.Options{})
		obs, err := src.Observe(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		first, gaps := 1, 0
		if old {
			first, gaps = 13_001, 1
		}
		st := obs.Streams[0]
		if want := strings.Join(all[first-1:], ""); sourcetest.Text(t, st) != want || st.FirstLine != first || len(obs.Gaps) != gaps {
			t.Errorf("old %v: %d bytes from line %d, want %d from %d; gaps %v", old, st.Size, st.FirstLine, len(want), first, obs.Gaps)
		}
	}
}

func TestErrorsOfTheService(t *testing.T) {
	status := func(code int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(code)
			fmt.Fprint(w, "<html>"+testKey+"</html>")
			return true
		}
	}
	for name, c := range map[string]struct {
		before func(http.ResponseWriter, *http.Request) bool
		run    map[string]any
		is     error
		says   string
		tries  int
	}{
		"a wrong key":    {status(401), map[string]any{}, source.ErrDenied, "refused the API key of WANDB_API_KEY; run `wandb login --relogin`", 1},
		"no permission":  {status(403), map[string]any{}, source.ErrDenied, "may not see this", 1},
		"no such server": {status(404), map[string]any{}, source.ErrUnreachable, "check WANDB_BASE_URL", 1},
		"throttled":      {status(429), map[string]any{}, source.ErrUnreachable, "it throttles our requests, status 429", maxTries},
		"out of order":   {status(500), map[string]any{}, source.ErrUnreachable, "status 500", maxTries},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "https://login.example/?back="+testKey, http.StatusFound)
			return true
		}, map[string]any{}, source.ErrUnreachable, "sends us to https://login.example; set WANDB_BASE_URL", 1},
		"no JSON":           {status(200), map[string]any{}, source.ErrUnreachable, "does not answer as a W&B server", 1},
		"an unknown status": {status(418), map[string]any{}, source.ErrUnreachable, "status 418", 1},
		"an unknown run":    {nil, nil, source.ErrNotFound, "no run abc, or the API key of WANDB_API_KEY may not see it", 1},
		"a hidden run": {func(w http.ResponseWriter, _ *http.Request) bool {
			answerErrors(w, "permission denied for "+testKey)
			return true
		}, map[string]any{}, source.ErrDenied, "permission denied for …", 1},
		"a query that it does not know": {func(w http.ResponseWriter, _ *http.Request) bool {
			answerErrors(w, "Cannot query field")
			return true
		}, map[string]any{}, source.ErrUnreachable, "Cannot query field", 1},
		"an answer that breaks off": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"data": `)
			return true
		}, map[string]any{}, source.ErrUnreachable, "broke off", maxTries},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(3)
			s.before, s.run = c.before, c.run
			src, pauses := serve(t, s, source.Options{})
			_, err := src.Observe(t.Context(), nil)
			if !errors.Is(err, c.is) || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("got %v\nwant %q: %v", err, c.says, c.is)
			}
			if strings.Contains(fmt.Sprint(err), testKey) {
				t.Errorf("the error has the key: %v", err)
			}
			if s.asked["Run"] != c.tries || len(*pauses) != c.tries-1 {
				t.Errorf("%d tries and %d pauses, want %d", s.asked["Run"], len(*pauses), c.tries)
			}
		})
	}
}

func TestThrottlingIsWaitedFor(t *testing.T) {
	s := newServer(2000)
	n := 0
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		if n++; n%2 == 1 {
			w.Header().Set("Retry-After", "12")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		return n%2 == 1
	}
	src, pauses := serve(t, s, source.Options{})
	var got seen
	got.look(t, src)
	if got.loss.Count != 2000 || len(got.Gaps) > 0 {
		t.Errorf("%d rows, gaps %v", got.loss.Count, got.Gaps)
	}
	if len(*pauses) == 0 || (*pauses)[0] != 12*time.Second || !strings.HasSuffix(got.facts["tracker.throttled"], " times") {
		t.Errorf("pauses %v, %q", *pauses, got.facts["tracker.throttled"])
	}
}

// What cannot be had of a run that is there is a gap; the rest is told.
func TestPartOfARunIsAGap(t *testing.T) {
	s := newServer(5000)
	s.lines = []string{"step 1 loss 0.5\n"}
	n := 0
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		if s.asked["History"] > 2 && s.asked["Console"] == 0 {
			n++
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	}
	src, _ := serve(t, s, source.Options{})
	obs, err := src.Observe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(obs.Gaps) != 1 || !strings.Contains(obs.Gaps[0].What, "the history from step") || !strings.Contains(obs.Gaps[0].Why, "status 503") || n == 0 {
		t.Errorf("gaps %+v", obs.Gaps)
	}
	if len(obs.Samples) == 0 || len(obs.Streams) != 1 {
		t.Errorf("%d samples, %d streams", len(obs.Samples), len(obs.Streams))
	}
}

func TestASlowServiceIsLeft(t *testing.T) {
	s := newServer(3)
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	}
	t.Run("when the caller has no more time", func(t *testing.T) {
		src, _ := serve(t, s, source.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := src.Observe(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("after some tries", func(t *testing.T) {
		src, _ := serve(t, s, source.Options{})
		src.http.Timeout = 20 * time.Millisecond
		if _, err := src.Observe(t.Context(), nil); !errors.Is(err, source.ErrUnreachable) || !strings.Contains(err.Error(), "no answer within") {
			t.Errorf("got %v", err)
		}
	})
}

func TestNoServer(t *testing.T) {
	src, _ := serve(t, newServer(1), source.Options{})
	src.base = "http://127.0.0.1:1"
	if _, err := src.Observe(t.Context(), nil); !errors.Is(err, source.ErrUnreachable) || !strings.Contains(err.Error(), "check the network") {
		t.Errorf("got %v", err)
	}
}
