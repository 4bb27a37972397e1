package artifacts_test

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

// origin is what casefile asks of a stream.
type origin interface{ Origin(line int) run.Ref }

// placed is the text of a stream, each line behind the line of the file that it
// stands in.
func placed(t *testing.T, s run.Stream) string {
	t.Helper()
	r, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b strings.Builder
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		at := n
		if o, ok := r.(origin); ok {
			at = o.Origin(n).Line
		}
		if lines.Text() != "" {
			fmt.Fprintf(&b, "%d %s\n", at, lines.Text())
		}
	}
	return b.String()
}

const prettyOldest = `[
  {
    "insertId": "a",
    "textPayload": "step 1 loss 2.5\n",
    "timestamp": "2024-02-14T09:00:10.5Z"
  },
  {
    "insertId": "b",
    "jsonPayload": {
      "levelname": "ERROR",
      "message": "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\nValueError: bad\n"
    },
    "timestamp": "2024-02-14T09:00:11Z"
  },
  {
    "insertId": "c",
    "jsonPayload": {"pipelineName": "p", "taskName": "fit", "state": "FAILED"},
    "timestamp": "2024-02-14T09:00:12Z"
  }
]
`

const prettyNewest = `[
  {
    "insertId": "b",
    "jsonPayload": {
      "message": "ValueError: bad"
    },
    "timestamp": "2024-02-14T09:00:12Z"
  },
  {
    "insertId": "a",
    "textPayload": "step 1 loss 2.5",
    "timestamp": "2024-02-14T09:00:10Z"
  }
]
`

