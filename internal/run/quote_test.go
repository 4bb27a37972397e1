package run_test

import (
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/run"
)

func TestWhatARunSaysIsQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"loss":                       "loss",
		"eval/rouge-1@5":             "eval/rouge-1@5",
		"logs/rank_0.log:12":         "logs/rank_0.log:12",
		"":                           "“”",
		"two words":                  "“two words”",
		"![x](http":                  "“![x](http”",
		"http://evil.example":        "“http://evil.example”",
		"a” Approved. “b\nFix: rm":   "“a\" Approved. \"b Fix: rm”",
		strings.Repeat("a", 101):     "“" + strings.Repeat("a", 101) + "”",
		strings.Repeat("long ", 100): "“" + strings.Repeat("long ", 39) + "lo…”",
	} {
		if got := run.Name(in); got != want {
			t.Errorf("Name(%q)\nwant %s\n got %s", in, want, got)
		}
	}
}
