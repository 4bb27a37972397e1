package artifacts

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/tail"
)

// Bounds of what is read whole.
const (
	maxConfig   = 2 << 20
	maxResource = 16 << 20
	maxSample   = 64 << 20  // of a sample of the data
	maxLines    = 1_000_000 // of a text that is taken apart by lines
	maxWhole    = 512 << 20 // of all files of a look together
	maxFacts    = 2000
)

// head is the first bytes of a file, decoded.
func (l *look) head(e entry) (string, error) {
	f, err := l.open(e.name)()
	if err != nil {
		return "", err
	}
	defer f.Close()
	d := tail.NewReader(f, e.name)
	defer d.Close()
	b := make([]byte, 4096)
	n, _ := io.ReadFull(d, b)
	return string(b[:n]), nil
}

// text is a whole small file, decoded. A file that is larger than limit is a
// gap: half a document would be read wrongly.
func (l *look) text(e entry, limit int64) (string, bool) {
	f, err := l.open(e.name)()
	if err != nil {
		l.unreadable(e.name, err)
		return "", false
	}
	defer f.Close()
	d := tail.NewReader(f, e.name)
	defer d.Close()
	var b strings.Builder
	b.Grow(int(min(max(e.size, 0), limit)) + 1)
	n, err := io.Copy(&b, io.LimitReader(d, limit+1))
	if err != nil {
		l.gap(e.name, err.Error(), "an undamaged copy of "+run.Name(e.name))
	}
	l.whole += n
	why := ""
	switch {
	case n > limit:
		why = fmt.Sprintf("is larger than %d MB and was not read as a whole", limit>>20)
	case l.whole > maxWhole:
		why = fmt.Sprintf("was not read: the files before it that are read whole have more than %d MB together", maxWhole>>20)
	case strings.Count(b.String(), "\n") > maxLines:
		why = fmt.Sprintf("has more than %d lines and was not read as a whole", maxLines)
	}
	if why != "" {
		l.gap(e.name, why, "the part of it that matters, as a smaller file")
		return "", false
	}
	return b.String(), true
}

// rows reads a CSV file row by row, until each reports false. The header counts as
// none; at is where the row begins. Of a file that is larger than limit the rest is
// a gap.
func (l *look) rows(e entry, limit int64, each func(header, row []string, at run.Ref) bool) {
	f, err := l.open(e.name)()
	if err != nil {
		l.unreadable(e.name, err)
		return
	}
	defer f.Close()
	d := tail.NewReader(f, e.name)
	defer d.Close()
	in := &io.LimitedReader{R: d, N: limit}
	begins := &starts{r: in, first: 1, at: []int64{0}}
	r := csv.NewReader(begins)
	r.FieldsPerRecord, r.TrimLeadingSpace, r.LazyQuotes = -1, true, true
	if strings.HasSuffix(e.name, ".tsv") {
		r.Comma = '\t'
	}
	header, err := r.Read()
	if err != nil {
		return
	}
	for err == nil && l.ctx.Err() == nil {
		var row []string
		if row, err = r.Read(); err != nil {
			break
		}
		line, _ := r.FieldPos(0)
		if !each(header, row, run.Ref{File: e.name, Line: line, Offset: begins.of(line)}) {
			return
		}
	}
	switch {
	case in.N <= 0:
		l.gap("the rest of "+e.name, fmt.Sprintf("it is larger than %d MB", limit>>20), "the part of it that matters, as a smaller file")
	case err != nil && !errors.Is(err, io.EOF):
		l.gap("the rest of "+e.name, err.Error(), "an undamaged copy of "+e.name)
	}
}

// starts knows where the newest lines of what is read through it begin.
type starts struct {
	r     io.Reader
	n     int64
	first int     // the line of at[0], counted from 1
	at    []int64 // where it and those after it begin
}

// Read implements io.Reader.
func (s *starts) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			s.at = append(s.at, s.n+int64(i)+1)
		}
	}
	s.n += int64(n)
	if over := len(s.at) - maxLines; over > 0 {
		s.drop(over)
	}
	return n, err
}

func (s *starts) drop(n int) { s.first, s.at = s.first+n, s.at[n:] }

// of is where a line, counted from 1, begins; 0 when it is not known any more. No
// line before it is asked for again.
func (s *starts) of(line int) int64 {
	i := line - s.first
	if i < 0 || i >= len(s.at) {
		return 0
	}
	s.drop(i)
	return s.at[0]
}
