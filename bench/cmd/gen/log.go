package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
)

// spec says which log to write.
type spec struct {
	kind, format string
	size         int64
	seed         uint64
}

// kinds are the logs that can be written, in the order of the results.
var kinds = []struct {
	name  string
	write func(*log)
}{
	{"main", func(l *log) { l.bursts(mix{metrics: 60, talk: true}) }},
	{"metric95", func(l *log) { l.bursts(mix{metrics: 95}) }},
	{"longline", (*log).longLines},
	{"cr", (*log).carriageReturns},
	{"rank", func(l *log) { l.bursts(mix{metrics: 60, emit: (*log).putRanked}) }},
	{"pure", func(l *log) { l.bursts(mix{metrics: 100}) }},
	{"hits", func(l *log) {
		l.bursts(mix{metrics: 60, emit: func(l *log, s, end string) { l.put(s, end); l.putHits(same) }})
	}},
	{"quiet", func(l *log) {
		l.bursts(mix{metrics: 60, emit: func(l *log, s, end string) { l.put(s, end); l.putHits(rot13) }})
	}},
}

func kindNames() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

func write(w io.Writer, s spec) error {
	l := &log{w: bufio.NewWriterSize(w, 1<<20), size: s.size}
	l.r = rand.New(rand.NewPCG(s.seed, 7))
	if s.format != "" {
		for i, f := range formats {
			if f.name == s.format {
				l.only = &formats[i]
			}
		}
		if l.only == nil || s.kind != "pure" {
			return fmt.Errorf("no format %q of kind %q", s.format, s.kind)
		}
	}
	for _, k := range kinds {
		if k.name == s.kind {
			k.write(l)
			l.end()
			return l.w.Flush()
		}
	}
	return fmt.Errorf("no kind %q", s.kind)
}

// log is the file that is being written, and the run that writes it.
type log struct {
	run
	w       *bufio.Writer // keeps its first error for Flush
	n, size int64
	hits    int64
	only    *format
}

func (l *log) put(parts ...string) {
	for _, s := range parts {
		k, _ := l.w.WriteString(s)
		l.n += int64(k)
	}
}

// full leaves room for the failures at the end.
func (l *log) full() bool { return l.n >= l.size-5500 }

// mix says what bursts writes.
type mix struct {
	metrics int  // lines of a hundred that carry metrics
	talk    bool // the other lines often come in twos
	emit    func(l *log, s, end string)
}

// bursts writes some thousand lines of one format before the next, as programs do.
func (l *log) bursts(m mix) {
	if m.emit == nil {
		m.emit = func(l *log, s, end string) { l.put(s, end) }
	}
	f, left := &formats[0], 0
	for ; !l.full(); left-- {
		if left == 0 {
			f, left = &formats[l.r.IntN(len(formats))], 2000+l.r.IntN(4000)
			if l.only != nil {
				f = l.only
			}
		}
		if l.r.IntN(100) < m.metrics {
			m.emit(l, f.line(&l.run), f.end)
			continue
		}
		m.emit(l, l.other(), "\n")
		if m.talk && l.r.IntN(3) > 0 {
			m.emit(l, l.other(), "\n")
		}
	}
}

// putRanked writes the lines of s as a launcher does that names the rank.
func (l *log) putRanked(s, _ string) {
	rank := fmt.Sprintf("[rank%d]:", l.r.IntN(8))
	for line := range strings.SplitSeq(s, "\n") {
		l.put(rank, line, "\n")
	}
}

// bytesPerHit makes a million matching lines of half a gigabyte.
const bytesPerHit = 500

// putHits writes the matching lines that are due.
func (l *log) putHits(disguise func(string) string) {
	for l.hits < l.n/bytesPerHit {
		l.hits++
		l.put(disguise(l.hit()), "\n")
	}
}

func same(s string) string { return s }

// rot13 keeps the length and the shape of a line, and nothing that a signature knows.
func rot13(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return 'a' + (c-'a'+13)%26
		case c >= 'A' && c <= 'Z':
			return 'A' + (c-'A'+13)%26
		}
		return c
	}, s)
}

// carriageReturns writes progress bars, and a newline every 400,000 of them.
func (l *log) carriageReturns() {
	f := &formats[0]
	for k := 0; !l.full(); k++ {
		if k%400000 == 0 {
			l.put("\n")
			f = &bars()[l.r.IntN(len(bars()))]
		}
		l.put("\r", f.line(&l.run))
	}
	l.put("\n")
}

// longLines writes lines of 10 MB, a dumped tensor, between as much of common ones.
func (l *log) longLines() {
	raw := make([]byte, 1875000)
	for !l.full() {
		l.put("DEBUG batch dump: tensor([")
		for start := l.n; l.n-start < 5e6; {
			l.put(decimal(l.r.NormFloat64(), 4), ", ")
		}
		for i := range raw {
			raw[i] = byte(l.r.Uint32())
		}
		dump := base64.StdEncoding.EncodeToString(raw)
		l.put("]) raw=", dump, dump, "\n")
		for start := l.n; l.n-start < 1e7 && !l.full(); {
			if l.r.IntN(100) < 40 {
				l.put(l.other(), "\n")
				continue
			}
			f := &formats[l.r.IntN(len(formats))]
			l.put(f.line(&l.run), f.end)
		}
	}
}

// end writes how the run fails.
func (l *log) end() {
	for _, f := range failures {
		l.put(f, "\n")
		for range 3 {
			l.put(l.info(), "\n")
		}
	}
}
