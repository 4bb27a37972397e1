package casefile

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// relaunched reports whether the program was started again after a line, in the
// same log, and nothing failed since: the line with which the log begins comes
// again. It knows the lines that are kept, those of the beginning and the end.
func (f *File) relaunched(s *Stream, line int) bool {
	again := s.begunAgain()
	if again <= line {
		return false
	}
	for _, t := range f.Tracebacks {
		if t.Stream == s && t.Ref.Line > again && !t.ignored {
			return false
		}
	}
	return !slices.ContainsFunc(f.Events, func(e *Event) bool {
		return e.Stream == s && e.Sign.Role == report.RoleCause && e.LastRef.Line > again
	})
}

const (
	opening   = 12 // shorter lines are no program's own first words
	launches  = 20 // a line that comes more often is one of its usual ones
	goesOnFor = 3  // lines that a start must be followed by
)

var (
	number     = regexp.MustCompile(`\d+`)
	noGreeting = regexp.MustCompile(`(?i)traceback|warn|error|exception|^\s|[│╭=*#-]{4}|\bstep|\bepoch|\biter|loss|\d%|[{}\[\]]\s*$`)
)

// begunAgain is the number of the last line that repeats the log's first words,
// 0 when none does.
func (s *Stream) begunAgain() int {
	if s.again.orders != s.orders || s.orders == 0 {
		s.again.orders, s.again.line = s.orders, s.findAgain()
	}
	return s.again.line
}

func (s *Stream) findAgain() int {
	if len(s.Head) < 2 || s.Kind != "" && s.Kind != "log" {
		return 0
	}
	first := number.ReplaceAllString(s.Head[0].Text, "0")
	if len(strings.Trim(first, "0-:., TZ")) < opening || noGreeting.MatchString(first) {
		return 0
	}
	last, n := 0, 0
	for _, l := range slices.Concat(s.Head[1:], s.Tail) {
		if len(l.Text) >= opening && l.Ref.Line > last && l.Rank == s.Head[0].Rank && number.ReplaceAllString(l.Text, "0") == first {
			last, n = l.Ref.Line, n+1
		}
	}
	if n > launches || s.Lines-last < goesOnFor {
		return 0
	}
	return last
}

// showsOthers reports whether somebody printed a file behind a line of a terminal's
// transcript: the steps in it may be those of another run.
func (s *Stream) showsOthers(line int) bool {
	if s == nil {
		return false
	}
	return slices.ContainsFunc(s.Tail, func(l Line) bool { return l.Ref.Line > line && shownFile.MatchString(l.Text) })
}

var shownFile = regexp.MustCompile(`^(?:\S+@\S+[#$] |[$#] )(?:sudo )?(?:tail|cat|head|grep|less|sed|awk|zcat)\b`)

// betweenAttempts is the least time between two attempts of which each is
// numbered as a rank is ("train-0.log", "train-1.log"): ranks run at once.
const betweenAttempts = 10 * time.Second

// outdone reports whether a later attempt of the run, in a log of its own that
// begins after this one ended, trained further than this one did: a pod that was
// replaced, a job that was queued again. Where the lines have no time, the one
// that begins at the step where the other ended is the later.
func (f *File) outdone(s *Stream) bool {
	r := s.progressReader(run.NoRank)
	if r == nil || s.Kind != "" && s.Kind != "log" {
		return false
	}
	for _, o := range f.Logs() {
		later := o.progressReader(run.NoRank)
		if o == s || later == nil || later.Advances < healedAfter || later.LastStep <= r.LastStep {
			continue
		}
		if s.Last.IsZero() || o.First.IsZero() {
			if r.LastStep > 0 && later.firstStep() >= r.LastStep {
				return true
			}
			continue
		}
		if gap := o.First.Sub(s.Last); gap > 0 && (o.Rank == s.Rank || gap >= betweenAttempts) {
			return true
		}
	}
	return false
}

// firstStep is the first step that a value was reported of, -1 when none was.
func (r *RankReader) firstStep() int64 {
	first := int64(-1)
	for _, s := range r.Series {
		if p := s.First.Step; s.Count > 0 && (first < 0 || p < first) {
			first = p
		}
	}
	return first
}
