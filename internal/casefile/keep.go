package casefile

import (
	"github.com/trainmedic/trainmedic/internal/run"
)

const (
	headLines = 400
	tailLines = 80
)

// kept is what of a stream stays beyond its block: the last lines, and where
// the collecting of the first ones stands.
type kept struct {
	tail     []Line
	bar      bool // the last line of the tail ended by \r
	headDone bool
}

// A progress bar counts as one line, in its last state: a line that ended by \r
// gives way to the next one of the same line number.

// survives reports whether the line at i of the block is not followed by
// another state of its bar within the block; blank lines do not count.
func (rd *reading) survives(i int) bool {
	r := &rd.blk.recs[i]
	if r.flags&fBar == 0 {
		return true
	}
	for _, next := range rd.blk.recs[i+1:] {
		if next.flags&fBlank == 0 {
			return next.line != r.line
		}
	}
	return true
}

// before lists up to n kept lines that end with the line at i of the block,
// oldest first.
func (rd *reading) before(n, i int) []Line {
	out := make([]Line, n)
	at := n
	first := -1 // the first line of the block that is not blank
	nextLine := uint32(0)
	for k := i; k >= 0; k-- {
		r := &rd.blk.recs[k]
		if r.flags&fBlank != 0 {
			continue
		}
		if gone := first >= 0 && r.flags&fBar != 0 && r.line == nextLine; !gone {
			at--
			out[at] = rd.keptLine(r)
			if at == 0 {
				return out
			}
		}
		first, nextLine = k, r.line
	}
	old := rd.kept.tail
	if first >= 0 && rd.continues(first) {
		old = old[:len(old)-1]
	}
	k := min(at, len(old))
	copy(out[at-k:at], old[len(old)-k:])
	return out[at-k:]
}

// continues reports whether the line at i, the first of the block that is not
// blank, is another state of the bar that the tail ends with.
func (rd *reading) continues(i int) bool {
	t := rd.kept.tail
	return rd.kept.bar && len(t) > 0 && t[len(t)-1].Ref.Line == rd.line+int(rd.blk.recs[i].line)
}

func (rd *reading) keptLine(r *rec) Line {
	rank := int(r.rank)
	if rank == run.NoRank {
		rank = rd.s.Rank
	}
	return Line{Ref: rd.ref(r), Rank: rank, Time: r.time(), Text: clipped(rd.blk.clean(r), 500)}
}

// keep remembers head and tail at the end of a block.
func (rd *reading) keep() {
	recs := rd.blk.recs
	last := len(recs) - 1
	for last >= 0 && recs[last].flags&fBlank != 0 {
		last--
	}
	if last < 0 {
		return
	}
	if !rd.kept.headDone {
		rd.head(last)
	}
	rd.kept.tail = rd.before(tailLines, last)
	rd.kept.bar = recs[last].flags&fBar != 0
}

func (rd *reading) head(last int) {
	s := rd.s
	first := true
	for i := 0; i <= last; i++ {
		r := &rd.blk.recs[i]
		if r.flags&fBlank != 0 {
			continue
		}
		again := first && rd.continues(i)
		first = false
		if n := len(s.Head); again && n > 0 && s.Head[n-1].Ref.Line == rd.line+int(r.line) {
			s.Head = s.Head[:n-1]
		}
		if !rd.survives(i) {
			continue
		}
		if len(s.Head) == headLines {
			rd.kept.headDone = true
			return
		}
		s.Head = append(s.Head, rd.keptLine(r))
	}
}

// follow serves the contexts that wait for lines.
func (rd *reading) follow(l *lineAt) {
	if len(rd.s.contexts) == 0 {
		return
	}
	text := clipped(l.whole, 500)
	for i := 0; i < len(rd.s.contexts); i++ {
		c := rd.s.contexts[i]
		c.Lines = append(c.Lines, text)
		if c.after--; c.after <= 0 {
			rd.s.contexts = append(rd.s.contexts[:i], rd.s.contexts[i+1:]...)
			i--
		}
	}
}

// context opens a context around the line at i of the block.
func (rd *reading) context(i int) *Context {
	if rd.f.contextCount >= maxContexts {
		return nil
	}
	rd.f.contextCount++
	lines := rd.before(linesBefore+1, i)
	c := &Context{File: rd.s.Name, First: lines[0].Ref.Line, after: linesAfter, at: len(lines) - 1}
	for _, l := range lines {
		c.Lines = append(c.Lines, l.Text)
	}
	rd.s.contexts = append(rd.s.contexts, c)
	return c
}

// clipped is the text of a line, cut as clip does, without copying all of a
// long one.
func clipped(b []byte, n int) string {
	if len(b) > n {
		b = b[:n+1]
	}
	return clip(string(b), n)
}
