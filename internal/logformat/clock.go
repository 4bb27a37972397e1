package logformat

// fixed notes a time that begins at i, if it is a date and a time of day; seen is
// how far it was looked for.
func (l *draft) fixed(i, seen int) {
	b := l.text[i:]
	_, _, _, n := date(b)
	if n == 0 {
		return
	}
	_, _, _, _, k := clock(b[n+1:])
	n += 1 + k
	if tellsClock(b[n:max(n, seen-i)]) {
		return
	}
	off, _ := zone(b[n:])
	l.clock = clockPlace{kind: fixedClock, at: i, fraction: max(0, n-20), zone: off}
	l.from, l.to = i, i+n
}

// tellsClock reports whether b has what could be a time, with other digits: next
// to a colon they keep their width.
func tellsClock(b []byte) bool {
	for i := 2; i+4 < len(b); i++ {
		if b[i] == ':' && b[i+3] == ':' && isDigit(b[i-1]) && isDigit(b[i-2]) && isDigit(b[i+1]) && isDigit(b[i+2]) && isDigit(b[i+4]) {
			return true
		}
	}
	return tellsSeconds(b)
}

// tellsSeconds reports whether b has ten digits and more behind a point.
func tellsSeconds(b []byte) bool {
	n := 0
	for _, c := range b {
		switch {
		case isDigit(c):
			n++
			continue
		case c == '.' && n == 10:
			return true
		}
		n = 0
	}
	return n == 10
}
