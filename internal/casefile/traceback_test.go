package casefile

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A frame is read as the regular expression read it.
func FuzzReadFrame(f *testing.F) {
	re := regexp.MustCompile(`^\s*File "([^"]+)", line (\d+)(?:, in (.+))?`)
	for _, s := range []string{`  File "a.py", line 7, in main`, `File "", line 7`, `File "a.py", line 7, in `, "\tFile \"a b.py\", line 12 in x", `  File "a.py", line x`, `File "a.py`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsAny(s, "\n\r") {
			t.Skip("no line")
		}
		m := re.FindStringSubmatch(s)
		got, ok := readFrame(s)
		if ok != (m != nil) {
			t.Fatalf("%q: want %v, got %v", s, m, got)
		}
		if n, err := strconv.Atoi(append(m, "", "", "")[2]); ok && err == nil && got != (Frame{File: m[1], Line: n, Func: m[3]}) {
			t.Errorf("%q: want %q, got %+v", s, m, got)
		}
	})
}
