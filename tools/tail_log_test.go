package tools_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/tools"
)

func (c *client) tail(args map[string]any) tools.LogLines {
	c.t.Helper()
	r := c.call("tail_log", args)
	var l tools.LogLines
	if r.IsError {
		c.t.Fatalf("tail_log %v: %s", args, r.Content[0].Text)
	}
	if err := json.Unmarshal(r.StructuredContent, &l); err != nil {
		c.t.Fatal(err)
	}
	return l
}

// short writes lines as number:text×repeats.
func short(l tools.LogLines) []string {
	out := []string{}
	for _, v := range l.Lines {
		s := fmt.Sprintf("%d:%s", v.Line, v.Text)
		if v.Repeats > 1 {
			s += fmt.Sprintf("×%d", v.Repeats)
		}
		out = append(out, s)
	}
	return out
}

func TestTailLog(t *testing.T) {
	log := write(t, "run.log", "a\nb\r\nx: 1%\rx: 50%\rx: 100%\nw\nw\nw\nerror one\nc\nERROR two\nd\n")
	c := dial(t, newServer(t, tools.Config{})).hello()
	for _, tc := range []struct {
		name string
		args map[string]any
		want []string
	}{
		{"all, bars collapsed and repeats folded", map[string]any{}, []string{"1:a", "2:b", "3:x: 100%", "4:w×3", "7:error one", "8:c", "9:ERROR two", "10:d"}},
		{"the last ones", map[string]any{"lines": 2}, []string{"9:ERROR two", "10:d"}},
		{"around a number", map[string]any{"around": 3, "lines": 3}, []string{"2:b", "3:x: 100%", "4:w"}},
		{"those that match", map[string]any{"match": "(?i)error"}, []string{"7:error one", "9:ERROR two"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.args["target"] = log
			if d := cmp.Diff(tc.want, short(c.tail(tc.args))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestACursorGoesOnWithoutLossAndGivesAnOpenLineAgain(t *testing.T) {
	log := write(t, "run.log", "a\nb\nhalf")
	c := dial(t, newServer(t, tools.Config{})).hello()
	first := c.tail(map[string]any{"target": log})
	if d := cmp.Diff([]string{"1:a", "2:b", "3:half"}, short(first)); d != "" || !first.AtEnd {
		t.Errorf("at_end %v\n%s", first.AtEnd, d)
	}
	add(t, log, " done\nc\nd\ne\n")
	var got []string
	cursor := first.Cursor
	for range 5 {
		next := c.tail(map[string]any{"target": log, "cursor": cursor, "lines": 2})
		got, cursor = append(got, short(next)...), next.Cursor
		if next.AtEnd {
			break
		}
	}
	if d := cmp.Diff([]string{"3:half done", "4:c", "5:d", "6:e"}, got); d != "" {
		t.Error(d)
	}
	if l := c.tail(map[string]any{"target": log, "cursor": cursor}); len(l.Lines) != 0 || !l.AtEnd {
		t.Errorf("nothing is new, got %+v", l)
	}
}

func TestALogThatBecameShorterIsReadFromItsStart(t *testing.T) {
	log := write(t, "run.log", strings.Repeat("old line\n", 50))
	c := dial(t, newServer(t, tools.Config{})).hello()
	cursor := c.tail(map[string]any{"target": log}).Cursor
	if err := os.WriteFile(log, []byte("new\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"1:new"}, short(c.tail(map[string]any{"target": log, "cursor": cursor}))); d != "" {
		t.Error(d)
	}
}

func TestABoundedTailGoesOnAtItsCursor(t *testing.T) {
	var b strings.Builder
	for i := 1; i <= 600; i++ {
		fmt.Fprintf(&b, "line %d %s\n", i, strings.Repeat("z", 100))
	}
	log := write(t, "run.log", "start\n")
	c := dial(t, newServer(t, tools.Config{})).hello()
	cursor := c.tail(map[string]any{"target": log}).Cursor
	add(t, log, b.String())
	next, seen := 2, 0
	for range 10 {
		l := c.tail(map[string]any{"target": log, "cursor": cursor, "lines": 600})
		for _, v := range l.Lines {
			if v.Line != next {
				t.Fatalf("line %d follows line %d", v.Line, next-1)
			}
			next, seen = next+1, seen+1
		}
		if cursor = l.Cursor; l.AtEnd {
			break
		}
	}
	if seen != 600 {
		t.Errorf("%d lines came, want 600", seen)
	}
	if l := c.tail(map[string]any{"target": log, "lines": 600}); l.Lines[len(l.Lines)-1].Line != 601 || l.Cut[0].Total != 600 {
		t.Errorf("of the last lines the oldest have to go: %+v", l.Cut)
	}
}

func add(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
