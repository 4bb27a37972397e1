package ssh

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/trainmedic/trainmedic/internal/remote"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/file"
	"github.com/trainmedic/trainmedic/internal/tail"
)

// Bounds of what is brought of a log. One that is larger than maxWhole is not
// read through: its head, its tail, and what lies around the lines that the
// failures' words occur in.
const (
	maxWhole   = 1 << 30
	headPart   = 4 << 20
	tailPart   = 32 << 20
	beforeHit  = 32 << 10
	afterHit   = 64 << 10
	maxHits    = 400 // places; half of them the first ones, half the last ones
	searchTime = 10 * time.Minute
)

// hit is where a line begins that one of the words occurs in.
type hit struct {
	line int
	off  int64
}

// Lines counts the line ends before a place, where the file lies.
func (o *opened) Lines(end int64) (int, error) {
	if o.disk.complete(o.name, o.info) || end < window {
		return tail.CountLines(o, end)
	}
	a, err := o.disk.ask(o.ctx, remote.Script{Text: script("head -c @end -- @file | wc -l", "@end", strconv.FormatInt(end, 10), "@file", o.disk.path(o.name)), Patience: searchTime, Long: true})
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(a.Out)))
	if err != nil {
		return 0, fmt.Errorf("ssh: wc says %.80q", a.Out)
	}
	return n, nil
}

// Excerpt implements file.Excerpted.
func (o *opened) Excerpt() (*file.Excerpt, error) {
	size := o.info.size
	if size <= o.disk.most {
		return nil, nil
	}
	lines, err := o.Lines(size)
	if err != nil {
		return nil, err
	}
	hits, more, err := o.search()
	if err != nil {
		return nil, err
	}
	parts := partsOf(hits, size)
	brought := int64(0)
	for _, p := range parts {
		brought += p.to - p.from
	}
	why := fmt.Sprintf("it has %.1f GB and lies on another machine, so only its head, its tail and what lies around %d places with words of failures were read (%d MB)",
		float64(size)/(1<<30), len(hits), brought>>20)
	switch {
	case hits == nil:
		why += "; its words could not be searched there (grep -b is missing or took too long)"
	case more:
		why += "; there are more such places"
	}
	return &file.Excerpt{
		End: size, Lines: lines,
		Gap: run.Gap{What: "the middle of " + o.name, Why: why, Ask: "a check of the whole log on that host, or of the part that matters as a smaller file"},
		Open: func(ctx context.Context) (io.ReadCloser, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r := &excerpt{from: o.disk.open(o.name, o.info), parts: parts, lines: lines}
			r.stop = context.AfterFunc(ctx, func() { _ = r.from.Close() })
			return r, nil
		},
	}, nil
}

// search asks the host for the lines in which words of failures occur, one of
// each stretch; nil when that cannot be done there.
func (o *opened) search() (hits []hit, more bool, err error) {
	if o.disk.opt.Words == nil {
		return nil, false, nil
	}
	var words strings.Builder
	for _, l := range o.disk.opt.Words() {
		if l != "" && !strings.ContainsAny(l, "\n\r\x00") {
			words.WriteString(l + "\n")
		}
	}
	if words.Len() == 0 {
		return nil, false, nil
	}
	text := script(`echo words | grep -abF words >/dev/null 2>&1 || { echo none; exit 0; }
{ grep -anbiF -f /dev/stdin -- @file; [ $? -le 1 ] || echo failed; } <<'@mark' | awk -F: '$1 == "failed" { print; next } n == 0 || $2 - last > @gap { print $1 ":" $2; last = $2; n++ }'
@words@mark
echo end`, "@file", o.disk.path(o.name), "@mark", o.disk.mark, "@gap", strconv.Itoa(afterHit-beforeHit), "@words", words.String())
	a, err := o.disk.ask(o.ctx, remote.Script{Text: text, Patience: searchTime, Long: true, Most: 8 << 20, Pack: true})
	if err != nil {
		return nil, false, err
	}
	said := strings.TrimSuffix(string(a.Out), "end\n")
	if said == string(a.Out) {
		return nil, false, nil
	}
	if hits = []hit{}; strings.HasPrefix(said, "failed") {
		return nil, false, nil
	}
	for l := range strings.Lines(said) {
		line, off, _ := strings.Cut(strings.TrimSpace(l), ":")
		n, err := strconv.Atoi(line)
		at, err2 := strconv.ParseInt(off, 10, 64)
		if err == nil && err2 == nil && at < o.info.size {
			hits = append(hits, hit{n, at})
		}
		more = more || line == "failed"
	}
	if len(hits) > maxHits {
		return slices.Concat(hits[:maxHits/2], hits[len(hits)-maxHits/2:]), true, nil
	}
	return hits, more, nil
}

