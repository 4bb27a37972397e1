package logformat

import (
	"bytes"
	"time"
)

// stamp reads the program's own time and level at the start of b. It returns
// where the time stands, -1 when there is none, and how far it looked.
func (p *Prefix) stamp(b []byte) (at, seen int) {
	if len(b) < 4 || isSpace(b[0]) || b[0] >= 'a' && b[0] <= 'z' && !has(b, "time=") && !has(b, "level=") {
		return -1, 0 // a stamp begins the line, with a number, a sign or a capital
	}
	if len(b) > stampReach {
		b = b[:stampReach]
	}
	if has(b, mllogMark) {
		p.Time = mllogTime(b)
		return -1, len(b)
	}
	at, rest := p.words(b)
	return at, len(b) - len(rest)
}

// stampReach is how far into a line a stamp is looked for.
const stampReach = 120

// words reads the first words of a line. It returns where the time stands, and
// what it did not look at.
func (p *Prefix) words(b []byte) (at int, rest []byte) {
	at = -1
	whole := len(b)
	for words := 0; len(b) > 0 && words < 7; words++ {
		b = skipSigns(b)
		if len(b) == 0 {
			return at, nil
		}
		switch c := b[0]; {
		case isDigit(c):
			t, n := parseTime(b)
			if n == 0 {
				b = skipStampWord(b)
				continue
			}
			if p.Time.IsZero() {
				p.Time, at = t, whole-len(b)
			}
			b = b[n:]
			continue
		case c >= 'A' && c <= 'Z', c == 'l':
			if l := levelAt(b); l != "" {
				if p.Level == "" {
					p.Level = l
				}
				if !p.Time.IsZero() || !bytes.Contains(b, []byte(".py:")) {
					return at, b[min(len(b), len("level=warning")):]
				}
				if i := p.behindPlace(b); i > 0 {
					at = whole - len(b) + i
				}
				return at, nil
			}
			if l, n := glog(b); n > 0 {
				p.Level = l
				return at, b[n+len(" 15:04:05"):]
			}
			if t, n := namedTime(b); n > 0 {
				p.Time, at = t, whole-len(b)
				b = b[n:]
				continue
			}
		case c == 't' && has(b, "time="):
			b = b[5:]
			continue
		}
		b = skipStampWord(b)
	}
	return at, b
}

// behindPlace reads the time that the Hugging Face loggers put behind level and
// place, "INFO|trainer.py:414] 2025-01-18 23:30:10,118 >> ", and returns where it
// begins, 0 when there is none.
func (p *Prefix) behindPlace(b []byte) int {
	i := bytes.Index(b, []byte(".py:"))
	if bytes.IndexByte(b[:i], '|') < 0 {
		return 0
	}
	if j := bytes.Index(b[i:], []byte("] ")); j > 0 && j < 12 {
		at := i + j + len("] ")
		if t, n := parseTime(b[at:]); n > 0 {
			p.Time = t
			return at
		}
	}
	return 0
}

func skipSigns(b []byte) []byte {
	for len(b) > 0 && (isSpace(b[0]) || b[0] == '[' || b[0] == '(' || b[0] == '|' || b[0] == '-' || b[0] == ']' || b[0] == ')' || b[0] == '"' || b[0] == ':' || b[0] == ',' || b[0] == '<') {
		b = b[1:]
	}
	return b
}

func skipStampWord(b []byte) []byte {
	for len(b) > 0 && !isSpace(b[0]) && b[0] != '[' && b[0] != '|' && b[0] != ']' && b[0] != ':' {
		b = b[1:]
	}
	return b
}

var levelNames = [...]struct{ spelled, level string }{
	{"INFO", "INFO"},
	{"WARNING", "WARNING"},
	{"WARN", "WARNING"},
	{"ERROR", "ERROR"},
	{"CRITICAL", "CRITICAL"},
	{"DEBUG", "DEBUG"},
	{"FATAL", "FATAL"},
	{"NOTICE", "NOTICE"},
	{"TRACE", "TRACE"},
	{"level=info", "INFO"},
	{"level=warn", "WARNING"},
	{"level=error", "ERROR"},
	{"level=debug", "DEBUG"},
	{"level=fatal", "FATAL"},
}

// levelAt is the level that b starts with, or "".
func levelAt(b []byte) string {
	if len(b) < 4 || b[0] != 'l' && (b[1] < 'A' || b[1] > 'Z') {
		return ""
	}
	for i := range levelNames {
		l := &levelNames[i]
		if has(b, l.spelled) && (len(b) == len(l.spelled) || !isWord(b[len(l.spelled)])) || l.spelled[0] == 'l' && has(b, l.spelled) {
			return l.level
		}
	}
	return ""
}

// glog reads "E0102 15:04:05.000000" and torch's "W329 12:00:00.123". They have
// no year, so they give a level and no time.
func glog(b []byte) (string, int) {
	n := 1
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	if n < 4 || n > 9 || len(b) < n+9 || b[n] != ' ' || b[n+3] != ':' || b[n+6] != ':' {
		return "", 0
	}
	switch b[0] {
	case 'I':
		return "INFO", n
	case 'W':
		return "WARNING", n
	case 'E':
		return "ERROR", n
	case 'F':
		return "FATAL", n
	}
	return "", 0
}

// parseTime reads a date with a time at the start of b: ISO forms, 2006/01/02,
// 01/02/2006, and seconds since 1970. Local times are taken as UTC.
func parseTime(b []byte) (time.Time, int) {
	y, mo, d, n := date(b)
	if n == 0 {
		return epochTime(b)
	}
	if n >= len(b) || b[n] != ' ' && b[n] != 'T' && b[n] != ',' && b[n] != '_' {
		return time.Time{}, 0
	}
	n++
	h, mi, s, ns, k := clock(b[n:])
	if k == 0 {
		return time.Time{}, 0
	}
	n += k
	t := time.Date(y, time.Month(mo), d, h, mi, s, ns, time.UTC)
	off, k := zone(b[n:])
	return t.Add(-off), n + k
}

