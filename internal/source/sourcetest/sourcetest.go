// Package sourcetest is the conformance suite that every source must pass: what
// a case file relies on and a fake cannot show.
package sourcetest

import (
	"context"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Run tests the sources that open makes; each must show the same target, which
// does not change while the test runs.
func Run(t *testing.T, open func(t *testing.T) source.Source) {
	t.Helper()
	t.Run("streams open and close twice and say the same", func(t *testing.T) { streams(t, observe(t, open(t), nil)) })
	t.Run("names are unique and relative", func(t *testing.T) { names(t, observe(t, open(t), nil)) })
	t.Run("gaps say what, why and what to ask for", func(t *testing.T) { gaps(t, observe(t, open(t), nil)) })
	t.Run("refs point into the target", func(t *testing.T) { refs(t, observe(t, open(t), nil)) })
	t.Run("a second look at an unchanged target finds nothing new", func(t *testing.T) { second(t, open(t)) })
	t.Run("a cancelled context ends the look", func(t *testing.T) { cancelled(t, open(t)) })
	t.Run("close is idempotent", func(t *testing.T) {
		s := open(t)
		for range 2 {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
	})
}

func observe(t *testing.T, s source.Source, since run.Cursor) run.Observation {
	t.Helper()
	t.Cleanup(func() { s.Close() })
	obs, err := s.Observe(t.Context(), since)
	if err != nil {
		t.Fatalf("Observe: %v", err)
	}
	return obs
}

func streams(t *testing.T, obs run.Observation) {
	for _, st := range obs.Streams {
		first, second := read(t, st), read(t, st)
		if first != second {
			t.Errorf("%s: the second reading differs", st.Name)
		}
		if st.Size > 0 && st.Size != int64(len(first)) {
			t.Errorf("%s: Size is %d, %d bytes were read", st.Name, st.Size, len(first))
		}
		if st.Kind == "" {
			t.Errorf("%s: no Kind", st.Name)
		}
	}
}

// read reads a stream to its end; a damaged one ends with an error, which is
// part of what it says.
func read(t *testing.T, st run.Stream) string {
	t.Helper()
	text, err := drain(t, st)
	if err != nil {
		return text + "\x00" + err.Error()
	}
	return text
}

// Text reads a stream that has to be whole to its end.
func Text(t *testing.T, st run.Stream) string {
	t.Helper()
	text, err := drain(t, st)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// drain reads a stream until it ends, and closes it twice, as callers may.
func drain(t *testing.T, st run.Stream) (string, error) {
	t.Helper()
	r, err := st.Open(t.Context())
	if err != nil {
		t.Fatalf("%s: Open: %v", st.Name, err)
	}
	b, err := io.ReadAll(r)
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("%s: Close: %v", st.Name, err)
		}
	}
	return string(b), err
}

func names(t *testing.T, obs run.Observation) {
	seen := map[string]bool{}
	for _, st := range obs.Streams {
		if seen[st.Name] {
			t.Errorf("two streams are named %s", st.Name)
		}
		seen[st.Name] = true
		if st.Name == "" || path.IsAbs(st.Name) || strings.Contains(st.Name, `\`) || strings.HasPrefix(path.Clean(st.Name), "..") {
			t.Errorf("%q is no relative name with forward slashes", st.Name)
		}
	}
}

func gaps(t *testing.T, obs run.Observation) {
	for _, g := range obs.Gaps {
		if g.What == "" || g.Why == "" || g.Ask == "" {
			t.Errorf("incomplete gap %+v", g)
		}
	}
}

func refs(t *testing.T, obs run.Observation) {
	check := func(what string, r run.Ref) {
		if path.IsAbs(r.File) || r.Line < 0 || r.Offset < 0 {
			t.Errorf("%s: bad ref %+v", what, r)
		}
	}
	for _, f := range obs.Facts {
		check(f.Key, f.From)
		if f.Key == "" || strings.ContainsAny(f.Key, "\n") {
			t.Errorf("bad fact key %q", f.Key)
		}
	}
	for _, s := range obs.Samples {
		check(s.Name, s.Ref)
	}
	for _, c := range obs.Checkpoints {
		check(c.Path, c.Ref)
	}
}

func second(t *testing.T, s source.Source) {
	obs := observe(t, s, nil)
	again := observe(t, s, obs.Next)
	if n := len(again.Streams) + len(again.Samples) + len(again.Facts) + len(again.Checkpoints) + len(again.Processes); n > 0 || again.Pipeline != nil {
		t.Errorf("the second look has %d streams, %d samples, %d facts, %d checkpoints, %d processes, pipeline %v",
			len(again.Streams), len(again.Samples), len(again.Facts), len(again.Checkpoints), len(again.Processes), again.Pipeline != nil)
	}
	third := observe(t, s, again.Next)
	if n := len(third.Streams) + len(third.Samples) + len(third.Facts); n > 0 {
		t.Error("the third look finds what the second did not")
	}
}

func cancelled(t *testing.T, s source.Source) {
	obs := observe(t, s, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Observe(ctx, nil); err == nil {
		t.Error("Observe did not mind a cancelled context")
	}
	for _, st := range obs.Streams {
		if r, err := st.Open(ctx); err == nil {
			r.Close()
			t.Errorf("%s: Open did not mind a cancelled context", st.Name)
		}
	}
}
