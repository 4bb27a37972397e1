package judge_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/judge"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// follow is a run that is looked at every half a minute.
type follow struct {
	t    *testing.T
	f    *casefile.File
	at   time.Time
	size int
}

func newFollow(t *testing.T) *follow {
	t.Helper()
	w := &follow{t: t, f: casefile.New(failuretest.Book(t).Matcher), at: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	w.f.Following, w.f.Pulse.Interval = true, 30*time.Second
	return w
}

// look adds what half a minute brought.
func (w *follow) look(text string, facts ...run.Fact) {
	w.t.Helper()
	o := run.Observation{At: w.at, Facts: facts}
	w.at = w.at.Add(30 * time.Second)
	if text != "" {
		o.Streams = []run.Stream{{Name: "run.log", Rank: run.NoRank, Offset: int64(w.size), Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)), nil
		}}}
		w.size += len(text)
	}
	if err := w.f.Add(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// train looks n times at a run that makes 31 steps in half a minute: not a round number, at which runs save.
func (w *follow) train(n int, line string, facts func(i int) []run.Fact) {
	w.t.Helper()
	first := 1
	if m := w.f.Main(); m != nil {
		first = int(m.LastStep) + 1
	}
	for i := range n {
		var b strings.Builder
		for s := range 31 {
			fmt.Fprintf(&b, "step %d/100000 "+line+"\n", first+i*31+s)
		}
		var v []run.Fact
		if facts != nil {
			v = facts(i)
		}
		w.look(b.String(), v...)
	}
}

func (w *follow) severity(t report.AnomalyType) report.Severity {
	for _, a := range judge.Anomalies(failuretest.Book(w.t), w.f) {
		if a.Type == t {
			return a.Severity
		}
	}
	return ""
}

func (w *follow) want(t report.AnomalyType, s report.Severity) {
	w.t.Helper()
	if got := w.severity(t); got != s {
		w.t.Errorf("%s at %s: want %q, got %q", t, w.at.Format("15:04:05"), s, got)
	}
}

func fact(key string, v float64) run.Fact { return run.Fact{Key: key, Value: fmt.Sprintf("%.0f", v)} }

func TestAStallIsJudgedByTheRunsOwnRhythm(t *testing.T) {
	w := newFollow(t)
	w.train(10, "loss=1.5", nil)
	w.look("")
	w.want(report.AnomalyStalled, "")
	w.look("")
	w.look("")
	w.want(report.AnomalyStalled, report.Medium) // two intervals and more
	for range 10 {
		w.look("heartbeat: alive\n")
	}
	w.want(report.AnomalyStalled, report.High) // a heartbeat is no progress
	w.train(1, "loss=1.5", nil)
	w.want(report.AnomalyStalled, "")
}

func TestSlowWorkIsNoStall(t *testing.T) {
	w := newFollow(t)
	w.train(10, "loss=1.5", nil)
	w.look("Saving model checkpoint to out/checkpoint-300\n")
	for range 15 {
		w.look("")
	}
	w.want(report.AnomalyStalled, "") // seven minutes of a silent checkpoint
	for range 60 {
		w.look("")
	}
	w.want(report.AnomalyStalled, report.High)
}

func TestProcessesThatWaitSharpenAStall(t *testing.T) {
	w := newFollow(t)
	w.train(10, "loss=1.5", func(i int) []run.Fact { return []run.Fact{fact(run.FactCPU, float64(i*20))} })
	for range 4 {
		w.look("", fact(run.FactCPU, 180))
	}
	w.want(report.AnomalyStalled, report.High)
}

func TestAProcessThatIsStoppedOrBlockedSharpensAStall(t *testing.T) {
	w := newFollow(t)
	w.train(10, "loss=1.5", nil)
	for range 4 {
		w.look("", run.Fact{Key: run.FactState, Value: "D"})
	}
	w.want(report.AnomalyStalled, report.High)
}

func TestWhatGPUsAndTheFlightRecorderSayOfAStall(t *testing.T) {
	says := func(w *follow) string {
		for _, a := range judge.Anomalies(failuretest.Book(t), w.f) {
			if a.Type == report.AnomalyStalled {
				return string(a.Severity) + ": " + a.Description
			}
		}
		return ""
	}
	util := func(gpu, percent string) run.Fact { return run.Fact{Key: "gpu." + gpu + run.GPUUtil, Value: percent} }
	for name, c := range map[string]struct {
		facts []run.Fact
		want  string
	}{
		"idle":             {[]run.Fact{util("0", "0"), util("1", "0")}, "medium: .*Its GPUs do nothing"},
		"one works":        {[]run.Fact{util("0", "0"), util("1", "100")}, "medium: [^.]*[.]$"},
		"others' are busy": {[]run.Fact{util("0", "0"), util("1", "90"), {Key: "gpu.1" + run.GPUOthers, Value: "true"}}, "medium: .*Its GPUs do nothing"},
		"flight recorder":  {[]run.Fact{{Key: "flight.says", Value: "Rank 3 never called all_reduce 17."}}, "high: .*Rank 3 never called"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFollow(t)
			w.train(10, "loss=1.5", nil)
			for range 4 {
				w.look("", c.facts...)
			}
			if got := says(w); !regexp.MustCompile("^" + c.want).MatchString(got) {
				t.Errorf("want %s, got %q", c.want, got)
			}
		})
	}
}

