package casefile_test

import (
	"strings"
	"testing"
)

// TestAProgramThatWasStartedAgain: what failed before the last start of the log's
// program is past, when nothing failed since.
func TestAProgramThatWasStartedAgain(t *testing.T) {
	const (
		start = "2021-09-24 16:41:58,550 __main__     INFO     START train.py\n"
		fails = "Traceback (most recent call last):\n  File \"train.py\", line 41, in <module>\n    df = pd.read_csv(p)\nRuntimeError: Dataset error\n"
		works = "2021-09-24 16:48:23,324 __main__     INFO     Input shape: (279792, 77)\n2021-09-24 16:48:23,461 __main__     INFO     Fit model\n2021-09-24 16:48:35,134 __main__     INFO     Save model\n"
	)
	for _, c := range []struct {
		name, log string
		want      bool
	}{
		{"started again and done", start + fails + start + works, true},
		{"started again and failed again", start + fails + start + works + fails, false},
		{"not started again", start + fails + works, false},
		{"started again a moment ago", start + fails + start, false},
		{"a usual line comes again", start + strings.Repeat(start, 40) + fails + start + works, false},
		{"the log begins with a warning", "UserWarning: lr_scheduler.step() before optimizer.step()\n" + fails + "UserWarning: lr_scheduler.step() before optimizer.step()\n" + works, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := read(t, c.log, plain)
			if len(f.Tracebacks) == 0 {
				t.Fatal("no traceback was read")
			}
			if got := f.TracebackRecovered(f.Tracebacks[0]); got != c.want {
				t.Errorf("recovered %t, want %t", got, c.want)
			}
		})
	}
}
