package casefile

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

// Notebooks print a traceback in their own form: the exception's name before the
// mark, frames without indent, numbered code with an arrow, and the exception's
// own line at the end.
var (
	notebookHead  = regexp.MustCompile(`^\s*([A-Za-z_][\w.]*)\s{2,}$`)
	notebookFrame = regexp.MustCompile(`^(?:File )?([~/][^\s:()]+|[A-Za-z]:\\[^\s:()]+|<ipython-input[^>]*>|Cell In\s?\[\d+\])(?:(?::(\d+))?,? in (\S.*)|, line (\d+))$`)
	notebookCode  = regexp.MustCompile(`^-+> *(\d+) (.*)$`)
)

// notebook is the exception's name if what stands before the mark is no more
// than that, else "".
func notebook(before string) string {
	m := notebookHead.FindStringSubmatch(before)
	if m == nil || !exceptionName(m[1], false) {
		return ""
	}
	return m[1]
}

// feedNotebook takes the next line of a notebook's traceback.
func (t *Traceback) feedNotebook(line string, ref run.Ref) bool {
	if rest, ok := strings.CutPrefix(line, t.notebook); ok && (rest == "" || rest[0] == ':') {
		return t.close(line, ref)
	}
	if m := notebookFrame.FindStringSubmatch(strings.TrimRight(line, " ")); m != nil {
		n, _ := strconv.Atoi(m[2] + m[4])
		name, _, _ := strings.Cut(m[3], "(")
		t.addFrame(Frame{File: m[1], Line: n, Func: name})
		return true
	}
	if m := notebookCode.FindStringSubmatch(line); m != nil && len(t.Frames) > 0 {
		f := &t.Frames[len(t.Frames)-1]
		if f.Line == 0 {
			f.Line, _ = strconv.Atoi(m[1])
		}
		t.addCode(strings.TrimSpace(m[2]))
	}
	return true
}
