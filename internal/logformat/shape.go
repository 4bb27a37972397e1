package logformat

// drawn is where a line has its bar, how much of its beginning stands fast, and
// where a bar's elapsed time begins (0: none).
type drawn struct {
	kind       fieldKind
	from, to   int
	fixedUntil int
	elapsed    int
}

// sketch is the shape of a line: its fields, and which of the other bytes are
// digits that may change. Its buffers serve one line after another.
type sketch struct {
	spans []span
	digit []bool // of a literal
	part  []bool // a digit that may change, in a field or not
}

// span is a field and where it stands.
type span struct {
	field
	from, to int
}

// freedom says which digits of a line may change without changing what it says.
type freedom uint8

const (
	numbersFree freedom = iota // literal numbers
	wordsFree                  // and digits within words
	allFree                    // all of them: the line says nothing by its marks
)

// draw finds the fields of b. The stamp's digits keep their places; wanted lists
// where numbers are read from, in order.
func (s *sketch) draw(b []byte, d drawn, free freedom, stampFrom, stampTo int, wanted []int) {
	s.spans, s.digit, s.part = s.spans[:0], resized(s.digit, len(b)), resized(s.part, len(b))
	for i := 0; i < len(b); i++ {
		switch {
		case d.kind != noField && i == d.from && d.to > d.from:
			s.spans = append(s.spans, span{field{kind: d.kind}, d.from, d.to})
			i = d.to - 1
		case !isDigit(b[i]):
		case i >= stampFrom && i < stampTo:
			s.digit[i], s.part[i] = true, true
		default:
			i = s.run(b, i, d, free, wanted) - 1
		}
	}
}

func resized(b []bool, n int) []bool {
	if cap(b) < n {
		return make([]bool, n, 2*n)
	}
	b = b[:n]
	clear(b)
	return b
}

// run takes the digits that begin at i and says where it went on to.
func (s *sketch) run(b []byte, i int, d drawn, free freedom, wanted []int) int {
	j := i
	for j < len(b) && isDigit(b[j]) {
		j++
	}
	for len(wanted) > 0 && wanted[0] < i {
		wanted = wanted[1:]
	}
	want := len(wanted) > 0 && wanted[0] == i
	if i < d.fixedUntil || j-i > 15 {
		return j
	}
	if d.elapsed > 0 && s.elapsed(b, i, d) {
		return s.spans[len(s.spans)-1].to
	}
	start := i
	if i > 0 && (b[i-1] == '-' || b[i-1] == '+') {
		start--
	}
	joined := start > 0 && start < i && b[start] == '-' && isWord(b[start-1]) // "checkpoint-300", "2024-01-02"
	own := startsNumber(b, start) && !joined
	if !own && !joined && (free == numbersFree || i > 1 && b[i-1] == '.' && b[i-2] == ':') {
		return j // a part of a name
	}
	f := field{kind: numberField, negative: start < i && b[start] == '-'}
	k := j
	if own {
		k = f.extend(b, i, j, want)
	}
	loose := loosely(b, start, k) && (own || free != numbersFree)
	if !want && !loose && k == j { // part of a date, a time of day, a version
		mark(s.digit, i, j)
		mark(s.part, i, j)
		return j
	}
	f.least, f.most = 1, 15
	whole := j - i
	if f.commas > 0 {
		f.most = 3
	} else if k > j || j+1 < len(b) && b[j] == '.' && isDigit(b[j+1]) {
		f.most = 9 // ten are seconds since 1970
	}
	if !loose || whole > int(f.most) {
		f.least, f.most = uint8(whole), uint8(whole)
	}
	f.padded = loose && start == i && i > 1 && b[i-1] == ' ' && b[i-2] == ' '
	mark(s.part, i, k)
	s.spans = append(s.spans, span{f, i, k})
	return k
}

