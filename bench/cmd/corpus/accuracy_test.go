package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/bench/golden"
)

func TestDocument(t *testing.T) {
	fake := func(want, got string, confidence float64, others ...string) trial {
		return trial{id: "x", want: truth{Primary: want}, got: answer{Primary: got, Confidence: &confidence}, others: others}
	}
	all := []collection{
		{name: "cases", dir: "some/cases", trials: []trial{
			fake("oom", "oom", 0.92, failed, failed, "oom"), fake("oom", "stalled", 0.55, none, failed, none), fake("stalled", "stalled", 0.85, none, none, "crash"), fake(none, none, 0.9, none, failed, none),
		}},
		{name: "healthy", dir: "some/logs", trials: []trial{fake(none, none, 0.9, none, none, none), fake(none, "oom", 0.4, none, failed, "oom")}},
	}
	golden.Compare(t, "accuracy.md", document(all))
	golden.Compare(t, "calibration.svg", calibrationPicture(joined(all)))
}

// TestThePublishedAccuracyIsOfThisTree wants of docs/ACCURACY.md that it speaks
// of as many runs as there are; to measure them all takes minutes.
func TestThePublishedAccuracyIsOfThisTree(t *testing.T) {
	text, err := os.ReadFile("../../../docs/ACCURACY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range collections() {
		trials, err := c.load(filepath.Join("../../..", c.dir))
		if err != nil {
			t.Fatal(err)
		}
		failures := 0
		for i := range trials {
			if trials[i].failure() {
				failures++
			}
		}
		_, row, ok := strings.Cut(string(text), "| ["+c.name+"]")
		row, _, _ = strings.Cut(row, "\n")
		for _, n := range []int{failures, len(trials) - failures} {
			if !ok || n > 0 && !strings.Contains(row, fmt.Sprintf(" of %d: ", n)) {
				t.Errorf("%s has %d failures and %d others, docs/ACCURACY.md says %s: run make accuracy", c.name, failures, len(trials)-failures, row)
			}
		}
	}
}

// TestInterval compares with published values of the exact interval.
func TestInterval(t *testing.T) {
	for _, c := range []struct {
		share
		low, high float64
	}{
		{share{0, 10}, 0, 0.3085},
		{share{10, 10}, 0.6915, 1},
		{share{5, 10}, 0.1871, 0.8129},
		{share{0, 133}, 0, 0.0274},
		{share{15, 148}, 0.0578, 0.1617},
		{share{0, 0}, 0, 1},
	} {
		if low, high := c.interval(); math.Abs(low-c.low) > 1e-3 || math.Abs(high-c.high) > 1e-3 {
			t.Errorf("%v: want %.4f to %.4f, got %.4f to %.4f", c.share, c.low, c.high, low, high)
		}
	}
}

func TestBaselines(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"run.log":   "step 1 loss=2\nRuntimeError: CUDA out of memory\nexited with code 1\n",
		"want.json": `{"classes_primary": "Segmentation fault"}`,
		"model.pt":  "binary\x00 quota",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ask(dir)
	if want := []string{failed, failed, "oom"}; err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("want %v, got %v %v", want, got, err)
	}
	for line, want := range map[string]string{"exit code: 0": none, "exit_code=137": failed, "step 3 loss=1.0": none} {
		if got := exitCode([]string{line}); got != want {
			t.Errorf("%s: want %s, got %s", line, want, got)
		}
	}
	if got := tailGrep(append([]string{"Error"}, make([]string, 200)...)); got != none {
		t.Errorf("an error far above the end: %s", got)
	}
}
