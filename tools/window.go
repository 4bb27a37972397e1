package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/run"
)

// position is where a reading of a log goes on; clients see it as an opaque text.
type position struct {
	File   string `json:"f"`
	Offset int64  `json:"o"`
	Line   int    `json:"l"` // the number of the line at Offset
}

func (p position) String() string { return base64.RawURLEncoding.EncodeToString(mustJSON(p)) }

func parseCursor(s string) (position, error) {
	var p position
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || p.Offset < 0 || p.Line < 0 {
		return p, &badArgument{"cursor: not one that tail_log gave", "Leave cursor out to get the last lines and a new cursor."}
	}
	return p, nil
}

func cursorAt(l LogLine) position { return position{l.File, l.ByteOffset, l.Line} }

// window picks the wanted lines out of a log that is read once, from the start
// or from a cursor, through bounded memory.
type window struct {
	max    int
	around int
	match  *regexp.Regexp
	from   position // where to begin; the zero value means: the last lines

	name  string
	lines []LogLine // at most 2*max between trims
	next  position
	full  bool // since a cursor: there is more
	out   *LogLines
}

func (w *window) read(ctx context.Context, st *run.Stream) error {
	rc, err := st.Open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if rc != nil {
			rc.Close()
		}
	}()
	w.name, w.next = st.Name, position{st.Name, st.Offset, max(st.FirstLine, 1)}
	there, err := w.skip(rc)
	if err == nil && !there { // the log has become shorter: from its start
		rc.Close()
		rc, err = st.Open(ctx)
	}
	if err != nil {
		return err
	}
	return w.scan(ctx, bufio.NewReaderSize(rc, 256<<10))
}

// skip goes to the cursor and reports whether it is there.
func (w *window) skip(r io.Reader) (bool, error) {
	n := w.from.Offset - w.next.Offset
	if w.from.File != w.name || n <= 0 {
		return true, nil
	}
	skipped, err := io.CopyN(io.Discard, r, n)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if skipped == n {
		w.next = w.from
	}
	return skipped == n, nil
}

func (w *window) scan(ctx context.Context, r *bufio.Reader) error {
	for !w.full {
		if (w.match != nil || w.next.Line%4096 == 0) && ctx.Err() != nil { // one line may take an expression long
			return ctx.Err()
		}
		text, n, err := nextLine(r)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) // the latter: a compressed log was cut
		if err != nil && !ended {
			return err
		}
		if n > 0 {
			w.take(text, !ended)
		}
		if ended { // a last line without its end stays behind the cursor
			return nil
		}
		if !w.full {
			w.next.Offset += n
			w.next.Line++
		}
	}
	return nil
}

// take looks at one line; whole says that its end was there.
func (w *window) take(text []byte, whole bool) {
	s := redact.Clean(string(lastState(text)))
	if w.match != nil && !w.match.MatchString(s) {
		return
	}
	line := w.next.Line
	if w.around > 0 {
		before := w.max / 2
		if line < w.around-before {
			return
		}
		if line > w.around+(w.max-before-1) {
			w.full = true
			return
		}
	}
	if len(s) > maxKept { // far behind what is shown, so that no secret is cut before it is seen as one
		s = strings.Clone(s[:maxKept])
	}
	if n := len(w.lines); n > 0 && w.lines[n-1].Text == s && whole {
		w.lines[n-1].Repeats++
		return
	}
	if w.from.File != "" && len(w.lines) == w.max {
		w.full = true
		return
	}
	w.lines = append(w.lines, LogLine{File: w.name, Line: line, ByteOffset: w.next.Offset, Text: s, Repeats: 1})
	if len(w.lines) >= 2*w.max {
		w.lines = append(w.lines[:0], w.lines[len(w.lines)-w.max:]...)
	}
}

// result redacts and cuts the lines that are left.
func (w *window) result() *LogLines {
	lines := w.lines
	if len(lines) > w.max {
		lines = lines[len(lines)-w.max:]
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = redact.Ahead(l.Text, maxLineText)
	}
	w.out = &LogLines{Lines: []LogLine{}, Cursor: w.next.String(), AtEnd: !w.full, Cut: noCut()}
	for i, t := range redact.Lines(texts) {
		l := lines[i]
		l.File, l.Text = redact.Clip(l.File, maxLineText), redact.Clip(t, maxLineText)
		w.out.Lines = append(w.out.Lines, l)
	}
	return w.out
}

// maxKept is how many bytes of a line wait until it is known which lines are given.
const maxKept = 8 * maxLineText

// maxLine is how many bytes of one line are kept.
const maxLine = 64 << 10

// nextLine reads one line, without its end, and its length in the file. Of a
// long line it keeps the state after the last carriage return, and at most
// maxLine bytes.
func nextLine(r *bufio.Reader) (text []byte, n int64, err error) {
	for {
		part, err := r.ReadSlice('\n')
		n += int64(len(part))
		if i := bytes.LastIndexByte(bytes.TrimRight(part, "\r\n"), '\r'); i >= 0 {
			text, part = text[:0], part[i+1:]
		}
		text = append(text, part[:min(len(part), max(maxLine-len(text), 0))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(text, "\r\n"), n, err
		}
	}
}

// lastState is what a terminal would show of a line with carriage returns.
func lastState(text []byte) []byte {
	text = bytes.TrimRight(text, "\r")
	return text[bytes.LastIndexByte(text, '\r')+1:]
}
