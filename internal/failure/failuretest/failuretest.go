// Package failuretest builds case files from small texts for the tests of the
// failure classes.
package failuretest

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/failure/all"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// Text is one stream of a run: a log when Kind is "".
type Text struct{ Name, Kind, Body string }

// File is the case file of one log, read with all signatures.
func File(t *testing.T, log string) *casefile.File {
	t.Helper()
	return Files(t, Text{Name: "run.log", Body: log})
}

// Files is the case file of several streams.
func Files(t *testing.T, texts ...Text) *casefile.File {
	t.Helper()
	f := casefile.New(Book(t).Matcher)
	var o run.Observation
	for _, x := range texts {
		o.Streams = append(o.Streams, run.Stream{
			Name: x.Name, Kind: x.Kind, Rank: run.NoRank, Size: int64(len(x.Body)),
			Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(x.Body)), nil },
		})
	}
	if err := f.Add(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return f
}

// Book is the compiled book of all classes.
func Book(t *testing.T) *failure.Book {
	t.Helper()
	b, err := all.Book()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Run is what a detector of a class sees in a case file.
func Run(t *testing.T, class report.Class, detector string, f *casefile.File) []failure.Sighting {
	t.Helper()
	for _, d := range Book(t).Class(class).Detectors {
		if d.Name == detector {
			return d.Run(f)
		}
	}
	t.Fatalf("class %s has no detector %q", class, detector)
	return nil
}
