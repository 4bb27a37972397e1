package logformat

import "bytes"

const maxValues = 40

// add keeps one value of the line; of two of one name the first counts.
func (r *Reader) add(name string, v float64) {
	if len(r.values) < maxValues && !hasValue(r.values, name) {
		r.sources[len(r.values)] = r.pairAt
		r.values = append(r.values, Value{name, v})
	}
}

// keepValues keeps the values for the lesson, under the names they have in the line.
func (r *Reader) keepValues() { r.lessonValues = append(r.lessonValues[:0], r.values...) }

func hasValue(vs []Value, name string) bool {
	for i := range vs {
		if vs[i].Name == name {
			return true
		}
	}
	return false
}

func isEval(name string) bool { return has([]byte(name), "eval_") }

// metric is the canonical name of the pair, or "". A phrase is tried before its
// last word: "lm loss", "grad norm", "Validation loss".
func (r *Reader) metric(b []byte, p *pair) string {
	k := r.known(p.key)
	if w := phrase(b, p, 2); w != nil {
		if n := r.known(w).name; n != "" {
			return n
		}
		if k.name != "" && lastWords[string(lowered(p.key))] && !neutral(w) {
			return ""
		}
	}
	if p.sep == ' ' && p.int && k.role != notCounter {
		return ""
	}
	n := k.name
	if n == "lr" && p.val > 1e3 || n != "" && p.unit && !rate(n) {
		return ""
	}
	return n
}

func rate(n string) bool {
	return n == "tokens_per_second" || n == "samples_per_second" || n == "steps_per_second"
}

// lastWords are names that mean something else after an adjective: "D loss",
// "weight norm".
var lastWords = map[string]bool{"loss": true, "norm": true, "grad": true, "accuracy": true, "acc": true}

// unitRate is the rate whose unit follows the number: "239.65 samples/sec". A
// named number has a name before it, which may be a rate itself.
func unitRate(b []byte, p *pair, named bool) string {
	if named && p.sep == ' ' && canonical(p.key) != "" || p.end >= len(b) || b[p.end] != ' ' || ownUnit(b, p) {
		return ""
	}
	w := b[p.end+1:]
	i := 0
	for i < len(w) && (isAlpha(w[i]) || w[i] == '/') {
		i++
	}
	if i < 3 || i > 16 || bytes.IndexByte(w[:i], '/') < 0 || i < len(w) && (w[i] == '=' || w[i] == ':') {
		return ""
	}
	if n := canonical(w[:i]); rate(n) {
		return n
	}
	return ""
}

// ownUnit reports whether a unit stands at the number itself, "0.006s", "21GB"; "1.2k"
// has none.
func ownUnit(b []byte, p *pair) bool {
	return p.unit && (isAlpha(b[p.end-2]) || suffix(b[p.end-1:]) == 0)
}

// quotedBefore is the metric of Lightning's "'val_loss' reached 0.5".
func quotedBefore(b []byte) string {
	b = trimEnd(b)
	if i := bytes.LastIndexByte(b, '\''); i >= 0 {
		if n := canonical(b[i+1:]); n != "" {
			return n
		}
		return string(b[i+1:])
	}
	return ""
}

// neutral reports whether the first word of the phrase does not change what the
// last one means: "average loss", "10 loss".
func neutral(w []byte) bool {
	i := 0
	for i < len(w) && w[i] != ' ' {
		i++
	}
	var buf [maxName]byte
	return neutralWords[string(fold(buf[:0], w[:i]))]
}

var neutralWords = map[string]bool{
	"average": true, "avg": true, "mean": true, "running": true, "current": true, "cur": true, "smoothed": true,
	"ms": true, "s": true, "sec": true, "it": true, "gb": true, "mb": true, "gib": true, "info": true, "train": true,
	"training": true, "total": true, "done": true, "finished": true, "and": true, "with": true, "the": true,
	"final": true, "end": true, "best": true, "overall": true, "step": true, "steps": true, "epoch": true, "min": true,
	"batch": true, "last": true, "new": true, "complete": true, "completed": true, "global": true, "pre": true, "on": true,
}

// phrase is the key with up to n-1 words before it, one space apart; nil when
// nothing stands before it.
func phrase(b []byte, p *pair, n int) []byte {
	start := keyStart(b, p)
	if start < 0 {
		return nil
	}
	i := start
	for ; n > 1; n-- {
		if i < 2 || b[i-1] != ' ' || !isWord(b[i-2]) {
			break
		}
		j := i - 1
		for j > 0 && (isWord(b[j-1]) || b[j-1] == '@' || b[j-1] == '.' || b[j-1] == '/') {
			j--
		}
		if !isAlpha(b[j]) {
			break
		}
		i = j
	}
	if i == start {
		return nil
	}
	return b[i : start+len(p.key)]
}

// keyStart is where the key of the pair begins in b.
func keyStart(b []byte, p *pair) int {
	if len(p.key) == 0 {
		return -1
	}
	return cap(b) - cap(p.key)
}

// spelled is the name of a value that has no canonical one, as the log spells
// it; "" for what is no metric.
func (r *Reader) spelled(b []byte, p *pair) string {
	if p.sep == ' ' && (p.int || deniedWords[string(lowered(p.key))]) || p.of >= 0 || p.unit || len(p.key) > maxName {
		return ""
	}
	if p.sep == ':' && (p.box == 0 && p.end < len(b) && b[p.end] == ']' || p.int && bytes.HasSuffix(p.key, []byte(".py"))) {
		return "" // "solver.cpp:236]", "callbacks.py:123"
	}
	if r.known(p.key).role != notCounter {
		return ""
	}
	if w := phrase(b, p, 3); w != nil && p.sep == ':' {
		return string(w)
	}
	return string(p.key)
}

// setPhase decides the phase of a line by its values, when its words did not.
func (r *Reader) setPhase(out *Reading) {
	if out.Phase != "" {
		return
	}
	evals, others := 0, 0
	for i := range r.values {
		switch n := r.values[i].Name; {
		case isEval(n):
			evals++
		case n == "loss", n == "accuracy", n == "lr", n == "grad_norm", n == "perplexity":
			others++
		}
	}
	out.Phase = PhaseTrain
	if evals > 0 && others == 0 {
		out.Phase = PhaseEval
	}
}