func TestOneGradientSpikeIsNoExplosion(t *testing.T) {
	w := newFollow(t)
	w.train(3, "loss=1.5 grad_norm=0.9", nil)
	w.look("step 94/100000 loss=1.5 grad_norm=1842\nstep 95/100000 loss=1.5 grad_norm=0.9\n")
	w.want(report.AnomalyGradientExplosion, "")
	w.look("step 96/100000 loss=1.5 grad_norm=1842\nstep 97/100000 loss=1.6 grad_norm=2900\nstep 98/100000 loss=2.5 grad_norm=5000\n")
	w.want(report.AnomalyGradientExplosion, report.High)
	always := newFollow(t)
	always.train(3, "loss=1.5 grad_norm=3900", nil)
	always.want(report.AnomalyGradientExplosion, "")
}

func TestThroughputIsJudgedAgainstItsBaseline(t *testing.T) {
	w := newFollow(t)
	w.train(2, "loss=1.5 samples_per_second=142", nil)
	w.look("step 63/100000 loss=1.5 samples_per_second=20\nstep 64/100000 loss=1.5 samples_per_second=141\n")
	w.want(report.AnomalySlowThroughput, "")
	w.train(1, "loss=1.5 samples_per_second=60", nil)
	w.want(report.AnomalySlowThroughput, report.Medium)
}

func TestADiskIsToldBeforeItIsFull(t *testing.T) {
	const gb = 1 << 30
	key := "disk./data" + run.DiskAvail
	w := newFollow(t)
	complete := true
	w.f.Checkpoints = []run.Checkpoint{{Path: "c1", Size: 10 * gb, Complete: &complete}}
	w.train(1, "loss=1.5", func(int) []run.Fact { return []run.Fact{fact(key, 25*gb)} })
	w.want(report.AnomalyDiskFilling, "")
	w.look("", fact(key, 15*gb))
	w.want(report.AnomalyDiskFilling, report.Medium)
	w.look("", fact(key, 8*gb))
	w.want(report.AnomalyDiskFilling, report.High)

	drains := newFollow(t) // 1 GB in half a minute, and 60 GB are left
	drains.train(12, "loss=1.5", func(i int) []run.Fact { return []run.Fact{fact(key, float64(72-i)*gb)} })
	drains.want(report.AnomalyDiskFilling, report.Medium)
	steady := newFollow(t)
	steady.train(12, "loss=1.5", func(i int) []run.Fact { return []run.Fact{fact(key, float64(72-i%2)*gb)} })
	steady.want(report.AnomalyDiskFilling, "")
}

