package file

import (
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/tail"
)

// state is where the following of a log stands; its String is View.Next.
type state struct {
	cur tail.Cursor // in the file that has the log's name
	// old is where the file that had the name before stands; a process goes on
	// writing to what it opened, whatever the name of it. The zero Cursor when there
	// is none, or when it stopped growing.
	old  tail.Cursor
	told bool // that the file is gone, or that its growth cannot be followed
}

// String is the form that parseState reads.
func (s state) String() string {
	told := ""
	if s.told {
		told = "told"
	}
	if s.old == (tail.Cursor{}) && !s.told {
		return s.cur.String()
	}
	return s.cur.String() + "\t" + s.old.String() + "\t" + told
}

// parseState reads what String wrote; anything else is the zero state.
func parseState(text string) (s state) {
	f := strings.SplitN(text, "\t", 3)
	s.cur = tail.ParseCursor(f[0])
	if len(f) == 3 {
		s.old, s.told = tail.ParseCursor(f[1]), f[2] == "told"
	}
	return s
}

// Followed reports whether a value of a cursor is the Next of a View.
func Followed(next string) bool { return parseState(next) != state{} }

// Idents are the identities of the files that a Next stands in.
func Idents(next string) (out []string) {
	s := parseState(next)
	for _, c := range []tail.Cursor{s.cur, s.old} {
		if c.Ident != "" {
			out = append(out, c.Ident)
		}
	}
	return out
}

// Held tells which of the files of a look hold what was followed under another
// name: the parts that a rotation moved. idents has the identity of each file;
// the result has, for each such file, the Next that it has if nobody reads on in
// it. Whoever looks at the name under which it was followed reads what is left.
func Held(since run.Cursor, idents map[string]string) map[string]string {
	moved := map[string]tail.Cursor{} // by identity: where the following stands
	for name, next := range since {
		s := parseState(next)
		for _, c := range []tail.Cursor{s.cur, s.old} {
			if c.Ident != "" && c.Ident != "-" && idents[name] != c.Ident && c.Given >= moved[c.Ident].Given {
				moved[c.Ident] = c
			}
		}
	}
	held := map[string]string{}
	for name, ident := range idents {
		if c, ok := moved[ident]; ok {
			held[name] = state{cur: c}.String()
		}
	}
	return held
}
