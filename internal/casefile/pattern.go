package casefile

import (
	"regexp"
	"sync"
)

// Pattern is a regexp that is compiled when it is first asked: most of the
// book's never are. It is safe for concurrent use.
type Pattern struct {
	src  string
	once sync.Once
	re   *regexp.Regexp
}

// NewPattern returns nil for no pattern. A source that does not compile is a
// mistake in the book, which its proof finds; Regexp panics on it.
func NewPattern(src string) *Pattern {
	if src == "" {
		return nil
	}
	return &Pattern{src: src}
}

// Regexp is the compiled pattern.
func (p *Pattern) Regexp() *regexp.Regexp {
	p.once.Do(func() { p.re = regexp.MustCompile(p.src) })
	return p.re
}