// date reads a day; its length is 0 when b does not begin with one.
func date(b []byte) (y, m, d, n int) {
	if len(b) < 10 {
		return 0, 0, 0, 0
	}
	switch {
	case (b[4] == '-' || b[4] == '/') && b[7] == b[4] && b[0] == '2':
		y, m, d = digits(b[:4]), digits(b[5:7]), digits(b[8:10])
	case b[2] == '/' && b[5] == '/' && b[6] == '2':
		m, d, y = digits(b[:2]), digits(b[3:5]), digits(b[6:10])
	}
	if y < 1970 || m < 1 || m > 12 || d < 1 || d > 31 {
		return 0, 0, 0, 0
	}
	return y, m, d, 10
}

// clock reads 15:04:05 with a fraction.
func clock(b []byte) (h, m, s, ns, n int) {
	if len(b) < 8 || b[2] != ':' || b[5] != ':' {
		return 0, 0, 0, 0, 0
	}
	h, m, s = digits(b[:2]), digits(b[3:5]), digits(b[6:8])
	if h < 0 || m < 0 || s < 0 || h > 23 || m > 59 || s > 60 {
		return 0, 0, 0, 0, 0
	}
	n = 8
	if n+1 < len(b) && (b[n] == '.' || b[n] == ',') && isDigit(b[n+1]) {
		unit := int(1e8)
		for n++; n < len(b) && isDigit(b[n]); n++ {
			ns += int(b[n]-'0') * unit
			unit /= 10
		}
	}
	return h, m, s, ns, n
}

// zone reads "Z", "+01:00", "+0100" and " UTC".
func zone(b []byte) (time.Duration, int) {
	if len(b) > 0 && b[0] == 'Z' {
		return 0, 1
	}
	if len(b) < 5 || b[0] != '+' && b[0] != '-' {
		return 0, 0
	}
	n, mi := 5, digits(b[3:5])
	if b[3] == ':' && len(b) >= 6 {
		n, mi = 6, digits(b[4:6])
	}
	h := digits(b[1:3])
	if h < 0 || mi < 0 || h > 14 {
		return 0, 0
	}
	off := time.Duration(h)*time.Hour + time.Duration(mi)*time.Minute
	if b[0] == '-' {
		off = -off
	}
	return off, n
}

// digits is the number that b is, -1 when it holds anything but digits.
func digits(b []byte) int {
	v := 0
	for _, c := range b {
		if !isDigit(c) {
			return -1
		}
		v = v*10 + int(c-'0')
	}
	return v
}

// epochTime reads seconds since 1970, of the years 2001 to 2036.
func epochTime(b []byte) (time.Time, int) {
	v, n := integer(b)
	if n != 10 || v < 1_000_000_000 || v >= 2_100_000_000 || n < len(b) && isWord(b[n]) {
		return time.Time{}, 0
	}
	if n+1 >= len(b) || b[n] != '.' || !isDigit(b[n+1]) {
		return time.Time{}, 0 // an integer alone may be anything
	}
	f, k := number(b[n:])
	return time.Unix(v, int64(f*1e9)).UTC(), n + k
}

var months = "JanFebMarAprMayJunJulAugSepOctNovDec"

// month is the month that b starts with, 0 for none.
func month(b []byte) int {
	if len(b) < 3 {
		return 0
	}
	for i := 0; i < len(months); i += 3 {
		if has(b, months[i:i+3]) {
			return i/3 + 1
		}
	}
	return 0
}

// namedTime reads "Mon Jan 02 15:04:05 2006" and "Jan 2, 2006 15:04:05"-like
// stamps that carry a year.
func namedTime(b []byte) (time.Time, int) {
	i := 0
	if len(b) > 24 && b[3] == ' ' && month(b) == 0 {
		i = 4
	}
	mo := month(b[i:])
	if mo == 0 || len(b) < i+20 || b[i+3] != ' ' {
		return time.Time{}, 0
	}
	day := b[i+4 : i+6]
	if day[0] == ' ' {
		day = day[1:]
	}
	h, mi, s, ns, n := clock(b[i+7:])
	if d := digits(day); n > 0 && d > 0 && d <= 31 && len(b) >= i+7+n+5 {
		if y := digits(b[i+8+n : i+12+n]); y >= 1970 {
			return time.Date(y, time.Month(mo), d, h, mi, s, ns, time.UTC), i + 12 + n
		}
	}
	return time.Time{}, 0
}

// timeKeys are the members that an entry tells its time in.
var timeKeys = [...]string{`"timestamp"`, `"time"`, `"ts"`, `"@timestamp"`, `"asctime"`, `"receiveTimestamp"`}

// timeMember is where the value of the entry's member k begins, -1 when it has none.
func timeMember(b []byte, k string) int {
	rest, ok := after(b, k)
	if !ok {
		return -1
	}
	for len(rest) > 0 && (rest[0] == ':' || rest[0] == ' ' || rest[0] == '"') {
		rest = rest[1:]
	}
	return len(b) - len(rest)
}

// jsonTime is the time that an entry carries under one of the usual keys.
func jsonTime(b []byte) time.Time {
	for _, k := range timeKeys {
		if i := timeMember(b, k); i >= 0 {
			if t, n := parseTime(b[i:]); n > 0 {
				return t
			}
		}
	}
	return time.Time{}
}
