package stalled

import (
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
)

// prompt is a question to a person at a terminal.
var prompt = regexp.MustCompile(`(?i)(enter your choice:|press (enter|any key|return)\b.*|\[y/n\][:?]?|\(y(es)?/n(o)?(/\[fingerprint\])?\)\??|password( for [^:]*)?:|passphrase[^:]*:|paste an api key[^:]*:|username( for [^:]*)?:|do you wish to (continue|run the custom code)\?.*|are you sure you want to continue connecting.*|overwrite\? .*)\s*$`)

// waitsForInput finds a log whose very last line is a question: nobody answers a
// program that runs detached.
func waitsForInput(f *casefile.File) []failure.Sighting {
	for _, s := range f.Logs() {
		if len(s.Tail) == 0 || completed(f) || failed(f) {
			continue
		}
		last := s.Tail[len(s.Tail)-1]
		if prompt.MatchString(strings.TrimRight(last.Text, " \t")) {
			return []failure.Sighting{sight(0.8, "waits-for-input", last, "The log ends with a question to a person at a terminal: the program waits for the answer.")}
		}
	}
	return nil
}
