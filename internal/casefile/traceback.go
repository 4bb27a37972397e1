package casefile

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
)

// Traceback is one Python exception with the frames that led to it.
type Traceback struct {
	Type    string // "ValueError", "torch.cuda.OutOfMemoryError"
	Message string // with continuation lines, joined by \n
	Frames  []Frame
	First   run.Ref // the line that opens it
	Ref     run.Ref // the exception's own line
	Rank    int
	Stream  *Stream
	At      time.Time
	Step    int64
	Order   int
	Earlier *Traceback // the exception that was being handled, or the direct cause
	Direct  bool       // "the direct cause", not "during handling"
	Later   *Traceback
	Known   *Event // the event of its exception line, if a sign knows it
	Context *Context
	// Handled says that the program expected it: the line before, or the logger's
	// level, tells that it was caught, retried, skipped or ignored.
	Handled     bool
	behind      bool // the line right behind it tells so
	ignored     bool // the interpreter itself ignored it, while it was shutting down
	end         int  // order of the exception's own line
	advances    int
	done        bool
	rich        bool
	notebook    string // the exception's name, where a notebook printed it first
	original    bool   // "Original Traceback": a worker's, inside the message of its parent's
	chain       bool   // what follows was raised while this one was being handled
	chainDirect bool
	depth       int    // how many came before it in its chain
	shape       string // of the program's own prefix before the mark
	lines       int
	after       int             // lines of the message so far
	text        strings.Builder // the message, when it has several lines
}

// Frame is one frame, outermost first.
type Frame struct {
	File string
	Line int
	Func string
	Code string
}

// String is "file:func: code".
func (f Frame) String() string { return f.File + ":" + f.Func + ": " + f.Code }

const (
	maxFrames     = 60
	maxTrace      = 400 // lines
	maxTracebacks = 400
	maxMessage    = 30 // lines
)

var (
	richFrame = regexp.MustCompile(`^\s*[│|]?\s*(\S+\.(?:py|pyx|pyi)):(\d+) in (\S+)`)
	// excLine is an exception's own line: a dotted name that ends like an exception, then a colon or the end.
	excLine = regexp.MustCompile(`^(?:\s*\x{2570}─+\x{256f})?((?:[A-Za-z_][\w]*\.)*[A-Z_a-z]\w*)(?::\s?(.*))?$`)
)

// TracebackRecovered reports whether the exception was survived: training went
// on after it, or the program had expected it and went on.
func (f *File) TracebackRecovered(t *Traceback) bool {
	if t.Stream.silent(t.Rank, t.end) {
		return t.ignored
	}
	return f.WentOn(t.Stream, t.Rank, t.advances, t.At) || f.survived(t)
}

// wentOnFor is how many lines a program must print after an exception that it
// announced as expected; fewer are what the end of a process prints.
const wentOnFor = 12

// survived reports whether the program handled the exception and went on: it had
// more to say, and no other exception of that rank ended it later.
func (f *File) survived(t *Traceback) bool {
	if t.ignored || f.relaunched(t.Stream, t.Ref.Line) || f.outdone(t.Stream) {
		return true
	}
	if !t.Handled {
		return false
	}
	if r := t.Stream.progressReader(t.Rank); r != nil && r.Advances > t.advances {
		return true
	}
	for _, o := range f.Tracebacks {
		if o.Stream == t.Stream && o.Rank == t.Rank && o.Order > t.Order && !o.Handled {
			return false
		}
	}
	more := t.Stream.orders - t.end
	return more > wentOnFor || t.behind && more > 2
}

// expected are the words with which a program announces an exception that it
// caught, on the line before the traceback or on its first line.
var expected = regexp.MustCompile(`(?i)(\bretry|retrying|will be retried|\bskipp(ed|ing)\b|\bignor(ed|ing)\b|non-fatal|falling back|fits failed with the following|\bcontinuing\b|attempt \d+ (of|/) ?\d+ failed|\btrial \S+ failed with (parameters|value))`)

// InFrames reports whether a frame matches.
func (t *Traceback) InFrames(re *regexp.Regexp) bool {
	for _, fr := range t.Frames {
		if re.MatchString(fr.String()) {
			return true
		}
	}
	return false
}

// Innermost is the last frame, where it was raised.
func (t *Traceback) Innermost() (Frame, bool) {
	if len(t.Frames) == 0 {
		return Frame{}, false
	}
	return t.Frames[len(t.Frames)-1], true
}

// Root is the first exception of the chain that this one ends.
func (t *Traceback) Root() *Traceback {
	for t.Earlier != nil {
		t = t.Earlier
	}
	return t
}

