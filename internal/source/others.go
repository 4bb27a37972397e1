package source

import (
	"fmt"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

// MaxOthers is how many other runs a source lists; there may be more than so many.
const MaxOthers = 100

const mostNamed = 5

// Others is the gap of a target in which several runs lie, of which the newest was
// read: names are those of the others, the newest first, ask is how to ask for
// the first of them.
func Others(tracker, read string, names []string, ask string) run.Gap {
	count, rest := fmt.Sprint(len(names)), len(names)-mostNamed
	if len(names) >= MaxOthers {
		count = fmt.Sprintf("%d or more", MaxOthers)
	}
	var listed []string
	for _, n := range names[:min(len(names), mostNamed)] {
		listed = append(listed, run.Name(n))
	}
	if rest > 0 {
		listed = append(listed, "…")
	}
	noun := "runs"
	if len(names) == 1 {
		noun = "run"
	}
	return run.Gap{
		What: fmt.Sprintf("%s more %s %s: %s", count, tracker, noun, strings.Join(listed, ", ")),
		Why:  "only the newest one was read: " + run.Name(read),
		Ask:  "if another one is meant, point at it: " + ask,
	}
}
