package judge

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// How long a run may stand still. What the run has shown of its own rhythm
// counts first; these are for what it has not shown yet.
const (
	slowWork = 30 * time.Minute // loading, compiling, evaluating, saving: see stalled.quiet
	hiccup   = 5 * time.Minute  // a step in the middle of training, on shared storage
	fewGaps  = 3                // a run that made fewer steps has no rhythm yet
)

// unusual reports whether the run makes no progress for longer than its own
// rhythm lets one expect.
func unusual(f *casefile.File) bool {
	if f.Pulse.Looks == 0 || over(f) || paceless(f) {
		return false
	}
	l := limits(f)
	return l.quiet >= l.unusual
}

// stalled judges a run that makes no progress for unusually long: medium, and
// high where that is beyond what such a phase takes or where the processes
// themselves show that they wait.
func stalled(f *casefile.File, all []*suspect) report.Anomaly {
	l := limits(f)
	a := report.Anomaly{Type: report.AnomalyStalled, Severity: report.Medium, Class: report.Stalled, Fix: "find out what it waits for: py-spy dump --pid PID on the process that hangs, before anything is ended"}
	a.Description = fmt.Sprintf("No progress for %s; %s.", report.Took(l.quiet), l.phase)
	hint, waits := standstill(f, all)
	if hint != "" {
		a.Description += " " + hint
	}
	if l.quiet >= l.tooLong || waits || silentJob(f) {
		a.Severity = report.High
	}
	if m := f.Main(); m != nil {
		a.Ref = at(f, m.LastRef, m.Rank)
	} else if l, ok := lastLine(f); ok {
		a.Ref = at(f, l.Ref, l.Rank)
	}
	if f.Pulse.Repeats >= 2 {
		a.Description += " The log goes on, but its lines report no step."
	}
	return a
}

// limit is how long the run makes no progress, how long that may be, and why.
type limit struct {
	quiet, unusual, tooLong time.Duration
	phase                   string
}

func limits(f *casefile.File) limit {
	l, slow := rhythm(f)
	l.quiet = f.At.Sub(f.Pulse.Moved)
	if slow && f.Pulse.Stirred.After(f.Pulse.Moved) { // work without steps still says new things
		l.quiet = f.At.Sub(f.Pulse.Stirred)
	}
	return l
}

// rhythm is what the run has shown of its own rhythm, and whether it may be at
// work that takes long without a step.
func rhythm(f *casefile.File) (l limit, slow bool) {
	p := &f.Pulse
	twice := 2 * max(p.Interval, time.Second)
	m := f.Main()
	if m == nil || m.Advances == 0 {
		return limit{unusual: max(slowWork, twice), tooLong: max(4*slowWork, twice), phase: "no training step was reported yet"}, true
	}
	gaps := m.Gaps
	if gaps.N < p.Gaps.N || gaps.Longest == 0 {
		gaps = p.Gaps
	}
	if gaps.N < fewGaps && m.Advances < 10 {
		return limit{unusual: max(slowWork/3, twice), tooLong: max(slowWork, twice), phase: "the run is at its first steps"}, true
	}
	longest, typical := gaps.Longest, gaps.Typical()
	if word := slowPhase(f, m); word != "" {
		return limit{unusual: max(slowWork/3, 2*longest, twice), tooLong: max(slowWork, 3*longest, twice), phase: word}, true
	}
	l = limit{unusual: max(twice, 3*longest, 8*typical), phase: fmt.Sprintf("a step's line came every %s before", short(typical))}
	l.tooLong = max(2*l.unusual, 5*longest, 20*typical, min(hiccup, 10*p.Interval))
	return l, false
}

func short(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return report.Took(d)
}

// slowWords are what programs say before work that takes long without a step.
var slowWords = regexp.MustCompile(`(?i)evaluat|validat|\btest(ing)?\b|sav(e|ing)|checkpoint|compil|autotun|warm.?up|inductor|generat|sampl(e|ing)|download|loading|resum|skipp|tokeniz|preprocess|upload|push|gather|export|merg|reduc|restart|requeue|finish|complet|done|end of epoch`)

// slowPhase names what the run may be doing that takes long, "" in the middle
// of training.
func slowPhase(f *casefile.File, m *casefile.RankReader) string {
	g := m.Progress()
	if g.Completed || g.Total > 0 && g.Step >= g.Total {
		return "the last step is done, and the run has not ended"
	}
	for _, l := range after(f, m) {
		if w := slowWords.FindString(l.Text); w != "" {
			return fmt.Sprintf("the last lines speak of %q", strings.ToLower(w))
		}
	}
	if m.EvalLast.Line > m.LastRef.Line {
		return "an evaluation is under way"
	}
	if whole(g.Epoch) {
		return "an epoch has just ended"
	}
	if every := int64(max(100, 10*m.Stride())); g.Step > 0 && g.Step%every == 0 {
		return "it may save or evaluate at this step"
	}
	if g.Epochs > 0 && g.Total > 0 {
		each := float64(g.Total) / g.Epochs
		if left := math.Mod(float64(g.Step), each); each > 4 && (left < each/50 || left > each-each/50-1) {
			return "an epoch has just ended"
		}
	}
	return ""
}

