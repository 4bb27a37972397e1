package export

import (
	"cmp"
	"path"
	"regexp"
	"strings"
)

// Section is the output of one command of a terminal session. Its text has the
// line numbers of the file: the lines of the other sections are empty in it.
type Section struct {
	Kind        string
	Text        *Text
	First, Last int // lines of the output, counted from 1; the command stands before First
}

var (
	prompt   = regexp.MustCompile(`^\s*(?:\([\w.-]+\) ?)?(?:\$|\[?[\w.-]+@[\w.-]+[: ][^$#>]{0,80}[$#])\s+(\S.*)$`)
	commands = regexp.MustCompile(`(?:^|[\s|;&(/])(nvidia-smi|rocm-smi|py-spy|gdb|dmesg|journalctl|squeue|sacct|scontrol|seff|sinfo|kubectl|oc|df|free|ps|top|htop|ls|stat|find|tree|md5sum|sha256sum|cat|head|tail|less)(?:\s|$)`)
)

// kindOfCommand are the kinds of what commands print.
var kindOfCommand = map[string]string{
	"nvidia-smi": "nvidia-smi", "py-spy": "pyspy", "gdb": "gdb", "dmesg": "dmesg", "journalctl": "dmesg",
	"squeue": "slurm", "sacct": "slurm", "scontrol": "slurm", "seff": "slurm", "sinfo": "slurm", "kubectl": "pod", "oc": "pod",
	"df": "df", "free": "free", "ps": "ps", "top": "ps", "htop": "ps",
	"ls": "listing", "stat": "listing", "find": "listing", "tree": "listing", "md5sum": "listing", "sha256sum": "listing",
}

// Transcript splits a terminal session, "$ command" and its output by turns, into
// the outputs. It is nil for text that does not begin with a prompt or holds the
// output of no command that is known.
func Transcript(name, text string) []Section {
	t := NewText(name, text)
	var out []Section
	known, open := false, false
	for i, l := range t.Lines {
		m := prompt.FindStringSubmatch(l)
		switch {
		case m != nil:
			kind, file := commandKind(m[1])
			known = known || kind != "other"
			out, open = append(out, Section{Kind: kind, Text: &Text{Name: cmp.Or(file, name)}, First: i + 2, Last: i + 1}), true
		case strings.TrimSpace(l) == "":
		case open:
			out[len(out)-1].Last = i + 1
		default:
			return nil // it begins with something else
		}
	}
	if !known {
		return nil
	}
	kept := out[:0]
	for _, s := range out {
		if s.Last < s.First {
			continue
		}
		s.fill(t)
		kept = append(kept, s)
	}
	return kept
}

// fill gives a section its text and, where the command only shows a file, the
// kind of that file.
func (s *Section) fill(t *Text) {
	shown := s.Text.Name
	lines := make([]string, len(t.Lines))
	copy(lines[s.First-1:s.Last], t.Lines[s.First-1:s.Last])
	s.Text = &Text{Name: t.Name, Lines: lines, at: t.at}
	if s.Kind == "shown" {
		body := strings.Join(lines[s.First-1:s.Last], "\n")
		if s.Kind = Sniff(shown, body, int64(len(body))); s.Kind == "log" {
			s.Kind = "other"
		}
	}
}

// commandKind is the kind of what a command prints; "shown", with the name of the
// file, for one that prints a file.
func commandKind(command string) (kind, file string) {
	m := commands.FindStringSubmatch(command)
	if m == nil {
		return "other", ""
	}
	if k, ok := kindOfCommand[m[1]]; ok {
		return k, ""
	}
	words := strings.Fields(command[strings.Index(command, m[1]):])
	return "shown", path.Base(words[len(words)-1])
}
