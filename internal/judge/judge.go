package judge

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// Ruling is the verdict with what a report needs beside it.
type Ruling struct {
	report.Verdict
	Fixes    []report.Fix
	Decision report.Decision
	Context  *casefile.Context // around the proving line
	Proof    casefile.Evidence // the line that proves the primary cause
	Onset    int64             // the step at which training went wrong, -1 when it is not that kind
	Seen     []report.Anomaly  // what detectors saw at a step, healed or not
}

// Case judges a case file.
func Case(b *failure.Book, f *casefile.File) Ruling {
	all := collect(b, f)
	var alive []*suspect
	for _, s := range all {
		if !s.recovered && s.role != report.RoleContext {
			alive = append(alive, s)
		}
	}
	var r Ruling
	if primary := choose(b, alive); primary != nil {
		r = convict(b, f, primary, alive, all)
	} else {
		r = acquit(b, f, all)
	}
	compare(f, &r.Verdict)
	r.Seen = seen(f, all)
	return r
}

// seen lists what detectors saw at a step, and the explosion of gradients: of each
// type where it began first.
func seen(f *casefile.File, all []*suspect) []report.Anomaly {
	var out []report.Anomaly
	for _, s := range all {
		step := s.step
		if s.onset > 0 {
			step = s.onset
		}
		if s.detected && s.role != report.RoleContext && s.kind != "" && step >= 0 {
			out = append(out, report.Anomaly{Type: s.kind, Severity: s.severity, Description: s.says, Step: &step})
		}
	}
	if a := gradientExplosion(f); a != nil && a.Step != nil {
		out = append(out, *a)
	}
	slices.SortStableFunc(out, func(a, b report.Anomaly) int { return cmp.Compare(*a.Step, *b.Step) })
	return oneOfEach(out)
}

// convict writes the verdict for a primary suspect.
func convict(b *failure.Book, f *casefile.File, primary *suspect, alive, all []*suspect) Ruling {
	r := Ruling{Verdict: report.NewVerdict(), Onset: onset(f, primary)}
	class := b.Class(primary.class)
	cause, backing := causeOf(class, primary, f)
	if cause == nil {
		cause = recorded(class, primary, alive)
	}
	r.Framework = f.Framework
	r.PrimaryCause = primary.class
	r.RunStatus = status(f, primary, alive)
	r.CauseConfidence = confidence(primary, alive)
	r.ProximateCause = proximate(primary)
	r.RootCause = primary.says
	if cause != nil {
		r.RootCause = cause.Root
		if cause.Detail != nil {
			r.RootCause = strings.TrimSpace(cause.Root + " " + cause.Detail(f, primary.text))
		}
	}
	if rank := failingRank(f, primary, alive); rank != run.NoRank {
		r.FailingRank = &rank
	}
	r.ExitCode, r.Signal = exit(f)
	book := &references{}
	book.add(primary.ref, primary.rank, primary.step, report.RoleCause, primary.text)
	for _, also := range primary.also {
		book.add(also, run.NoRank, -1, report.RoleCause, f.TextAt(also))
	}
	live := []string{}
	for _, e := range backing {
		if book.add(e.Ref, e.Rank, -1, report.RoleContext, e.Text); e.Ref.File == "" {
			live = append(live, e.Text)
		}
	}
	r.CauseChain = chain(primary, alive, book)
	r.ContributingFactors = append(append(live, contributing(primary, alive)...), factors(all)...)
	r.RuledOut = ruledOut(b, primary, all, book)
	r.EvidenceRefs = book.refs
	r.Evidence = book.lines()
	r.MissingEvidence = missing(f)
	r.Fixes = plan(class, cause)
	r.Decision = decide(r.Fixes)
	r.Context, r.Proof = primary.context, casefile.Evidence{Ref: primary.ref, Rank: primary.rank, Text: primary.text}
	if r.Context == nil && primary.trace != nil {
		r.Context = primary.trace.Context
	}
	return r
}

