package casefile

import (
	"bytes"

	"github.com/trainmedic/trainmedic/internal/logformat"
	"github.com/trainmedic/trainmedic/internal/scan"
)

// worker takes blocks apart: what can be said of a line without those before it.
type worker struct {
	forms *logformat.Finder
	mutes [muteSize]uint32 // hashes of lines without a form that say nothing
}

const muteSize = 1 << 11

// rec is one line of a block.
type rec struct {
	at, end    uint32 // in the block
	cat, cend  uint32 // the cleaned line: in the block, or in the arena
	line       uint32 // number of \n before it in the block
	hit0, hit1 uint32
	rank       int32
	sec        int64 // of its time
	nsec       int32
	num        uint32 // where its numbers begin; its marks, where its form is not known
	form       *logformat.Form
	text       uint32 // length of the launcher's prefix
	flags      flags
}

type flags uint16

const (
	fBlank   flags = 1 << iota
	fBar           // ended by \r
	fCleaned       // the cleaned line is in the arena
	fTime          // it has a time
	fOwn           // which is the program's own, or none
	fQuiet         // its level is INFO, WARNING or DEBUG
	fFrame         // it may be a frame of a traceback
	fInert         // it tells the rank's reader nothing, unless that is in a table
)

// clean is the cleaned line with the launcher's prefix.
func (b *block) clean(r *rec) []byte {
	if r.flags&fCleaned != 0 {
		return b.arena[r.cat:r.cend]
	}
	return b.b[r.cat:r.cend]
}

func (w *worker) take(b *block) {
	b.hits, b.recs, b.arena, b.nums = b.hits[:0], b.recs[:0], b.arena[:0], b.nums[:0]
	b.hits = b.scanner.Block(b.b, b.hits)
	sortHits(b.hits)
	c := cutter{b: b.b, nl: -1, cr: -1}
	h, line := 0, 0
	for at := 0; at < len(b.b); {
		end, next, nl := c.next(at)
		b.recs = append(b.recs, rec{at: uint32(at), end: uint32(end), line: uint32(line), hit0: uint32(h)})
		r := &b.recs[len(b.recs)-1]
		for h < len(b.hits) && b.hits[h].At < next {
			h++
		}
		r.hit1 = uint32(h)
		if !nl && end < next && (next < len(b.b) || !b.last) {
			r.flags |= fBar
		}
		w.line(b, r)
		if nl {
			line++
		}
		at = next
	}
}

// line says what one line is.
func (w *worker) line(b *block, r *rec) {
	raw := b.b[r.at:r.end]
	if len(raw) == 0 || (raw[0] <= ' ' || raw[0] >= 0x7f) && len(bytes.TrimSpace(raw)) == 0 {
		r.flags |= fBlank
		return
	}
	r.cat, r.cend = r.at, r.end
	p := logformat.Launcher(raw)
	if w.known(b, r, raw, &p) {
		return
	}
	clean := raw
	if !logformat.IsClean(raw) {
		n := len(b.arena)
		b.arena = logformat.Clean(b.arena, raw)
		clean = b.arena[n:]
		r.cat, r.cend = uint32(n), uint32(len(b.arena))
		r.flags |= fCleaned
		if p = logformat.Launcher(clean); w.known(b, r, clean, &p) {
			return
		}
	}
	own := p.Time.IsZero()
	p.Own(clean)
	r.set(&p, own)
	text := clean[p.Len:]
	if len(text) > 0 && text[0] == ' ' && bytes.Contains(text, []byte(`File "`)) {
		r.flags |= fFrame
	}
	m := logformat.Survey(text)
	r.num = uint32(m)
	if m.Mute() && !w.again(text) {
		r.flags |= fInert
	}
}

// known takes a line of a known form.
func (w *worker) known(b *block, r *rec, line []byte, p *logformat.Prefix) bool {
	r.num = uint32(len(b.nums))
	if r.form, b.nums = w.forms.Find(line[p.Len:], b.nums); r.form == nil || p.Len > 0 && !logformat.IsClean(line[:p.Len]) {
		r.form = nil
		return false
	}
	r.set(p, p.Time.IsZero())
	if t := &w.forms.Stamp; t.Has && r.flags&fOwn != 0 {
		r.flags |= fTime
		r.sec, r.nsec = t.Sec, t.Nsec
	}
	if r.form.Quiet() && p.Level == "" {
		r.flags |= fQuiet
	}
	if r.form.Frame() {
		r.flags |= fFrame
	}
	if r.form.Inert() {
		r.flags |= fInert
	}
	return true
}

// set takes what a prefix says; own tells that its time is not the launcher's.
func (r *rec) set(p *logformat.Prefix, own bool) {
	r.text, r.rank = uint32(p.Len), int32(p.Rank)
	if own {
		r.flags |= fOwn
	}
	if !p.Time.IsZero() {
		r.flags |= fTime
		r.sec, r.nsec = p.Time.Unix(), int32(p.Time.Nanosecond())
	}
	if p.Level == "WARNING" || p.Level == "INFO" || p.Level == "DEBUG" {
		r.flags |= fQuiet
	}
}

// again reports whether a line like this came before: its form may be learned.
func (w *worker) again(text []byte) bool {
	h := logformat.Hash(text)
	if s := &w.mutes[h%muteSize]; *s != h {
		*s = h
		return false
	}
	return true
}

// cutter finds line ends; it looks at each byte once.
type cutter struct {
	b      []byte
	nl, cr int // the next of each at or behind the last place asked for
}

// next finds where the line at `at` ends, where the next begins, and whether a
// \n ended it.
func (c *cutter) next(at int) (end, next int, nl bool) {
	if c.nl < at {
		c.nl = index(c.b, at, '\n')
	}
	if c.cr < at {
		c.cr = index(c.b, at, '\r')
	}
	if c.cr < c.nl {
		if c.cr+1 == c.nl && c.nl < len(c.b) { // \r\n
			return c.cr, c.nl + 1, true
		}
		return c.cr, c.cr + 1, false
	}
	if c.nl == len(c.b) {
		return c.nl, c.nl, false
	}
	return c.nl, c.nl + 1, true
}

func index(b []byte, at int, c byte) int {
	if i := bytes.IndexByte(b[at:], c); i >= 0 {
		return at + i
	}
	return len(b)
}

// sortHits puts hits in the order of the text; the worth of a hit does not
// depend on which literal found it first. They come nearly in this order.
func sortHits(hits []scan.Hit) {
	for i := 1; i < len(hits); i++ {
		h, j := hits[i], i
		for ; j > 0 && (hits[j-1].At > h.At || hits[j-1].At == h.At && hits[j-1].Pattern > h.Pattern); j-- {
			hits[j] = hits[j-1]
		}
		hits[j] = h
	}
}
