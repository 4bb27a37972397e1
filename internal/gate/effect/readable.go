package effect

import (
	"slices"
	"strings"
	"unicode"

	"github.com/trainmedic/trainmedic/internal/gate"
)

// Bounds of a command that an agent gives: a person has to read it.
const (
	maxArgs    = 200
	maxCommand = 8 << 10
)

// readable refuses a command that a person could not read as it is.
func readable(a gate.Args) error {
	all := slices.Clone(a.Command)
	for k, v := range a.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") {
			return cannot("bad_arguments", "env: %.40q is no name of a variable", k)
		}
		all = append(all, k, v)
	}
	size := 0
	for _, s := range all {
		size += len(s)
		if i := strings.IndexFunc(s, func(r rune) bool {
			return !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar
		}); i >= 0 {
			return cannot("bad_arguments", "command: %.60q holds a character that cannot be seen; put such text into a file", s)
		}
	}
	switch {
	case len(a.Command) == 0 || a.Command[0] == "":
		return cannot("bad_arguments", "restart_with needs command: the whole command as a list of words")
	case len(all) > maxArgs || size > maxCommand:
		return cannot("bad_arguments", "command: %d words of %d bytes are more than a person reads; put them into a file", len(all), size)
	}
	return nil
}