// onset is the step from which on the weights are lost: of the first non-finite
// loss, or of the rise.
func onset(f *casefile.File, primary *suspect) int64 {
	if primary.class != report.NaNInf && primary.class != report.Divergence {
		return -1
	}
	if primary.onset > 0 {
		return primary.onset
	}
	if s := f.Series("loss"); s != nil && s.FirstNonFinite != nil && s.FirstNonFinite.Step >= 0 {
		return s.FirstNonFinite.Step
	}
	return primary.step
}

// causeOf is the reason within the class: the one whose facts speak strongest,
// else the one that the signature names.
func causeOf(c *failure.Class, primary *suspect, f *casefile.File) (*failure.Cause, []casefile.Evidence) {
	named := c.Cause(primary.cause)
	best, top, proof := named, 0.5, []casefile.Evidence(nil)
	if named != nil && named.When != nil {
		if s, e := named.When(f); s > 0 {
			top, proof = max(top, s), e
		}
	}
	for i := range c.Causes {
		k := &c.Causes[i]
		if k == named || k.When == nil {
			continue
		}
		if s, e := k.When(f); s > top {
			best, top, proof = k, s, e
		}
	}
	return best, proof
}

// recorded is the cause that a tracker's record tells of what the primary only
// stumbled over later; nil when none does.
func recorded(c *failure.Class, primary *suspect, alive []*suspect) *failure.Cause {
	for _, s := range alive {
		if s.early && s.class == primary.class && s != primary {
			return c.Cause(s.cause)
		}
	}
	return nil
}

func proximate(s *suspect) string {
	where := run.Name(s.ref.String())
	if s.trace != nil {
		if fr, ok := s.trace.Innermost(); ok {
			where = fmt.Sprintf("%s (%s), seen at %s", run.Name(fmt.Sprintf("%s:%d", fr.File, fr.Line)), run.Name(fr.Func), where)
		}
	}
	text := strings.TrimSpace(s.text)
	if text == "" {
		return where
	}
	return where + ": " + run.Quote(text)
}

// references collects evidence without repeating a line.
type references struct{ refs []report.EvidenceRef }

const (
	maxRefs    = 16
	maxRefText = 500 // bytes
)

func (b *references) add(ref run.Ref, rank int, step int64, role report.Role, text string) int {
	for i, r := range b.refs {
		if r.File == ref.File && r.Line == ref.Line {
			return i
		}
	}
	if len(b.refs) >= maxRefs || ref.File == "" {
		return -1
	}
	e := report.EvidenceRef{File: ref.File, Line: ref.Line, ByteOffset: ref.Offset, Role: role, Text: clip(oneLine.Replace(strings.TrimSpace(text)), maxRefText)}
	if rank != run.NoRank {
		e.Rank = &rank
	}
	if step >= 0 {
		e.Step = &step
	}
	b.refs = append(b.refs, e)
	return len(b.refs) - 1
}

// oneLine keeps a message of several lines on one, as every evidence line is.
var oneLine = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ")

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "…"
}

func (b *references) lines() []string {
	out := []string{}
	for _, r := range b.refs {
		out = append(out, fmt.Sprintf("%s: %s", run.Ref{File: r.File, Line: r.Line}, r.Text))
	}
	return out
}

// chain goes from the root to the last symptom: one link for each way the
// failure showed, in the order in which it showed.
func chain(primary *suspect, alive []*suspect, book *references) []report.ChainLink {
	out := []report.ChainLink{link(primary, book)}
	rest := slices.Clone(alive)
	sort.SliceStable(rest, func(i, j int) bool { return rest[i].compare(rest[j]) < 0 })
	seen := map[string]bool{primary.id: true}
	for _, s := range rest {
		if seen[s.id] || len(out) >= 8 || s.compare(primary) < 0 && s.role == report.RoleSymptom {
			continue
		}
		seen[s.id] = true
		out = append(out, link(s, book))
	}
	return out
}