func TestAMemoryLeakIsToldBeforeTheLimit(t *testing.T) {
	const gb = 1 << 30
	grows := func(per float64) *follow {
		w := newFollow(t)
		w.train(20, "loss=1.5", func(i int) []run.Fact {
			return []run.Fact{fact(run.FactRSS, (20+per*float64(i))*gb), fact(run.FactMemoryMax, 64*gb)}
		})
		return w
	}
	grows(0.3).want(report.AnomalyMemoryLeak, report.Medium) // an hour
	grows(1).want(report.AnomalyMemoryLeak, report.High)     // twelve minutes
	grows(0).want(report.AnomalyMemoryLeak, "")
	loads := newFollow(t) // a model that is loaded is no leak
	loads.train(20, "loss=1.5", func(i int) []run.Fact {
		rss := 20.0
		if i > 12 {
			rss = 50
		}
		return []run.Fact{fact(run.FactRSS, rss*gb), fact(run.FactMemoryMax, 64*gb)}
	})
	loads.want(report.AnomalyMemoryLeak, "")
}

func TestADeadlineIsComparedWithTheTimeLeft(t *testing.T) {
	for want, left := range map[report.Severity]time.Duration{"": 40 * time.Hour, report.High: time.Hour} {
		w := newFollow(t)
		end := run.Fact{Key: run.FactDeadline, Value: w.at.Add(left).Format(time.RFC3339)}
		w.train(10, "loss=1.5", func(int) []run.Fact { return []run.Fact{end} }) // 100,000 steps take 28 hours
		w.want(report.AnomalyDeadlineRisk, want)
	}
}

func TestAnErrorIsGraveWhenTheRunDoesNotGoOn(t *testing.T) {
	const oom = "Traceback (most recent call last):\n  File \"/app/train.py\", line 3, in <module>\n    step()\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
	w := newFollow(t)
	w.train(10, "loss=1.5", nil)
	w.look(oom)
	w.want(report.AnomalyOOM, report.Medium)
	w.train(1, "loss=1.5", nil) // a batch-size finder
	w.want(report.AnomalyOOM, "")
	w.look(oom)
	for range 5 {
		w.look("")
	}
	w.want(report.AnomalyOOM, report.Blocker)
	died := newFollow(t)
	died.train(10, "loss=1.5", nil)
	died.look(oom, run.Fact{Key: run.FactState, Value: run.ProcessGone})
	died.want(report.AnomalyOOM, report.Blocker)
}

func TestTasksOfAPipelineAreTold(t *testing.T) {
	w := newFollow(t)
	p := &run.Pipeline{Name: "p", Kind: "pipeline", State: "PIPELINE_STATE_RUNNING", Tasks: []run.Task{{Name: "data", State: "SUCCEEDED"}, {Name: "train", State: "RUNNING"}}}
	w.f.Pipeline = p
	w.look("")
	w.want(report.AnomalyStuckPipeline, "")
	for range 70 {
		w.look("")
	}
	w.want(report.AnomalyStuckPipeline, report.High)
	p.Tasks[1].State = "FAILED"
	w.look("")
	w.want(report.AnomalyStuckPipeline, "")
	w.want(report.AnomalyTaskFailed, report.High)
	p.State = "PIPELINE_STATE_FAILED"
	w.want(report.AnomalyPipelineFailed, report.Blocker)
	if e := judge.Ended(failuretest.Book(t), w.f); e.State != report.StateFailed {
		t.Errorf("want FAILED, got %+v", e)
	}
}

// TestARunThatHangsAfterItsLastStepHasNotSucceeded looks once at a run that was
// done with its steps and then waited for a lock, and on until its log is silent.
func TestARunThatHangsAfterItsLastStepHasNotSucceeded(t *testing.T) {
	log, err := os.ReadFile("../diagnose/testdata/cases/deepspeed-triton-autotune-filelock-nfs/run.log")
	if err != nil {
		t.Fatal(err)
	}
	w := newFollow(t)
	w.look(string(log))
	for range 20 {
		w.look("")
		if e := judge.Ended(failuretest.Book(t), w.f); e.State == report.StateSucceeded {
			t.Fatalf("after %s: %s: %s", w.at.Format("15:04:05"), e.State, e.Why)
		}
	}
}
