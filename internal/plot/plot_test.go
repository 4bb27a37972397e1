package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/plot"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// series makes a metric of n samples, one every ten steps.
func series(name string, n int, f func(i int) float64) *run.Series {
	s := &run.Series{Name: name}
	for i := range n {
		s.Add(run.Point{Step: int64(i * 10), Value: f(i)})
	}
	return s
}

// diverged is a run whose gradients explode at step 3,000 and whose loss is not
// finite from step 3,100.
func diverged() (*report.Diagnosis, []*run.Series) {
	d := report.NewDiagnosis()
	step, saved, path := int64(3000), int64(2500), "checkpoint-2500"
	d.Summary, d.PrimaryCause = "diverged: nan-inf, the gradients exploded", report.NaNInf
	d.EvidenceRefs = []report.EvidenceRef{{Step: &step, Role: report.RoleCause}}
	began := int64(2990)
	d.Seen = []report.Anomaly{{Type: report.AnomalyNaNInf, Step: &step}, {Type: report.AnomalyGradientExplosion, Step: &began}}
	d.Checkpoints, d.BestCheckpoint = []report.Checkpoint{{Path: path, Step: &saved}}, &path
	r := rand.New(rand.NewPCG(1, 2))
	return d, []*run.Series{
		series("loss", 400, func(i int) float64 {
			switch {
			case i >= 310:
				return math.NaN()
			case i >= 300:
				return 2 * math.Pow(2, float64(i-300))
			}
			return 2 + 8*math.Exp(-float64(i)/60) + 0.3*r.NormFloat64()
		}),
		series("eval_loss", 6, func(i int) float64 { return 9 - float64(i) }),
		series("grad_norm", 400, func(i int) float64 {
			if i >= 300 && i < 310 {
				return math.Pow(10, float64(i-300)/2)
			} else if i >= 310 {
				return math.Inf(1)
			}
			return 0.8 + 0.2*r.Float64()
		}),
		series("lr", 400, func(i int) float64 { return min(3e-4, float64(i)*1e-5) }),
	}
}

// spiky is a run of n samples that goes well, though its loss jumps twice and
// comes back.
func spiky(n int) (*report.Diagnosis, []*run.Series) {
	r := rand.New(rand.NewPCG(3, 4))
	d := report.NewDiagnosis()
	d.Summary = "healthy: no sign of a failure"
	through := func(i int) float64 { return float64(i) / float64(n) }
	return d, []*run.Series{
		series("loss", n, func(i int) float64 {
			v := 1 + 3*math.Exp(-4*through(i)) + 0.05*r.NormFloat64()
			if i == n/3 || i == n*2/3+1 {
				v *= 3
			}
			return v
		}),
		series("lr", n, func(i int) float64 { return 1e-4 * (1 + math.Cos(math.Pi*through(i))) }),
		series("tokens_per_second", n, func(int) float64 { return 52_000 + 400*r.NormFloat64() }),
	}
}

// confused is a run of six metrics that are noise alone: the largest picture.
func confused() (*report.Diagnosis, []*run.Series) {
	r := rand.New(rand.NewPCG(5, 6))
	var all []*run.Series
	for _, name := range []string{"loss", "grad_norm", "lr", "accuracy", "perplexity", "loss_scale"} {
		all = append(all, series(name, 4000, func(int) float64 { return r.ExpFloat64() }))
	}
	return report.NewDiagnosis(), all
}

