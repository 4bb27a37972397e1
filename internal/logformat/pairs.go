package logformat

import "bytes"

// pair is one literal number of a line with the words that name it.
type pair struct {
	key []byte // as spelled, may be empty
	val float64
	of  float64 // M of "N/M", -1 when there is none
	sep byte    // '=', ':' or ' ' between key and value, 0 without a key
	at  int     // where the number begins
	end int     // where it, or "N/M", ends
	box byte    // the bracket that it opens after: '[', '(' or 0
	int bool    // written without point or exponent
	// unit is set when letters follow the number at once ("9.77s", "180G").
	unit bool
}

const maxPairs = 48

// pairs reads the numbers of b with their names. Numbers inside words, paths,
// dates and expressions are not literal values and are left out.
func (r *Reader) pairs(b []byte) []pair {
	out, _ := r.pairsFrom(b, 0)
	return out
}

// pairsFrom reads on at i and says where it stopped.
func (r *Reader) pairsFrom(b []byte, i int) ([]pair, int) {
	out := r.pairBuf[:0]
	for i < len(b) && len(out) < maxPairs {
		if !numberStart(b, i) {
			i = skipToken(b, i)
			continue
		}
		p, end := readPair(b, i)
		if end == 0 {
			i = skipToken(b, i)
			continue
		}
		if p.at >= 0 {
			out = append(out, p)
		}
		i = end
	}
	r.pairBuf = out
	return out, i
}

// numberStart reports whether a literal number may begin at i.
func numberStart(b []byte, i int) bool {
	c := b[i]
	switch {
	case isDigit(c):
	case c == '-' || c == '+' || c == '.':
		if i+1 >= len(b) || !isDigit(b[i+1]) && !nonFiniteWord(b[i+1:]) && b[i+1] != '.' {
			return false
		}
	case c|0x20 == 'n' || c|0x20 == 'i':
		if !nonFiniteWord(b[i:]) {
			return false
		}
	default:
		return false
	}
	if i == 0 {
		return true
	}
	p := b[i-1]
	return !isWord(p) && p != '.' && p != '@' && p != '-' && p != '+' && p != '#' && p < 0x80
}

// nonFiniteWord reports whether b starts with nan or inf as a whole word.
func nonFiniteWord(b []byte) bool {
	if b[0]|0x20 != 'n' && b[0]|0x20 != 'i' {
		return false
	}
	_, n := nonFinite(b, 0)
	return n > 0 && (n >= len(b) || !isWord(b[n]))
}

// skipToken goes to the next place where a number could begin.
func skipToken(b []byte, i int) int {
	if !isWord(b[i]) {
		return i + 1
	}
	for i < len(b) && isWord(b[i]) {
		i++
	}
	return i
}

// readPair reads the number at i. The end is 0 when it is part of something
// else; a pair with at < 0 is to be passed over.
func readPair(b []byte, i int) (pair, int) {
	v, n := number(b[i:])
	if n == 0 {
		return pair{}, 0
	}
	if n > 1 && b[i+n-1] == '.' {
		n-- // the end of a sentence
	}
	p := pair{val: v, of: -1, at: i, int: isInteger(b[i : i+n])}
	end := i + n
	if end < len(b) {
		if end, n = tail(b, &p, end); n < 0 {
			return pair{at: -1}, end
		}
	}
	p.end = end
	p.name(b)
	return p, end
}

// tail reads what follows a number: a unit, "/M", or something that shows that
// it is no value of its own (a date, a version, a sum): then n is -1.
func tail(b []byte, p *pair, end int) (int, int) {
	c := b[end]
	switch {
	case isAlpha(c):
		p.unit = true
		if f := suffix(b[end:]); f > 0 {
			p.val *= f
			p.int = false
			return end + 1, 0
		}
		for end < len(b) && (isWord(b[end]) || b[end] == '/') {
			if isDigit(b[end]) {
				return skipToken(b, end), -1
			}
			end++
		}
		return end, 0
	case c == '_':
		for p.int && end+3 < len(b) && b[end] == '_' && isDigit(b[end+1]) && isDigit(b[end+2]) && isDigit(b[end+3]) {
			p.val = p.val*1000 + float64(digits(b[end+1:end+4])) // 20_000_000
			end += 4
		}
		if end < len(b) && isWord(b[end]) {
			return skipToken(b, end), -1
		}
		return end, 0
	case c == '-' && p.int && skipTo(b, p.at) != '[' && opens(b, p.at, '['): // "Batch [0-60]": the last one counts
		if n := upTo(b, p, end+1); n > 0 {
			return n, 0
		}
		return skipDotted(b, end), -1
	case c == '.', c == ':', c == '-':
		if end+1 < len(b) && isWord(b[end+1]) {
			return skipDotted(b, end), -1
		}
	case c == '*', c == '^':
		return end + 1, -1
	}
	return p.slash(b, end), 0
}

