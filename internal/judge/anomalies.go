package judge

import (
	"slices"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// Anomalies lists what is wrong with a run that is being watched, the gravest
// first and at most one of each type: what signatures and detectors say, and
// what only shows over several looks (the file's Pulse). Case judges how a run
// ended; this judges one that goes on, and what may still heal is not grave yet.
func Anomalies(b *failure.Book, f *casefile.File) []report.Anomaly {
	quiet := unusual(f)
	but := report.Stalled // its detectors read whole heads of logs
	if quiet {
		but = ""
	}
	all := collectBut(b, f, but)
	out := signed(b, f, all)
	for _, rule := range []func(*casefile.File) *report.Anomaly{gradientExplosion, slowThroughput, diskFilling, memoryLeak, deadlineRisk, jobFailed, taskFailed, errorInEvents, stuckPipeline} {
		if a := rule(f); a != nil {
			out = append(out, *a)
		}
	}
	if quiet && !ends(out) {
		out = append(out, stalled(f, all))
	}
	out = oneOfEach(out)
	for i := range out {
		out[i].At = f.At.UTC().Format(time.RFC3339)
		if out[i].Step == nil {
			out[i].Step = stepOf(f)
		}
	}
	return out
}

// typeOf is the anomaly type of a class whose signatures name none.
var typeOf = map[report.Class]report.AnomalyType{
	report.NaNInf: report.AnomalyNaNInf, report.OOM: report.AnomalyOOM, report.Divergence: report.AnomalyDivergence,
	report.CUDA: report.AnomalyCUDAError, report.NCCL: report.AnomalyDistributedError, report.DataPipeline: report.AnomalyDataError,
	report.Config: report.AnomalyCrash, report.IOCheckpoint: report.AnomalyCheckpointFailure, report.Crash: report.AnomalyCrash,
	report.EvalMismatch: report.AnomalyLogError, report.Pipeline: report.AnomalyPipelineFailed, report.CloudQuota: report.AnomalyLogError,
}

// signed are the anomalies of signatures and detectors: what nothing healed and
// no graver class explains.
func signed(b *failure.Book, f *casefile.File, all []*suspect) []report.Anomaly {
	var alive []*suspect
	for _, s := range all {
		if !s.recovered && s.role != report.RoleContext && s.class != report.Stalled {
			alive = append(alive, s)
		}
	}
	explain(b, alive)
	best := map[report.AnomalyType]*suspect{}
	for _, s := range alive {
		kind := s.typ()
		if s.yielded != "" || kind == "" || s.weight < tellFrom || s.role == report.RoleSymptom && rivals(alive, s) {
			continue
		}
		if o := best[kind]; o == nil || beats(s, o) {
			best[kind] = s
		}
	}
	var out []report.Anomaly
	for _, s := range alive {
		if best[s.typ()] == s {
			out = append(out, anomalyOf(b, f, s))
		}
	}
	return out
}

// typ is the suspect's anomaly type: what its detector says, else that of its class.
func (s *suspect) typ() report.AnomalyType {
	if s.kind != "" {
		return s.kind
	}
	return typeOf[s.class]
}

// tellFrom is the least weight of evidence that interrupts somebody.
const tellFrom = 0.5

// rivals reports whether a cause of another kind was seen: then a symptom adds
// nothing.
func rivals(alive []*suspect, s *suspect) bool {
	return slices.ContainsFunc(alive, func(o *suspect) bool { return o.role == report.RoleCause && o.weight >= tellFrom && o.class != s.class })
}

func anomalyOf(b *failure.Book, f *casefile.File, s *suspect) report.Anomaly {
	class := b.Class(s.class)
	a := report.Anomaly{Type: s.typ(), Severity: s.severity, Description: s.says, Class: s.class, Ref: refOf(s)}
	if a.Severity == "" {
		a.Severity = class.Severity
	}
	if s.step >= 0 {
		step := s.step
		a.Step = &step
	}
	cause, backing := causeOf(class, s, f)
	for _, e := range backing {
		if e.Ref.File == "" { // what a live system shows has no line to point at
			a.Description += " " + e.Text + "."
		}
	}
	if s.noticed() {
		a.Description += " (" + run.Quote(s.text) + ")"
	}
	if fixes := plan(class, cause); len(fixes) > 0 {
		a.Fix = fixes[0].Action
	}
	if s.class == report.Divergence && s.trace == nil {
		a.Hold = 2
		if a.Severity == report.High && !f.Pulse.Last && since(f, s.step) < staysUp {
			a.Severity = report.Medium
		}
	}
	if a.Grave() && (mayHeal(f, s) || s.class == report.EvalMismatch) {
		a.Severity = report.Medium
	}
	return a
}

// staysUp is how many values of a loss must stay up before a rise is told as a
// divergence while the run goes on: a new stage (another data set, quantized
// weights) begins with some high ones.
const staysUp = 10

// since is how many values of the loss came since a step.
func since(f *casefile.File, step int64) int {
	s := f.Series("loss")
	if s == nil {
		return 0
	}
	n := 0
	for _, p := range s.Points() {
		if p.Step > step {
			n++
		}
	}
	return n * s.Stride()
}

// mayHeal reports whether what a line says may not be the end: a batch finder
// catches an OOM, a launcher starts a failed worker again, a script prints its
// own source. While the log goes on, and no process is known to have ended, it
// is not told as grave. What a series shows (a loss that stays NaN) needs no such
// proof.
func mayHeal(f *casefile.File, s *suspect) bool {
	if s.kind != "" && (s.class == report.NaNInf || s.class == report.Divergence) {
		return false
	}
	return !over(f) && !f.Pulse.Last && (s.role == report.RoleSymptom || !fellSilent(f) && !s.noticed())
}

// noticed reports whether the source saw it happen to a process: that is so,
// whatever the log goes on to say.
func (s *suspect) noticed() bool { return s.stream != nil && s.stream.Kind == "ps" && s.stream.Live }

func refOf(s *suspect) *report.EvidenceRef {
	if s.ref.File == "" {
		return nil
	}
	refs := &references{}
	refs.add(s.ref, s.rank, s.step, s.role, s.text)
	return &refs.refs[0]
}

// ends reports whether something was seen that stops a run and that no progress
// followed: then its silence is no stall.
func ends(all []report.Anomaly) bool {
	return slices.ContainsFunc(all, func(a report.Anomaly) bool {
		switch a.Type {
		case report.AnomalyOOM, report.AnomalyCrash, report.AnomalyCUDAError, report.AnomalyDistributedError, report.AnomalyDataError, report.AnomalyCheckpointFailure:
			return true
		}
		return false
	})
}

// oneOfEach keeps the gravest of each type, gravest first.
func oneOfEach(all []report.Anomaly) []report.Anomaly {
	slices.SortStableFunc(all, func(a, b report.Anomaly) int {
		switch {
		case a.Severity.Above(b.Severity):
			return -1
		case b.Severity.Above(a.Severity):
			return 1
		}
		return 0
	})
	seen := map[report.AnomalyType]bool{}
	return slices.DeleteFunc(all, func(a report.Anomaly) bool {
		was := seen[a.Type]
		seen[a.Type] = true
		return was
	})
}

func stepOf(f *casefile.File) *int64 {
	m := f.Main()
	if m == nil || m.Progress().Step < 0 {
		return nil
	}
	step := m.Progress().Step
	return &step
}

// at turns a place into evidence.
func at(f *casefile.File, ref run.Ref, rank int) *report.EvidenceRef {
	if ref.File == "" {
		return nil
	}
	refs := &references{}
	refs.add(ref, rank, -1, report.RoleSymptom, f.TextAt(ref))
	return &refs.refs[0]
}
