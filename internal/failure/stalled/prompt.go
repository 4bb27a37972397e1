package stalled

import (
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
)

// prompt is a question to a person at a terminal.
var prompt = regexp.MustCompile(`(?i)(^\(i?pdb\+*\)|^ipdb>|start training by pressing the play button.*|enter your choice:|press (enter|any key|return)\b.*|\[y/n\][:?]?|\(y(es)?/n(o)?(/\[fingerprint\])?\)\??|password( for [^:]*)?:|passphrase[^:]*:|paste an api key[^:]*:|username( for [^:]*)?:|do you wish to (continue|run the custom code)\?.*|are you sure you want to continue connecting.*|overwrite\? .*|\[y/n/\w\]\??|\[(?:yes/no|y|n|yes|no)\][:?]?|\(\[?[yn]\]?/\[?[yn]\]?\)\s*[:?]?|\(yes/no\)\s*[:?]?|\(pdb\)|^ipdb>|(enter|type|input|provide|choose|select) (your |the |a |an |one |any )?[\w .\x27-]{2,40}(\([^)]*\))?:|(do you want to|would you like to|are you sure you want to|shall i|should i) [^?]{3,80}\?( \S{1,12})?|which [\w ]{3,50}\?|verification code:|(hf_|api )?token:)\s*$`)

// waitsForInput finds a log whose very last line is a question: nobody answers a
// program that runs detached.
func waitsForInput(f *casefile.File) []failure.Sighting {
	for _, s := range f.Logs() {
		if len(s.Tail) == 0 || completed(f) || failed(f) {
			continue
		}
		for _, l := range s.Tail[max(0, len(s.Tail)-8):] { // a scheduler may have had the last word
			if prompt.MatchString(strings.TrimRight(l.Text, " \t")) && !answered(s, l) {
				return []failure.Sighting{sight(0.85, "waits-for-input", l, "The log ends with a question to a person at a terminal: the program waits for the answer.")}
			}
		}
	}
	return nil
}

// answered reports whether the program said more after a question than what a
// scheduler says when it ends a job.
func answered(s *casefile.Stream, l casefile.Line) bool {
	for _, o := range s.Tail {
		if o.Ref.Line > l.Ref.Line && !strings.Contains(o.Text, "CANCELLED") && !strings.Contains(o.Text, "error: ") && !strings.Contains(o.Text, "srun: ") && strings.TrimSpace(o.Text) != "Terminated" {
			return true
		}
	}
	return false
}