// elapsed takes the times of a bar: "[00:12<1:03:04".
func (s *sketch) elapsed(b []byte, i int, d drawn) bool {
	n := len(s.spans)
	left := n > 0 && s.spans[n-1].kind == timeField && s.spans[n-1].to == i-1 && b[i-1] == '<'
	if i != d.elapsed && !left {
		return false
	}
	_, to := duration(b, i)
	if to < 0 {
		return false
	}
	mark(s.part, i, to)
	s.spans = append(s.spans, span{field{kind: timeField}, i, to})
	return true
}

// extend reads the commas, the fraction and the exponent of the number whose
// whole part ends at j; commas only in what is read as a number.
func (f *field) extend(b []byte, i, j int, commas bool) int {
	if commas && j < len(b) && b[j] == ',' && group(b, j, j-i, false) {
		f.kind = groupField
		for j < len(b) && b[j] == ',' && group(b, j, 3, true) {
			f.commas++
			j += 4
		}
	}
	if k := fraction(b, j); k > 0 {
		f.fraction, j = true, k
	}
	if k, n := exponentAt(b, j); n > 0 && f.kind == numberField {
		f.exponent, j = true, k+n
	}
	return j
}

// loosely reports whether the number's width says nothing: it is no part of a
// date, a time of day, a version or a list that could be read as thousands.
func loosely(b []byte, start, end int) bool {
	if start > 1 && isDigit(b[start-2]) && (b[start-1] == ':' || b[start-1] == ',' || b[start-1] == '-' || b[start-1] == '_') {
		return false
	}
	if end >= len(b) {
		return true
	}
	next := byte(0)
	if end+1 < len(b) {
		next = b[end+1]
	}
	switch b[end] {
	case ',':
		return !isDigit(next)
	case ':', '.', '-':
		return !isWord(next)
	case '_', '*', '^':
		return false
	}
	return true
}

func mark(m []bool, from, to int) {
	for ; from < to; from++ {
		m[from] = true
	}
}

func startsNumber(b []byte, i int) bool {
	if i == 0 {
		return true
	}
	p := b[i-1]
	return !isWord(p) && p != '.' && p != '@' && p != '-' && p != '+' && p != '#' && p < 0x80
}

// fraction is where the digits after the point at j end; 0 when there are none,
// or when another point shows that it is a version or an address.
func fraction(b []byte, j int) int {
	if j+1 >= len(b) || b[j] != '.' || !isDigit(b[j+1]) {
		return 0
	}
	k := j + 1
	for k < len(b) && isDigit(b[k]) {
		k++
	}
	if k-j > maxFraction || k+1 < len(b) && b[k] == '.' && isDigit(b[k+1]) {
		return 0
	}
	return k
}

func exponentAt(b []byte, j int) (at, n int) {
	if j+1 >= len(b) || b[j]|0x20 != 'e' {
		return 0, 0
	}
	at = j + 1
	if b[at] == '-' || b[at] == '+' {
		at++
	}
	for at+n < len(b) && isDigit(b[at+n]) {
		n++
	}
	return at, n
}

// skeleton is a hash of what is the same in all lines of a form.
func (s *sketch) skeleton(b []byte) uint32 {
	h := uint32(2166136261)
	spans := s.spans
	for i := 0; i < len(b); i++ {
		c := b[i]
		if len(spans) > 0 && i == spans[0].from {
			f := spans[0].field
			c = byte(f.kind) + 16*f.commas
			if f.fraction {
				c |= 0x40
			}
			if f.exponent {
				c |= 0x80
			}
			if f.padded {
				c |= 8
			}
			h = (h ^ uint32(f.most)) * 16777619
			i = spans[0].to - 1
			spans = spans[1:]
		} else if s.digit[i] {
			c = 0
		} else if c == ' ' && i > 0 && b[i-1] == ' ' && len(spans) > 0 && spans[0].padded {
			continue // the padding of a number; what it is worth elsewhere, no matter
		}
		h = (h ^ uint32(c)) * 16777619
	}
	return h | 1
}
