package casefile

import (
	"bytes"
	"slices"
	"strings"
)

const (
	duringMark = "During handling of the above exception"
	causeMark  = "The above exception was the direct cause"
)

// tracing reports whether a traceback of the rank may want the next line, even
// one without a hit: what chains tracebacks has one.
func (rd *reading) tracing(rank int) bool {
	if len(rd.live) == 0 {
		return false
	}
	t := rd.s.tracer.get(rank)
	return t != nil && rd.wants(t)
}

// wants reports whether a traceback may want the line at hand.
func (rd *reading) wants(t *Traceback) bool {
	return !t.done || rd.order <= t.end+1 || t.after < maxMessage && len(t.Message) <= maxText
}

// blank is an empty line: it ends the message of a traceback.
func (rd *reading) blank() {
	for _, t := range rd.live {
		if t.done {
			t.after = maxMessage
		}
	}
}

// forget drops the tracebacks that want nothing more.
func (rd *reading) forget() {
	rd.live = slices.DeleteFunc(rd.live, func(t *Traceback) bool { return t != rd.s.tracer.get(t.Rank) || t.done && t.after >= maxMessage })
}

// trace lets the rank's traceback see the line, or opens one.
func (rd *reading) trace(l *lineAt) {
	t := rd.s.tracer.get(l.rank)
	if i := rd.mark(l); i >= 0 {
		rd.open(l, t, i)
		return
	}
	frame := bytes.HasPrefix(l.text, []byte(" ")) && bytes.Contains(l.text, []byte(`File "`))
	chain := hasSign(l.hits, rd.f.matcher.chain) || rd.blk.recs[l.index].flags&fCleaned != 0 // an escape may cut the words
	if !frame && (t == nil || !chain && !rd.wants(t)) {
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
		rd.s.tracer.set(l.rank, nil)
		return
	}
	if frame {
		if _, ok := readFrame(line); ok {
			n := rd.open(l, t, -1)
			n.feed(line, l.ref)
			return
		}
	}
	if t == nil {
		return
	}
	if chain && (strings.Contains(line, duringMark) || strings.Contains(line, causeMark)) {
		t.chain = true
		t.chainDirect = strings.Contains(line, causeMark)
		return
	}
	if rd.order == t.end+1 && rd.f.memo.announces(l.text) {
		t.Handled, t.behind = true, true // "…, continuing"
	}
	if t.after < maxMessage && l.time.IsZero() && !l.bar && t.more(line) {
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
	t := &Traceback{First: l.ref, Rank: l.rank, Stream: rd.s, At: l.time, Order: rd.order, Step: -1}
	if r := rd.s.progressReader(l.rank); r != nil {
		t.Step, t.advances = r.LastStep, r.Advances
	}
	if at > 0 {
		pre := string(l.text[:at])
		t.rich = strings.ContainsAny(pre, "╭│─")
		t.original = strings.HasSuffix(strings.TrimSpace(pre), "Original")
		t.notebook = notebook(pre)
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
		if t.depth = before.depth + 1; t.Earlier == before && t.depth > maxChain && before.Earlier != nil {
			t.Earlier, t.depth = before.Earlier, before.depth // those in the middle say least
			t.Earlier.Later, before.Later = t, &Traceback{}   // it has a later one, which it does not keep
		}
	}
	rd.s.tracer.set(l.rank, t)
	rd.forget()
	rd.live = append(rd.live, t)
	return t
}

// announced reports whether the line at hand or the one before it says that an
// exception was expected, and whether the interpreter itself ignores it.
func (rd *reading) announced(l *lineAt) (handled, ignored bool) {
	before := ""
	if lines := rd.before(2, l.index); len(lines) > 1 && lines[0].Rank == l.rank {
		before = lines[0].Text
	}
	ignored = strings.Contains(before, "Exception ignored in")
	return ignored || l.quiet || rd.f.memo.announces(l.text) || rd.f.memo.announces([]byte(before)), ignored
}

// closed files a traceback whose exception line has come.
func (rd *reading) closed(t *Traceback, l *lineAt) {
	l.trace = t
	t.end = rd.order
	if len(rd.f.Tracebacks) >= maxTracebacks {
		return
	}
	t.Context = rd.context(l.index)
	rd.f.Tracebacks = append(rd.f.Tracebacks, t)
}