func TestAPictureIsAPNG(t *testing.T) {
	for name, of := range map[string]func() (*report.Diagnosis, []*run.Series){"diverged": diverged, "spiky": func() (*report.Diagnosis, []*run.Series) { return spiky(3000) }, "confused": confused} {
		var b bytes.Buffer
		if err := plot.Of(of()).PNG(&b); err != nil {
			t.Fatal(err)
		}
		size := b.Len()
		if dir := os.Getenv("SCREENSHOTS"); dir != "" { // to look at it
			if err := os.WriteFile(filepath.Join(dir, name+".png"), b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		img, err := png.Decode(&b)
		if err != nil || img.Bounds().Dx() < 720 || size > plot.MaxPNG {
			t.Errorf("%s: %d bytes, %v", name, size, err)
		}
	}
}

func TestSpikesAreMarked(t *testing.T) {
	rings := func(svg string) int { return strings.Count(svg, "A3.5,3.5") / 2 } // two arcs each
	svg := vector(t, plot.Of(spiky(3000)))
	if n := rings(svg); n != 2 || !strings.Contains(svg, ">spike to ") {
		t.Errorf("%d rings", n)
	}
	if n := rings(vector(t, plot.Of(spiky(30_001)))); n == 0 {
		t.Error("the highest spike is lost where samples are thinned")
	}
	if n := rings(vector(t, plot.Of(diverged()))); n != 0 {
		t.Error("what never comes down again is no spike")
	}
}

func TestAPictureSaysWhatHappened(t *testing.T) {
	svg := vector(t, plot.Of(diverged()))
	for _, want := range []string{
		">loss<", ">eval_loss  (logarithmic)<", ">grad_norm  (logarithmic)<", ">lr<", ">step<", ">NaN from step 3100<", ">infinite from step 3100<", ">nan-inf, step 3000<", ">gradient-explosion, step 2990<", ">checkpoint, step 2500<",
		"diverged: nan-inf", "var(--plot-alarm)", "var(--plot-first)",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in the picture", want)
		}
	}
	if strings.Contains(svg, "fill:#") || strings.Contains(svg, "stroke:#") || strings.Contains(svg, "NaN,") {
		t.Error("a colour is not the page's, or a place is not a number")
	}
}

// vector draws an SVG and reads it as XML.
func vector(t *testing.T, p plot.Picture) string {
	t.Helper()
	var b strings.Builder
	if err := p.SVG(&b); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return b.String()
		} else if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
	}
}

func TestOddSeriesAreDrawnToo(t *testing.T) {
	noStep := &run.Series{Name: "loss"}
	for i := range 5 {
		noStep.Add(run.Point{Step: -1, Value: float64(i)})
	}
	rewound := &run.Series{Name: "loss"}
	for _, s := range []int64{1, 2, 3, 2, 3, 4} {
		rewound.Add(run.Point{Step: s, Value: float64(s)})
	}
	for name, list := range map[string][]*run.Series{
		"none":            nil,
		"nil":             {nil},
		"one sample":      {series("loss", 1, func(int) float64 { return 1 })},
		"constant":        {series("lr", 9, func(int) float64 { return 1e-4 })},
		"zeros":           {series("lr", 9, func(int) float64 { return 0 })},
		"nothing finite":  {series("loss", 9, func(int) float64 { return math.NaN() })},
		"the largest":     {series("loss", 9, func(i int) float64 { return math.MaxFloat64 * float64(i%3-1) })},
		"the smallest":    {series("loss", 9, func(i int) float64 { return math.SmallestNonzeroFloat64 * float64(i+1) })},
		"wide":            {series("loss", 9, func(i int) float64 { return math.Pow(10, float64(i*70-300)) })},
		"without steps":   {noStep},
		"resumed":         {rewound},
		"full":            {series("loss", 20000, func(i int) float64 { return math.Sin(float64(i)) })},
		"a name as a tag": {series("<script>alert(1)</script>", 9, func(i int) float64 { return float64(i) })},
	} {
		t.Run(name, func(t *testing.T) {
			svg := vector(t, plot.Of(report.NewDiagnosis(), list))
			if strings.Contains(svg, "<script") || len(svg) > 200<<10 {
				t.Errorf("%d bytes", len(svg))
			}
			if err := plot.Of(report.NewDiagnosis(), list).PNG(io.Discard); err != nil {
				t.Error(err)
			}
		})
	}
}