// feed takes the next line of the traceback's rank and reports whether the line
// belongs to it. done becomes true with the exception's own line.
func (t *Traceback) feed(line string, ref run.Ref) bool {
	t.lines++
	if t.lines > maxTrace {
		return false
	}
	line = t.cutShape(line)
	switch {
	case t.rich:
		return t.feedRich(line, ref)
	case t.notebook != "":
		return t.feedNotebook(line, ref)
	}
	if fr, ok := readFrame(line); ok {
		t.addFrame(fr)
		return true
	}
	trimmed := strings.TrimLeft(line, " \t|+")
	if trimmed == "" {
		return !t.hasCode() || t.lines < 3
	}
	if line[0] == ' ' || line[0] == '\t' || strings.HasPrefix(line, "  |") {
		t.addCode(trimmed)
		return true
	}
	return t.close(line, ref)
}

// readFrame reads a frame's line: `  File "train.py", line 7, in main`.
func readFrame(line string) (fr Frame, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(line, " \t\n\f\r"), `File "`)
	if !ok {
		return fr, false
	}
	file, rest, ok := strings.Cut(rest, `"`)
	rest, told := strings.CutPrefix(rest, ", line ")
	n := 0
	for n < len(rest) && rest[n]-'0' < 10 {
		n++
	}
	if !ok || !told || file == "" || n == 0 {
		return fr, false
	}
	fr.File = file
	fr.Line, _ = strconv.Atoi(rest[:n])
	fr.Func, _ = strings.CutPrefix(rest[n:], ", in ")
	if len(fr.Func) == len(rest[n:]) {
		fr.Func = ""
	}
	return fr, true
}

func (t *Traceback) hasCode() bool { return len(t.Frames) > 0 && t.Frames[len(t.Frames)-1].Code != "" }

func (t *Traceback) addCode(code string) {
	if n := len(t.Frames); n > 0 && t.Frames[n-1].Code == "" && strings.Trim(code, "^~ ") != "" {
		t.Frames[n-1].Code = clip(code, 200)
	}
}

func (t *Traceback) addFrame(fr Frame) {
	if len(t.Frames) >= maxFrames { // keep the outermost few and the innermost
		copy(t.Frames[10:], t.Frames[11:])
		t.Frames = t.Frames[:maxFrames-1]
	}
	t.Frames = append(t.Frames, fr)
}

func (t *Traceback) feedRich(line string, ref run.Ref) bool {
	if m := richFrame.FindStringSubmatch(line); m != nil {
		n, _ := strconv.Atoi(m[2])
		t.addFrame(Frame{File: m[1], Line: n, Func: strings.TrimRight(m[3], "│ ")})
		return true
	}
	s := strings.TrimSpace(line)
	switch {
	case s == "":
		return true
	case strings.HasPrefix(s, "│"):
		if _, after, ok := strings.Cut(s, "❱"); ok {
			code := strings.TrimLeft(strings.Trim(after, "│ "), "0123456789 ")
			t.addCode(strings.TrimSpace(strings.TrimLeft(code, "│ ")))
		}
		return true
	case strings.HasPrefix(s, "╰"), strings.HasPrefix(s, "╭"):
		return true
	}
	return t.close(s, ref)
}

// close takes the exception's own line.
func (t *Traceback) close(line string, ref run.Ref) bool {
	m := excLine.FindStringSubmatch(strings.TrimRight(line, " \r"))
	if m == nil || !exceptionName(m[1], m[2] != "" || strings.HasSuffix(strings.TrimSpace(line), ":")) {
		return false
	}
	t.Type, t.Message, t.Ref, t.done = m[1], clip(m[2], maxText), ref, true
	return true
}

// exceptionName tells an exception's name from a word of the log.
func exceptionName(name string, colon bool) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	for _, end := range []string{"Error", "Exception", "Interrupt", "Exit", "Warning", "Failure", "Fault", "Timeout", "NotFound", "Denied", "Iteration", "Expired", "Stop", "Abort", "Aborted", "Cancelled", "Exceeded", "Unavailable"} {
		if strings.HasSuffix(last, end) {
			return true
		}
	}
	return strings.Contains(name, ".") || colon && last != "" && last[0] >= 'A' && last[0] <= 'Z'
}

// more takes a continuation line of the message and reports whether it is one.
func (t *Traceback) more(line string) bool {
	if t.after >= maxMessage || len(t.Message) > maxText {
		return false
	}
	line = t.cutShape(line)
	t.after++
	if t.text.Len() == 0 {
		t.text.WriteString(t.Message)
	}
	t.text.WriteByte('\n')
	t.text.WriteString(clip(line, 400))
	t.Message = t.text.String()
	return true
}

// cutShape cuts the program's own prefix, where every line of the traceback
// carries one of the same shape ("2024-01-01 10:00:00 ERROR ").
func (t *Traceback) cutShape(line string) string {
	if t.shape == "" || len(line) < len(t.shape) || shapeOf(line[:len(t.shape)]) != t.shape {
		return line
	}
	return line[len(t.shape):]
}

// shapeOf turns digits into 0, so that time stamps compare.
func shapeOf(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= '0' && c <= '9' {
			b[i] = '0'
		}
	}
	return string(b)
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