func TestLogEntries(t *testing.T) {
	oneLine := strings.ReplaceAll(prettyNewest, "\n", " ")
	cut := prettyOldest[:strings.Index(prettyOldest, `"c"`)]
	for _, c := range []struct {
		name, file, text string
		last             int
		want             string
	}{
		{"a printed array, oldest first", "logs.json", prettyOldest, 0, `4 2024-02-14T09:00:10.5Z step 1 loss 2.5
11 2024-02-14T09:00:11Z Traceback (most recent call last):
11   File "t.py", line 3, in <module>
11 ValueError: bad
17 2024-02-14T09:00:12Z {"insertId":"c","jsonPayload":{"pipelineName":"p","taskName":"fit","state":"FAILED"},"timestamp":"2024-02-14T09:00:12Z"}
pipeline p: fit FAILED at 17
`},
		{"newest first", "logs.json", prettyNewest, 0, "11 2024-02-14T09:00:10Z step 1 loss 2.5\n5 2024-02-14T09:00:12Z ValueError: bad\nlogging.order newest-first at 5\n"},
		{"the last line only", "logs.json", prettyNewest, 1, "5 2024-02-14T09:00:12Z ValueError: bad\nlogging.order newest-first at 5\n"},
		{"all on one line", "logs.json", oneLine, 0, "1 2024-02-14T09:00:10Z step 1 loss 2.5\n1 2024-02-14T09:00:12Z ValueError: bad\nlogging.order newest-first at 1\n"},
		{"a text file", "export.txt", prettyNewest, 0, "11 2024-02-14T09:00:10Z step 1 loss 2.5\n5 2024-02-14T09:00:12Z ValueError: bad\nlogging.order newest-first at 5\n"},
		{"one a line, newest first", "logs.jsonl", `{"insertId":"b","textPayload":"two\nthree","timestamp":"2024-02-14T09:00:12Z"}
{"insertId":"a","textPayload":"one","timestamp":"2024-02-14T09:00:10Z"}
`, 0, "2 2024-02-14T09:00:10Z one\n1 2024-02-14T09:00:12Z two\n1 three\nlogging.order newest-first at 1\n"},
		{"one a line, oldest first, stays as it is", "logs.jsonl", `{"insertId":"a","textPayload":"one","timestamp":"2024-02-14T09:00:10Z"}
{"insertId":"b","textPayload":"two\nthree","timestamp":"2024-02-14T09:00:12Z"}
`, 0, `1 {"insertId":"a","textPayload":"one","timestamp":"2024-02-14T09:00:10Z"}
2 {"insertId":"b","textPayload":"two\nthree","timestamp":"2024-02-14T09:00:12Z"}
`},
		{"cut off", "logs.json", cut, 0, `4 2024-02-14T09:00:10.5Z step 1 loss 2.5
11 2024-02-14T09:00:11Z Traceback (most recent call last):
11   File "t.py", line 3, in <module>
11 ValueError: bad
gap the rest of logs.json
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, c.file), c.text)
			opt := source.Options{Last: c.last}
			obs, err := open(t, dir, opt).Observe(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, s := range obs.Streams {
				got += placed(t, s)
			}
			for _, f := range obs.Facts {
				got += fmt.Sprintf("%s %s at %d\n", f.Key, f.Value, f.From.Line)
			}
			if p := obs.Pipeline; p != nil {
				got += fmt.Sprintf("pipeline %s: %s %s at %d\n", p.Name, p.Tasks[0].Name, p.Tasks[0].State, p.Tasks[0].Ref.Line)
			}
			for _, g := range obs.Gaps {
				got += "gap " + g.What + "\n"
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			sourcetest.Run(t, func(t *testing.T) source.Source { return open(t, dir, opt) })
		})
	}
}

// A message that stands alone on its line has the same number for one who only
// counts lines.
func TestPrintedArrayKeepsLineNumbers(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "logs.json"), prettyOldest)
	obs, err := open(t, dir, source.Options{}).Observe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(sourcetest.Text(t, obs.Streams[0]), "\n")
	if !strings.HasSuffix(lines[3], "step 1 loss 2.5") || !strings.Contains(lines[10], "Traceback") || !strings.Contains(lines[16], "FAILED") {
		t.Errorf("got %q", lines)
	}
}

func TestLaterEntries(t *testing.T) {
	dir := t.TempDir()
	const old = `{"insertId":"b","textPayload":"two","timestamp":"2024-02-14T09:00:12Z"}
{"insertId":"a","textPayload":"one","timestamp":"2024-02-14T09:00:10Z"}
`
	write(t, filepath.Join(dir, "logs.jsonl"), old)
	s := open(t, dir, source.Options{})
	obs, err := s.Observe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "logs.jsonl"), `{"insertId":"c","textPayload":"three","timestamp":"2024-02-14T09:00:14Z"}`+"\n"+old)
	if obs, err = s.Observe(t.Context(), obs.Next); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("1 2024-02-14T09:00:14Z three\n", placed(t, obs.Streams[0])); diff != "" {
		t.Error(diff)
	}
}

// The stack of an error.json is told line by line, and every line of it points
// at the line of the file.
func TestElasticLines(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "attempt_0/1/error.json"), `{"message": {
 "message": "ValueError: bad batch",
 "extraInfo": {"py_callstack": "Traceback (most recent call last):\n  File \"train.py\", line 7\n", "timestamp": "1"}}}
`)
	obs, err := open(t, dir, source.Options{}).Observe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "3 Traceback (most recent call last):\n3   File \"train.py\", line 7\n2 ValueError: bad batch\n"
	if diff := cmp.Diff(want, placed(t, obs.Streams[0])); diff != "" {
		t.Error(diff)
	}
}

func FuzzLogEntries(f *testing.F) {
	f.Add(prettyOldest, 0)
	f.Add(prettyNewest, 2)
	f.Add(strings.ReplaceAll(prettyNewest, "\n", ""), 0)
	f.Add(`[{"insertId":"a","textPayload":"a\r\n\n\nb","timestamp":"2024-02-14T09:00:12Z"}`, 1)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string, last int) {
		write(t, filepath.Join(dir, "logs.json"), text)
		obs, err := open(t, dir, source.Options{Last: last}).Observe(t.Context(), nil)
		if err != nil {
			return
		}
		lines := strings.Count(text, "\n") + 1
		for _, s := range obs.Streams {
			r, err := s.Open(t.Context())
			if err != nil {
				continue
			}
			b, _ := io.ReadAll(r)
			r.Close()
			if o, ok := r.(origin); ok {
				for n := range strings.Count(string(b), "\n") {
					if at := o.Origin(n + 1); at.Line < 1 || at.Line > lines || at.Offset > int64(len(text)) {
						t.Errorf("line %d comes from %+v of %d lines", n+1, at, lines)
					}
				}
			}
		}
	})
}