func whole(epoch float64) bool { return epoch > 0 && epoch == math.Trunc(epoch) }

// after are the lines behind the last step's, and the one before them.
func after(f *casefile.File, m *casefile.RankReader) []casefile.Line {
	for _, s := range f.Logs() {
		if s.Name != m.LastRef.File {
			continue
		}
		for i, l := range s.Tail {
			if l.Ref.Line > m.LastRef.Line {
				return s.Tail[i:]
			}
		}
	}
	return nil
}

// standstill says what beside the log shows that the run waits, and whether it
// is proof: a process that sleeps in the kernel or uses no processor, a stack.
func standstill(f *casefile.File, all []*suspect) (string, bool) {
	for _, s := range all {
		if s.class == report.Stalled && s.role == report.RoleCause && !s.recovered && s.weight >= 0.7 {
			return s.says, true
		}
	}
	if n, err := strconv.Atoi(f.Value(run.FactBlocked)); err == nil && n > 0 || f.Value(run.FactState) == "D" {
		return "Its processes wait in the kernel (state D): storage or a driver does not answer.", true
	}
	if f.Value(run.FactState) == "T" {
		return "The process is stopped (state T).", true
	}
	if says := f.Value("flight.says"); says != "" {
		return says, true
	}
	if idle(f.Pulse.Gauges[run.FactCPU]) {
		return "Its processes use no processor time.", true
	}
	if idleGPUs(f) { // as while a checkpoint is written: no proof
		return "Its GPUs do nothing (0 %).", false
	}
	return "", false
}

// idleGPUs reports whether the run has GPUs, and none of them works.
func idleGPUs(f *casefile.File) bool {
	seen := false
	for _, v := range f.FactsUnder(run.GPU) {
		device, ok := strings.CutSuffix(v.Key, run.GPUUtil)
		if !ok || f.Value(device+run.GPUOthers) == "true" {
			continue
		}
		if n, err := strconv.ParseFloat(f.Value(v.Key), 64); err != nil || n > 0 {
			return false
		}
		seen = true
	}
	return seen
}

// idle reports whether the processor time stood still over the last two looks.
func idle(g []casefile.Gauge) bool {
	if len(g) < 3 {
		return false
	}
	a, b := g[len(g)-3], g[len(g)-1]
	wall := b.At.Sub(a.At).Seconds()
	return wall > 0 && b.Value >= a.Value && (b.Value-a.Value)/wall < 0.01
}

// over reports whether a live source says that the run has ended. What a log
// says of an exit may be that of one worker, which is started again.
func over(f *casefile.File) bool {
	for _, key := range []string{"exit.code", "exit.signal"} {
		if v, ok := f.Fact(key); ok && v.From.File == "" {
			return true
		}
	}
	return processEnded(f)
}

// processEnded reports whether the run's process is seen to have ended, by
// somebody who cannot know its exit code: it is gone, or a zombie.
func processEnded(f *casefile.File) bool {
	v := f.Value(run.FactState)
	return v == run.ProcessGone || v == "Z"
}

const (
	silentLooks = 2               // looks without a new line, at least
	flushes     = 2 * time.Minute // and this long, for what is written late
	comesBack   = time.Hour       // where a scheduler, a launcher or a pod starts the run again
)

var restarts = regexp.MustCompile(`(?i)requeu|preempt|node fail|restart|resubmit|retry|back-?off|spot|std(?:err|out) [FP] `)

// fellSilent reports whether the log has ended, as far as its silence tells:
// longer than any silence that it broke before.
func fellSilent(f *casefile.File) bool {
	p := &f.Pulse
	need, silent := max(2*min(p.Lull, slowWork), min(flushes, 10*p.Interval)), f.At.Sub(p.Spoke)
	if p.Silent < silentLooks || silent < need {
		return false
	}
	for _, s := range f.Logs() {
		for _, l := range s.Tail[max(0, len(s.Tail)-25):] {
			if restarts.MatchString(l.Text) {
				need = max(need, comesBack)
			}
		}
	}
	return silent >= need
}

// lastLine is the last thing that a log says.
func lastLine(f *casefile.File) (casefile.Line, bool) {
	for _, s := range f.Logs() {
		if n := len(s.Tail); n > 0 {
			return s.Tail[n-1], true
		}
	}
	return casefile.Line{Rank: run.NoRank}, false
}