func link(s *suspect, book *references) report.ChainLink {
	role := s.role
	l := report.ChainLink{Class: string(s.class), What: s.says}
	if i := book.add(s.ref, s.rank, s.step, role, s.text); i >= 0 {
		l.Ref = &i
	}
	if s.rank != run.NoRank {
		rank := s.rank
		l.Rank = &rank
	}
	return l
}

func contributing(primary *suspect, alive []*suspect) []string {
	out := []string{}
	for _, s := range alive {
		if s.class == primary.class || s.role != report.RoleCause {
			continue
		}
		text := fmt.Sprintf("%s: %s", s.class, s.says)
		if !slices.Contains(out, text) && len(out) < 5 {
			out = append(out, text)
		}
	}
	return out
}

// ruledOut says of every other class why it is not the primary cause: first
// those that had a sign, then the usual suspects that had none.
func ruledOut(b *failure.Book, primary *suspect, all []*suspect, book *references) []report.RuledOut {
	out := []report.RuledOut{}
	for _, id := range report.Classes {
		if primary != nil && id == primary.class {
			continue
		}
		s := strongest(all, id)
		if s == nil {
			continue
		}
		r := report.RuledOut{Class: id, Why: whyNot(s, primary)}
		if i := book.add(s.ref, s.rank, s.step, report.RoleContext, s.text); i >= 0 {
			r.Ref = &i
		}
		out = append(out, r)
	}
	for _, id := range []report.Class{report.OOM, report.NaNInf, report.NCCL, report.IOCheckpoint, report.CUDA} {
		if primary != nil && id == primary.class || strongest(all, id) != nil {
			continue
		}
		if c := b.Class(id); c != nil && c.Usual != "" {
			out = append(out, report.RuledOut{Class: id, Why: c.Usual})
		}
	}
	return out
}

func strongest(all []*suspect, id report.Class) *suspect {
	var best *suspect
	for _, s := range all {
		if s.class == id && s.role != report.RoleContext && (best == nil || s.weight > best.weight) {
			best = s
		}
	}
	return best
}

func whyNot(s, primary *suspect) string {
	switch {
	case s.recovered:
		return "it was survived: training went on after " + run.Name(s.ref.String())
	case primary == nil:
		return "seen at " + run.Name(s.ref.String()) + ", but it did not stop the run"
	case s.yielded != "":
		return fmt.Sprintf("a consequence: %s explains it", s.yielded)
	case s.role == report.RoleSymptom:
		return "only a symptom: it says that something failed, not what"
	case s.compare(primary) > 0:
		return "it came after " + run.Name(primary.ref.String())
	}
	return fmt.Sprintf("possible, but less specific than %s", run.Name(primary.ref.String()))
}

// exit is how the process ended, where something says so.
func exit(f *casefile.File) (*int, *string) {
	var code *int
	var signal *string
	if v := f.Value("exit.code"); v != "" {
		if n, err := strconv.Atoi(v); err == nil {
			code = &n
		}
	}
	if v, ok := f.Fact("exit.signal"); ok && !earlier(f, v) {
		signal = &v.Value
	}
	if code != nil && signal == nil {
		n := *code
		if n > 128 {
			n = 128 - n
		}
		if name, ok := signals[-n]; ok && n < 0 {
			signal = &name
		}
	}
	return code, signal
}

// earlier reports whether a log tells of a signal that ended another start than the
// one whose exit code was seen live: that one came later in the same log.
func earlier(f *casefile.File, signal run.Fact) bool {
	code, ok := f.Fact("exit.code")
	return ok && code.From.File == "" && signal.From.File != ""
}

var signals = map[int]string{1: "SIGHUP", 2: "SIGINT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM"}

func missing(f *casefile.File) []report.MissingEvidence {
	out := []report.MissingEvidence{}
	for _, g := range f.Gaps {
		out = append(out, report.MissingEvidence{What: g.What, Why: g.Why, Ask: g.Ask})
	}
	return out
}