// opens reports whether the bracket stands before at, spaces aside.
func opens(b []byte, at int, bracket byte) bool {
	i := back(b, at)
	return i > 0 && b[i-1] == bracket
}

// upTo reads the end of a range in brackets, and where it ends; 0 if there is none.
func upTo(b []byte, p *pair, i int) int {
	for i < len(b) && b[i] == ' ' {
		i++
	}
	n := i
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	if n == i || n-i > 12 || n >= len(b) || b[n] != ']' {
		return 0
	}
	p.val = float64(digits(b[i:n]))
	return n
}

// suffix is what k, M or B after a number multiplies it by, 0 for another unit.
func suffix(b []byte) float64 {
	if len(b) > 1 && isWord(b[1]) {
		return 0
	}
	switch b[0] {
	case 'k', 'K':
		return 1e3
	case 'M':
		return 1e6
	case 'B':
		return 1e9
	}
	return 0
}

// slash reads " / M" or " of M" after an integer.
func (p *pair) slash(b []byte, end int) int {
	j := end
	for j < len(b) && j < end+3 && b[j] == ' ' {
		j++
	}
	switch {
	case !p.int || j >= len(b):
		return end
	case b[j] == '/':
		j++
	case j > end && has(b[j:], "of "):
		j += 2
	default:
		return end
	}
	for j < len(b) && b[j] == ' ' {
		j++
	}
	if j >= len(b) || !isDigit(b[j]) {
		return end
	}
	m, n := number(b[j:])
	if j+n < len(b) && isWord(b[j+n]) || j+n+1 < len(b) && b[j+n] == '/' && isDigit(b[j+n+1]) {
		return end
	}
	p.of = m
	return j + n
}

// skipDotted passes over dates, times, versions and addresses.
func skipDotted(b []byte, i int) int {
	for i < len(b) && (isWord(b[i]) || b[i] == '.' || b[i] == ':' || b[i] == '-') {
		i++
	}
	return i
}

func isInteger(b []byte) bool {
	for _, c := range b {
		if !isDigit(c) && c != ',' {
			return false
		}
	}
	return true
}

// name looks back from the number for its key.
func (p *pair) name(b []byte) {
	i := p.at
	i = back(b, i)
	if i > 0 && (b[i-1] == '[' || b[i-1] == '(') {
		p.box = b[i-1]
		i = back(b, i-1)
	}
	if i > 0 && (b[i-1] == '\'' || b[i-1] == '"') {
		i = back(b, i-1)
	}
	if i > 2 && b[i-1] == '.' && b[i-2] == '.' { // "train_iters ........ 1000"
		for i > 0 && (b[i-1] == '.' || isSpace(b[i-1])) {
			i--
		}
	}
	if i == 0 {
		return
	}
	p.sep = ' '
	if c := b[i-1]; c == '=' || c == ':' {
		p.sep = c
		i = back(b, i-1)
		if i > 0 && (b[i-1] == '\'' || b[i-1] == '"' || b[i-1] == '*') {
			i--
		}
	}
	if i > 0 && b[i-1] == '#' { // dlib's "step#: 120"
		i--
	}
	p.key = keyBefore(b[:i])
	if p.sep == ' ' && string(p.key) == "is" {
		p.key = subject(b[:back(b, i-len("is"))], p.key)
	}
	if len(p.key) == 0 {
		p.sep = 0
	}
}

// subject is the key before "is" where it begins a part of the line, "step: 60,
// loss is 1.8"; else a sentence speaks of it, and it stays is.
func subject(b, is []byte) []byte {
	k := keyBefore(b)
	i := len(b) - len(k)
	if j := back(b, i); j == 0 || j < i && (b[j-1] == ',' || b[j-1] == '.') {
		return k
	}
	return is
}

func back(b []byte, i int) int {
	for i > 0 && isSpace(b[i-1]) {
		i--
	}
	return i
}

// keyBefore is the name that b ends in: one word, with the punctuation that
// metric names hold.
func keyBefore(b []byte) []byte {
	i := len(b)
	if i > 0 && b[i-1] == ')' {
		for i > 0 && b[i-1] != '(' {
			i--
		}
		if i > 0 {
			i--
		}
		i = back(b, i)
	}
	for i > 0 && isKey(b[i-1]) {
		i--
	}
	if i < len(b) && isDigit(b[i]) { // "4.88GiB(6.16%)" names nothing, "0/micro_step" does
		j := bytes.IndexByte(b[i:], '/')
		if j < 0 {
			return nil
		}
		i += j
	}
	for i < len(b) && !isAlpha(b[i]) && b[i] != '_' {
		i++
	}
	if len(b)-i >= 3 && len(b)-i <= 8 && nonFiniteWord(b[i:]) {
		return nil
	}
	return b[i:]
}

func isKey(c byte) bool {
	return isWord(c) || c == '/' || c == '.' || c == '@' || c == '-'
}
