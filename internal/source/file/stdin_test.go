package file

import (
	"io"
	"strings"
	"testing"
)

// forever gives a line again and again.
type forever struct{}

func (forever) Read(p []byte) (int, error) { return copy(p, "step 1/2 loss=1.0\n"), nil }

func TestAStreamWithoutAnEndIsReadToABound(t *testing.T) {
	in := newInput(forever{}, "-")
	in.most = 10_000
	defer in.Close()
	obs, err := in.observe(t.Context(), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(obs.Gaps) != 1 || !strings.Contains(obs.Gaps[0].Why, "has not ended") {
		t.Errorf("want a gap for the rest, got %v", obs.Gaps)
	}
	r, err := obs.Streams[0].Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := io.ReadAll(r); err != nil || len(b) != 10_000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
