package logformat

import "bytes"

// beforeKey is what stands before the pair's key.
func beforeKey(b []byte, p *pair) []byte {
	if i := keyStart(b, p); i >= 0 {
		return b[:i]
	}
	return b[:p.at]
}

// throughKey is what stands before the pair's number, its key's own eval word
// included: "Epoch(val)".
func throughKey(b []byte, p *pair) []byte {
	if i := bytes.IndexByte(p.key, '('); i >= 0 {
		return b[:keyStart(b, p)+len(p.key)]
	}
	return beforeKey(b, p)
}

// denied reports whether the words before a counter show that it tells of
// something else than the step just done.
func denied(b []byte, p pair) bool {
	before := bytes.TrimRight(beforeKey(b, &p), " \t([:'\"=")
	w := lastWord(before)
	if len(w) == 0 || len(w) > 16 {
		return false
	}
	if deniedWords[string(lowered(w))] {
		return !containsFold(before, "loss")
	}
	return false
}

// deniedWords are what stands before a step that is not being reported as done.
var deniedWords = map[string]bool{
	"best": true, "from": true, "every": true, "until": true, "at": true, "in": true, "of": true, "after": true, "since": true,
	"warmup": true, "next": true, "last": true, "resume": true, "resuming": true, "resumed": true, "restored": true,
	"restoring": true, "checkpoint": true, "loading": true, "loaded": true, "saved": true, "saving": true, "per": true,
	"to": true, "on": true, "before": true, "max": true, "min": true, "num": true, "starting": true, "for": true, "by": true,
	"than": true, "total": true, "accumulation": true, "eval": true, "logging": true, "save": true, "skip": true, "skipping": true,
}

func lastWord(b []byte) []byte {
	i := len(b)
	for i > 0 && isAlpha(b[i-1]) {
		i--
	}
	return b[i:]
}

// lowered is the word in lower case. It is inlined, so that its bytes need not
// leave the caller's stack.
func lowered(w []byte) []byte {
	var buf [16]byte
	return lowerInto(buf[:0], w)
}

func lowerInto(buf, w []byte) []byte {
	for _, c := range w {
		if len(buf) == cap(buf) {
			break
		}
		buf = append(buf, lower(c))
	}
	return buf
}

func containsFold(b []byte, s string) bool { return indexFold(b, s) >= 0 }

// evalBefore reports whether the words before the last counter of a line name an
// evaluation; names of metrics among them do not ("val_loss 0.5", "val: 0.5").
func evalBefore(b []byte) bool {
	for i := 0; i < len(b); i++ {
		if !isAlpha(b[i]) {
			continue
		}
		j := i
		for j < len(b) && isWord(b[j]) {
			j++
		}
		if evalWord(b[i:j]) && (i == 0 || b[i-1] != '/' && b[i-1] != '.' && b[i-1] != '"' && b[i-1] != '\'') {
			next := skipSpace(b[j:])
			if len(next) == 0 || next[0] != '=' && next[0] != ':' && next[0] != '/' && next[0] != '.' && !isDigit(next[0]) && !hasFold(next, "loss") && !hasFold(next, "acc") {
				return true
			}
		}
		i = j
	}
	return false
}

// evalWords reports whether the words before a counter name an evaluation.
func evalWords(b []byte) bool {
	for i := 0; i < len(b); i++ {
		if !isAlpha(b[i]) {
			continue
		}
		j := i
		for j < len(b) && isAlpha(b[j]) {
			j++
		}
		if evalWord(b[i:j]) && (j == len(b) || b[j] != '/' && b[j] != '.') && (i == 0 || b[i-1] != '/' && b[i-1] != '.') {
			return true
		}
		i = j
	}
	return false
}

func evalWord(w []byte) bool {
	if len(w) < 3 || len(w) > 10 {
		return false
	}
	switch string(lowered(w)) {
	case "val", "valid", "validation", "validate", "validating", "eval", "evaluation", "evaluate", "evaluating",
		"test", "testing", "dev", "sanity", "predicting", "inference", "generating", "predict":
		return true
	}
	return false
}

// phaseOf is the phase that words name, or "".
func phaseOf(b []byte) Phase {
	switch {
	case evalWords(b):
		return PhaseEval
	}
	return ""
}

// opensLine reports whether nothing but a stamp and a few signs stand before a
// counter: then any named decimal beside it is a measurement.
func opensLine(before []byte) bool {
	before = bytes.TrimSuffix(before, []byte(`{"`)) // "__log__:{"epoch": 3, …"
	words := 0
	for i := 0; i < len(before); i++ {
		if isAlpha(before[i]) {
			from := i
			for i < len(before) && (isWord(before[i]) || before[i] == '.') {
				i++
			}
			if w := string(before[from:i]); w != "INFO" && w != "DEBUG" || i < len(before) && before[i] == ':' {
				words++
			}
		}
	}
	return words <= 1 || words <= 5 && bytes.LastIndexAny(before, ":|-]") >= len(before)-2
}

// looksLikeCode reports whether the line is source code, a command line or part
// of a traceback.
func looksLikeCode(b []byte) bool {
	s := skipSpace(b)
	for _, w := range codeStarts {
		if has(s, w) {
			return true
		}
	}
	for _, w := range codeParts {
		if contains(b, w) {
			return true
		}
	}
	return option(b)
}

// option reports whether the line has a long option, "--batch-size": two dashes
// alone divide a line ("Iter: 3/35 -- train_loss: 0.4", MONAI).
func option(b []byte) bool {
	for {
		i := bytes.Index(b, []byte(" --"))
		if i < 0 || i+3 >= len(b) {
			return false
		}
		if isAlpha(b[i+3]) {
			return true
		}
		b = b[i+3:]
	}
}

var codeStarts = []string{
	"# ", "#!", "//", "def ", "if ", "elif ", "for ", "class ", "return ", "import ", "from ", "print", "assert ", "while ",
	"with ", "@", "self.", "File \"", "+ ", "parser.", "raise ", "try:", "except", "else:", "lambda ", "async ", "yield ", "del ",
}

var codeParts = []string{"Namespace(", "dict(", "self.", " == ", "+= ", "-= ", "range(", "lambda ", "{step", "%d", "%s", ".format(", "f\"", "f'", ":.4f}", ").", "def "}
