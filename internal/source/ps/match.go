package ps

import (
	"path"
	"slices"
	"strings"
)

// How well a command line matches what was asked for; the best matches of all
// count.
const (
	NoMatch   = iota
	Inside    // it is a part of the command line
	Words     // it is words of the command line, with or without their folders
	WholeLine // it is the command line
)

// Match says how well a command line matches a name: "train.py" is
// /home/me/train.py, too.
func Match(args []string, name string) int {
	line, name := strings.Join(args, " "), strings.Join(strings.Fields(name), " ")
	if line == name {
		return WholeLine
	}
	want := strings.Fields(name)
	for i := 0; i+len(want) <= len(args); i++ {
		if slices.EqualFunc(args[i:i+len(want)], want, func(arg, w string) bool { return arg == w || path.Base(arg) == w }) {
			return Words
		}
	}
	if strings.Contains(line, name) {
		return Inside
	}
	return NoMatch
}

// Onlooker reports whether a program only looks at a run that its arguments name.
func Onlooker(program string) bool { return onlookers[path.Base(program)] }

var onlookers = map[string]bool{
	"vi": true, "vim": true, "nvim": true, "nano": true, "emacs": true, "less": true, "more": true, "cat": true, "tail": true, "head": true,
	"grep": true, "pgrep": true, "rg": true, "watch": true, "tee": true, "ssh": true, "sshd:": true, "scp": true, "rsync": true, "tmux": true, "tmux:": true,
	"screen": true, "SCREEN": true, "htop": true, "top": true, "ps": true, "git": true, "code": true, "py-spy": true, "gdb": true, "strace": true,
}