// part is a stretch of the file that is read, with what tells its line numbers:
// a hit in it, or that it begins or ends the file.
type part struct {
	from, to int64
	hit      hit
}

// partsOf lays the stretches in order; none overlap.
func partsOf(hits []hit, size int64) []part {
	parts := []part{{0, min(headPart, size), hit{1, 0}}}
	end := max(headPart, size-tailPart)
	for _, h := range hits {
		last := &parts[len(parts)-1]
		from, to := max(h.off-beforeHit, last.to), min(h.off+afterHit, end)
		switch {
		case h.off < last.to || h.off >= end || from >= to:
		default:
			parts = append(parts, part{from, to, h})
		}
	}
	return append(parts, part{end, size, hit{0, size}})
}

// excerpt reads the parts one behind the other, each from its first whole line
// to its last.
type excerpt struct {
	from  *opened
	parts []part
	lines int // of the whole file
	stop  func() bool
	rest  []byte

	mu       sync.Mutex
	segments []segment
	local    int // lines given so far
}

// segment is a part as it was given.
type segment struct {
	local  int // how many lines were given before it
	line   int // the number of its first line in the file
	starts []int64
}

// Read implements io.Reader.
func (e *excerpt) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		if len(e.parts) == 0 {
			return 0, io.EOF
		}
		if err := e.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// next fetches a part and numbers its lines.
func (e *excerpt) next() error {
	p := e.parts[0]
	b := make([]byte, p.to-p.from)
	if n, err := e.from.ReadAt(b, p.from); n < len(b) {
		return err
	}
	last := len(e.parts) == 1
	e.parts = e.parts[1:]
	if p.from > 0 {
		cut := bytes.IndexByte(b, '\n') + 1
		b, p.from = b[cut:], p.from+int64(cut)
	}
	line := e.lines + 1 - bytes.Count(b, []byte("\n"))
	if !last {
		b = b[:bytes.LastIndexByte(b, '\n')+1]
		line = p.hit.line - bytes.Count(b[:max(0, min(p.hit.off-p.from, int64(len(b))))], []byte("\n"))
	}
	s := segment{local: e.local, line: line}
	for at := 0; at < len(b); {
		s.starts = append(s.starts, p.from+int64(at))
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.local += len(s.starts)
	e.segments = append(e.segments, s)
	e.rest = b
	return nil
}

// Origin is where a line of the excerpt, counted from 1, stands in the file.
func (e *excerpt) Origin(line int) run.Ref {
	e.mu.Lock()
	defer e.mu.Unlock()
	ref := run.Ref{File: e.from.name}
	for i := len(e.segments) - 1; i >= 0; i-- {
		s := &e.segments[i]
		if n := line - 1 - s.local; n >= 0 && len(s.starts) > 0 {
			n = min(n, len(s.starts)-1)
			ref.Line, ref.Offset = s.line+n, s.starts[n]
			break
		}
	}
	return ref
}

// Close implements io.Closer.
func (e *excerpt) Close() error {
	e.stop()
	return e.from.Close()
}
