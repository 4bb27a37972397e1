package casefile

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/run"
)

// told is a case file that was told samples: "name step value", or
// "tracker|name step value".
func told(t *testing.T, lines ...string) *File {
	t.Helper()
	m, err := NewMatcher(nil)
	if err != nil {
		t.Fatal(err)
	}
	f := New(m)
	var o run.Observation
	for i, l := range lines {
		var s run.Sample
		if _, err := fmt.Sscan(l, &s.Name, &s.Step, &s.Value); err != nil {
			t.Fatal(l, err)
		}
		if tracker, name, ok := strings.Cut(s.Name, "|"); ok {
			s.Tracker, s.Name = tracker, name
		}
		s.At, s.Ref = time.Unix(int64(i), 0), run.Ref{File: "events", Offset: int64(i)}
		o.Samples = append(o.Samples, s)
	}
	if err := f.Add(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSamplesTellProgress(t *testing.T) {
	for name, c := range map[string]struct {
		samples []string
		step    int64
		rewound int64
	}{
		"the highest step of training":     {[]string{"loss 10 1", "lr 20 0.1", "loss 20 1"}, 20, -1},
		"an evaluation trains nothing":     {[]string{"loss 10 1", "eval_loss 900 1", "val/acc 901 1"}, 10, -1},
		"nor does the machine":             {[]string{"loss 10 1", "system/cpu 5000 1"}, 10, -1},
		"what counts epochs takes none":    {[]string{"loss 10 1", "Loss_of_epoch 1 1", "loss 20 1", "Loss_of_epoch 2 1"}, 20, -1},
		"a resume goes back":               {[]string{"train/loss 10 1", "train/loss 20 1", "train/loss 11 1"}, 11, 11},
		"metric after metric is no resume": {[]string{"loss 10 1", "loss 20 1", "lr 10 1", "lr 20 1"}, 20, -1},
		"no steps are no steps":            {[]string{"loss 0 1", "loss 0 1", "loss 0 1"}, 0, -1},
	} {
		t.Run(name, func(t *testing.T) {
			g := told(t, c.samples...).Main().Progress()
			if g.Step != c.step || g.RewoundTo != c.rewound {
				t.Errorf("want %d, %d; got %+v", c.step, c.rewound, g)
			}
		})
	}
	if m := told(t, "eval_loss 3 1").Main(); m != nil {
		t.Errorf("an evaluation alone is progress: %+v", m.Progress())
	}
	if e := told(t, "loss 5 1", "train/epoch 5 0.5").Main().Progress().Epoch; e != 0.5 {
		t.Errorf("epoch %v", e)
	}
}

func TestSamplesOfDifferentMetricsStayApart(t *testing.T) {
	for name, c := range map[string]struct {
		samples []string
		want    string
	}{
		"the first that means it":      {[]string{"train/loss 1 1", "train/loss_epoch 1 2"}, "loss=1 train/loss_epoch=2"},
		"the one that is spelled so":   {[]string{"train_loss 1 1", "loss 1 2"}, "loss=2 train_loss=1"},
		"two trackers of one run":      {[]string{"a|loss 1 1", "b|loss 1 2"}, "b:loss=2 loss=1"},
		"two trackers of one spelling": {[]string{"a|x 1 1", "b|x 1 2", "b|x 2 3"}, "b:x=3 x=1"},
		"spelled so after two others":  {[]string{"a|train/loss 1 1", "b|train/loss 1 2", "c|loss 1 3"}, "a:train/loss=1 b:train/loss=2 loss=3"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range told(t, c.samples...).AllSeries() {
				got = append(got, fmt.Sprint(s.Name, "=", s.Last.Value))
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestASampleIsQuoted(t *testing.T) {
	f := told(t, "train/loss 1 1", "train/loss 2 NaN", "train/loss 3 NaN")
	s := f.Series("loss")
	if !math.IsNaN(s.Last.Value) || s.FirstNonFinite.Step != 2 {
		t.Fatalf("%+v", s)
	}
	if diff := cmp.Diff("train/loss = NaN at step 2", f.TextAt(s.FirstNonFinite.Ref)); diff != "" {
		t.Error(diff)
	}
}

func TestTooManyMetricsAreAGap(t *testing.T) {
	var many []string
	for i := range maxSeries + 5 {
		many = append(many, fmt.Sprintf("layer%d 1 1", i))
	}
	f := told(t, append(many, "train/loss 1 7")...)
	if s := f.Series("loss"); s == nil || s.Last.Value != 7 || len(f.Gaps) != 1 {
		t.Errorf("loss %+v, gaps %+v", s, f.Gaps)
	}
}
