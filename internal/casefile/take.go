package casefile

import (
	"bytes"
	"strings"

	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// ring keeps the last lines.
type ring struct {
	buf []Line
	n   int
}

func (r *ring) add(l Line, replace bool) {
	if replace && r.n > 0 {
		r.buf[(r.n-1)%tailLines] = l
		return
	}
	if len(r.buf) < tailLines {
		r.buf = append(r.buf, l)
	} else {
		r.buf[r.n%tailLines] = l
	}
	r.n++
}

func (r *ring) lines() []Line {
	if r.n <= tailLines {
		return r.buf
	}
	at := r.n % tailLines
	return append(append([]Line{}, r.buf[at:]...), r.buf[:at]...)
}

// keep remembers head and tail, and serves the contexts that wait for lines. A
// progress bar counts as one line, in its last state.
func (rd *reading) keep(l *lineAt) {
	text := clip(string(l.whole), 500)
	k := Line{Ref: l.ref, Rank: l.rank, Time: l.prefix.Time, Text: text}
	replace := rd.wasCR && rd.tail.n > 0 && rd.lastTail().Ref.Line == l.ref.Line
	rd.tail.add(k, replace)
	if n := len(rd.s.Head); replace && n > 0 && rd.s.Head[n-1].Ref.Line == l.ref.Line {
		rd.s.Head[n-1] = k
	} else if n < headLines {
		rd.s.Head = append(rd.s.Head, k)
	}
	for i := 0; i < len(rd.s.contexts); i++ {
		c := rd.s.contexts[i]
		c.Lines = append(c.Lines, text)
		if c.after--; c.after <= 0 {
			rd.s.contexts = append(rd.s.contexts[:i], rd.s.contexts[i+1:]...)
			i--
		}
	}
}

func (rd *reading) lastTail() Line { return rd.tail.buf[(rd.tail.n-1)%tailLines] }

// context opens a context around the line at hand, which keep has taken already.
func (rd *reading) context() *Context {
	if rd.f.contextCount >= maxContexts {
		return nil
	}
	rd.f.contextCount++
	lines := rd.tail.lines()
	if n := linesBefore + 1; len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	c := &Context{File: rd.s.Name, First: lines[0].Ref.Line, after: linesAfter, at: len(lines) - 1}
	for _, l := range lines {
		c.Lines = append(c.Lines, l.Text)
	}
	rd.s.contexts = append(rd.s.contexts, c)
	return c
}

const (
	duringMark = "During handling of the above exception"
	causeMark  = "The above exception was the direct cause"
)

// blank is an empty line: it ends the message of a traceback.
func (rd *reading) blank() {
	for _, t := range rd.s.tracer {
		if t.done {
			t.after = maxMessage
		}
	}
}

// trace lets the rank's traceback see the line, or opens one.
func (rd *reading) trace(l *lineAt) {
	t := rd.s.tracer[l.rank]
	if i := rd.mark(l); i >= 0 {
		rd.open(l, t, i)
		return
	}
	line := string(l.text)
	if t != nil && !t.done {
		if t.feed(line, l.ref) {
			if t.done {
				rd.closed(t, l)
			}
			return
		}
		delete(rd.s.tracer, l.rank)
		return
	}
	if bytes.HasPrefix(l.text, []byte(" ")) && bytes.Contains(l.text, []byte(`File "`)) && frameLine.MatchString(line) {
		n := rd.open(l, t, -1)
		n.feed(line, l.ref)
		return
	}
	if t == nil {
		return
	}
	if strings.Contains(line, duringMark) || strings.Contains(line, causeMark) {
		t.chain = true
		t.chainDirect = strings.Contains(line, causeMark)
		return
	}
	if t.after < maxMessage && l.prefix.Time.IsZero() && !l.bar && t.more(line) {
		l.trace = t
	}
}

// mark is where the line opens a traceback, or -1.
func (rd *reading) mark(l *lineAt) int {
	if !hasSign(l.hits, rd.f.matcher.trace) {
		return -1
	}
	return bytes.Index(l.text, []byte(tracebackMark))
}

func (rd *reading) open(l *lineAt, before *Traceback, at int) *Traceback {
	t := &Traceback{First: l.ref, Rank: l.rank, Stream: rd.s, At: l.prefix.Time, Order: rd.order, Step: -1}
	if r := rd.s.progressReader(l.rank); r != nil {
		t.Step, t.advances = r.LastStep, r.Advances
	}
	if at > 0 {
		pre := string(l.text[:at])
		t.rich = strings.ContainsAny(pre, "╭│─")
		t.original = strings.HasSuffix(strings.TrimSpace(pre), "Original")
		if !t.rich && !t.original && strings.TrimSpace(pre) != "" && strings.ContainsAny(pre, "0123456789[") {
			t.shape = shapeOf(pre)
		}
	}
	t.Handled, t.ignored = rd.announced(l)
	if before != nil && before.done {
		switch {
		case before.chain:
			t.Earlier, t.Direct, before.Later = before, before.chainDirect, t
		case t.original || strings.HasPrefix(before.Message, "Caught ") && before.after < maxMessage:
			before.Earlier, before.Direct, t.Later = t, true, before
		}
	}
	rd.s.tracer[l.rank] = t
	return t
}

// announced reports whether the line at hand or the one before it says that an
// exception was expected, and whether the interpreter itself ignores it.
func (rd *reading) announced(l *lineAt) (handled, ignored bool) {
	before := ""
	lines := rd.tail.lines()
	if n := len(lines); n > 1 && lines[n-2].Rank == l.rank {
		before = lines[n-2].Text
	}
	ignored = strings.Contains(before, "Exception ignored in")
	quiet := l.prefix.Level == "WARNING" || l.prefix.Level == "INFO" || l.prefix.Level == "DEBUG"
	return ignored || quiet || expected.Match(l.text) || expected.MatchString(before), ignored
}

// closed files a traceback whose exception line has come.
func (rd *reading) closed(t *Traceback, l *lineAt) {
	l.trace = t
	t.end = rd.order
	if len(rd.f.Tracebacks) >= maxTracebacks {
		return
	}
	t.Context = rd.context()
	rd.f.Tracebacks = append(rd.f.Tracebacks, t)
}

// events files what the signs say of the line.
func (rd *reading) events(l *lineAt) {
	if len(l.hits) == 0 {
		return
	}
	var found []*Event
	benign := false
	for i, h := range l.hits {
		if h.sign >= len(rd.f.matcher.signs) || hasSign(l.hits[:i], h.sign) {
			continue
		}
		s := rd.f.matcher.signs[h.sign]
		if !s.applies(rd.s.Kind) {
			continue
		}
		groups, ok := s.Match(l.text)
		if !ok || !framesMatch(s, l.trace) {
			continue
		}
		benign = benign || s.Role == report.RoleBenign
		found = append(found, rd.event(s, l, groups))
	}
	for _, e := range found {
		if benign && (e.Sign.Role == report.RoleCause || e.Sign.Role == report.RoleSymptom) {
			continue
		}
		rd.file(e)
	}
}

// hasSign reports whether a pattern was hit.
func hasSign(hits []hit, sign int) bool {
	for _, h := range hits {
		if h.sign == sign {
			return true
		}
	}
	return false
}

func framesMatch(s *Sign, t *Traceback) bool {
	if s.Frames == nil && s.NoFrames == nil {
		return true
	}
	if t == nil {
		return s.Frames == nil
	}
	return (s.Frames == nil || t.InFrames(s.Frames)) && (s.NoFrames == nil || !t.InFrames(s.NoFrames))
}

func (rd *reading) event(s *Sign, l *lineAt, groups map[string]string) *Event {
	e := &Event{
		Sign: s, Stream: rd.s, Rank: l.rank, Ref: l.ref, LastRef: l.ref, Text: clip(string(l.whole), maxText),
		Groups: groups, At: l.prefix.Time, Step: -1, Order: rd.order, Trace: l.trace, Count: 1,
	}
	if e.At.IsZero() {
		e.At = rd.s.Last
	}
	if v, ok := groups["rank"]; ok && e.Rank == run.NoRank {
		e.Rank = num(v)
	}
	if r := rd.s.progressReader(l.rank); r != nil {
		e.Step, e.advances = r.LastStep, r.Advances
	}
	return e
}

// file keeps an event, or counts it into one of the same stretch: same sign and
// rank, and training did not go on between them.
func (rd *reading) file(e *Event) {
	for key, value := range e.Sign.Sets {
		if v := expand(value, e.Groups); v != "" {
			rd.f.AddFact(run.Fact{Key: key, Value: v, From: e.Ref})
		}
	}
	if e.Trace != nil && e.Trace.Known == nil && e.Sign.Role == report.RoleCause {
		e.Trace.Known = e
	}
	k := eventKey{e.Sign, e.Rank}
	same := rd.s.lastEvent[k]
	if n := len(same); n > 0 {
		last := same[n-1]
		if !e.Sign.Each && e.advances-last.advances < healedAfter && !(e.Trace != nil && last.Trace == nil) {
			last.Count++
			last.LastRef = e.Ref
			return
		}
		if n >= e.Sign.kept() { // keep the first ones and the newest
			old := same[n-1]
			e.Count += old.Count
			*old = *e
			return
		}
	}
	if e.Sign.Role == report.RoleCause || e.Sign.Role == report.RoleSymptom || e.Sign.Role == report.RoleContext {
		e.Context = rd.context()
	}
	rd.s.lastEvent[k] = append(same, e)
	rd.f.Events = append(rd.f.Events, e)
}

func expand(value string, groups map[string]string) string {
	if name, ok := strings.CutPrefix(value, "$"); ok {
		return groups[name]
	}
	return value
}
