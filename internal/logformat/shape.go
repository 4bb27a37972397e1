package logformat

// gap is a run of bytes whose width may change.
type gap uint8

const (
	noGap gap = iota
	gapFraction
	gapBar   // what tqdm draws
	gapKeras // what Keras draws
)

// takes reports whether a gap may hold the byte.
func (g gap) takes(c byte) bool {
	switch g {
	case gapFraction:
		return isDigit(c)
	case gapBar:
		return c >= 0x80 || c == ' '
	case gapKeras:
		return c == '=' || c == '>' || c == '.'
	}
	return false
}

// drawn is where a line has its bar, and how much of its beginning stands fast.
type drawn struct {
	kind       gap
	from, to   int
	fixedUntil int
}

// shape says of every byte of a line whether it is a digit that may change
// without changing what the line says (digit), and whether that is one of a
// run whose width may change too (free).
func shape(b []byte, d drawn) (digit []bool, free []gap) {
	digit, free = make([]bool, len(b)), make([]gap, len(b))
	for i := d.from; i < d.to; i++ {
		free[i] = d.kind
	}
	for i := 0; i < len(b); i++ {
		if !isDigit(b[i]) {
			continue
		}
		j := i
		for j < len(b) && isDigit(b[j]) {
			j++
		}
		start := i
		if i > 0 && (b[i-1] == '-' || b[i-1] == '+') {
			start--
		}
		joined := start > 0 && start < i && b[start] == '-' && isWord(b[start-1]) // "checkpoint-300", "2024-01-02"
		if (joined || startsNumber(b, start)) && j-i <= 15 && i >= d.fixedUntil {
			mark(digit, i, j)
			if k := fraction(b, j); k > 0 {
				mark(digit, j+1, k)
				for at := j + 1; at < k; at++ {
					free[at] = gapFraction
				}
				j = k
			}
			if k, n := exponentAt(b, j); n > 0 {
				mark(digit, k, k+n)
				j = k + n
			}
		}
		i = j
	}
	return digit, free
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
func skeleton(b []byte, digit []bool, free []gap) uint32 {
	h := uint32(2166136261)
	for i, c := range b {
		if free[i] != noGap {
			if i > 0 && free[i-1] == free[i] {
				continue
			}
			c = byte(free[i])
		} else if digit[i] {
			c = 0
		}
		h = (h ^ uint32(c)) * 16777619
	}
	return h | 1
}
