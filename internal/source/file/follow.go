package file

import (
	"fmt"
	"io/fs"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/tail"
)

// arrive finds out what became of the file since the last look, and reads what
// an older part of the log still has.
func (l Log) arrive(f Opened, info fs.FileInfo, s *state, v *View) error {
	fate, err := s.cur.Fate(f, info.Size(), Identity(info))
	if err != nil {
		return err
	}
	if s.told && fate == tail.Same {
		v.event(l.Name, run.LogBack)
	}
	s.told = false
	if s.old != (tail.Cursor{}) {
		err = l.older(s, v)
	}
	if err != nil || v.More || fate == tail.Same {
		return err
	}
	if fate == tail.Holed {
		v.event(l.Name, run.LogTruncated)
		s.cur, err = s.cur.PastHole(f)
		return err
	}
	s.old, s.cur = s.cur, tail.Cursor{}
	return l.leave(s, v, fate)
}

// older looks whether the file that had the log's name before grows still.
func (l Log) older(s *state, v *View) error {
	p := l.withIdent(s.old.Ident)
	if p == nil {
		s.old = tail.Cursor{}
		return nil
	}
	defer p.Close()
	gave, err := l.rest(p, &s.old, v)
	if !gave && s.cur.Given > 0 {
		s.old = tail.Cursor{} // the run writes to the new file now
	}
	return err
}

// leave reads what is left of the file that the log was until now, and whole the
// parts that came between it and the present one.
func (l Log) leave(s *state, v *View, fate tail.Fate) error {
	p := l.withIdent(s.old.Ident)
	event := run.LogRotated
	if p == nil {
		p = l.copyOf(s.old)
		event = run.LogReplaced
	}
	if fate == tail.Truncated {
		event = run.LogTruncated
	}
	v.event(l.Name, event)
	if p == nil {
		what := map[tail.Fate]string{tail.Truncated: "it was emptied", tail.Replaced: "another file took its name"}[fate]
		v.gap("the end of "+l.Name+" as it was before", fmt.Sprintf("%s between two looks, and what it gained after byte %d is not in a file beside it", what, s.old.Given),
			"the older log, if it was kept somewhere")
		s.old = tail.Cursor{}
		return nil
	}
	defer p.Close()
	if _, err := l.rest(p, &s.old, v); err != nil {
		return err
	}
	for _, base := range l.between(p.base) {
		if err := l.whole(base, v); err != nil {
			return err
		}
	}
	return nil
}

// copyOf finds a copy of what was read, made before the log was emptied.
func (l Log) copyOf(c tail.Cursor) *part {
	return l.find(func(info fs.FileInfo) bool { return l.related(info.Name()) && info.Size() >= c.Given }, func(p part) bool {
		is, err := c.Copied(p, p.info.Size())
		return err == nil && is
	})
}

// rest gives what an older part has beyond a cursor, a last line without its end
// too.
func (l Log) rest(p *part, c *tail.Cursor, v *View) (gave bool, err error) {
	c.Size = p.info.Size()
	piece, err := c.Look(p, p.info.Size(), Identity(p.info), l.Max)
	if err != nil {
		return false, err
	}
	*c = piece.Next
	v.Took[p.base] = state{cur: piece.Next}.String()
	v.More = v.More || piece.More
	if gave = piece.From < piece.To; gave {
		base := p.base
		v.Streams = append(v.Streams, l.piece(l.stream(p.info), piece, func() (Opened, error) { return l.Folder.Open(base) }))
	}
	return gave, nil
}

// whole gives all of an older part; one that is compressed by now cannot be had
// as a part of the log.
func (l Log) whole(base string, v *View) error {
	p := l.sibling(base)
	if p == nil {
		return nil
	}
	defer p.Close()
	var c tail.Cursor
	l.Max = 0
	_, err := l.rest(p, &c, v)
	return err
}

// absent is a look at a log whose name no file has; one that was renamed is
// followed where it is.
func (l Log) absent(prev string) (View, error) {
	s, v := parseState(prev), View{Took: map[string]string{}}
	if !s.told {
		v.event(l.Name, run.LogVanished)
	}
	s.told = true
	if p := l.withIdent(s.cur.Ident); p != nil {
		defer p.Close()
		if _, err := l.rest(p, &s.cur, &v); err != nil {
			return View{}, Reason("file", l.Name, err)
		}
	}
	v.Next = s.String()
	return v, nil
}
