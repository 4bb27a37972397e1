package naninf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

// lines writes one line a step; loss gives the spelled value.
func lines(n int, form string, loss func(i int) string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, form+"\n", i, n, loss(i))
	}
	return b.String()
}

func falling(i int) string { return fmt.Sprintf("%.4f", 2.5-0.004*float64(i)) }

func run(t *testing.T, detector, log string) []failure.Sighting {
	t.Helper()
	return failuretest.Run(t, report.NaNInf, detector, failuretest.File(t, log))
}

func TestNaNLoss(t *testing.T) {
	const form = "step %d/%d loss %s lr 0.001"
	for _, c := range []struct {
		name  string
		log   string
		step  int64
		cause string
	}{
		{"within the first 100 steps", lines(40, form, func(i int) string {
			if i > 6 {
				return "nan"
			}
			return falling(i)
		}), 7, "early-nan"},
		{"after many stable steps", lines(400, form, func(i int) string {
			if i > 320 {
				return "inf"
			}
			return falling(i)
		}), 321, "late-nan"},
		{"a settled loss is stable at any step", lines(60, form, func(i int) string {
			if i > 50 {
				return "nan"
			}
			return fmt.Sprintf("%.3f", 0.5+2/float64(i))
		}), 51, "late-nan"},
		{"one skipped step is none", lines(100, form, func(i int) string {
			if i == 50 {
				return "nan"
			}
			return falling(i)
		}), -1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := run(t, "loss-non-finite", c.log)
			if c.cause == "" {
				if len(got) > 0 {
					t.Fatalf("want nothing, got %+v", got)
				}
				return
			}
			if len(got) != 1 || got[0].Step != c.step || got[0].Cause != c.cause {
				t.Errorf("want step %d cause %s, got %+v", c.step, c.cause, got)
			}
		})
	}
}

func TestNaNMaskedAsZero(t *testing.T) {
	form := "{'loss': %[3]s, 'grad_norm': %[4]s, 'learning_rate': 1e-05, 'epoch': 0.0%[1]d}"
	log := func(norm string) string {
		var b strings.Builder
		for i := 1; i <= 9; i++ {
			loss, n := "1.25", "0.8"
			if i > 5 {
				loss, n = "0.0", norm
			}
			fmt.Fprintf(&b, form+"\n", i, 9, loss, n)
		}
		return b.String()
	}
	if got := run(t, "loss-masked-zero", log("nan")); len(got) != 1 || got[0].Weight < 0.8 {
		t.Errorf("loss 0.0 beside grad_norm nan: %+v", got)
	}
	perfect := lines(30, "step %d/%d train_loss %s accuracy 1.0", func(i int) string { return fmt.Sprintf("%.4f", 0.04/float64(i*i*i)) })
	if got := run(t, "loss-masked-zero", perfect); len(got) != 0 {
		t.Errorf("a loss that falls to 0.0000 by itself is none: %+v", got)
	}
}

func TestVanishedColumn(t *testing.T) {
	var b strings.Builder
	for i := 10; i <= 200; i += 10 {
		loss := fmt.Sprintf(" lm loss: %.6E |", 3-float64(i)/200)
		nan := 0
		if i > 100 {
			loss, nan = "", i-100
		}
		fmt.Fprintf(&b, " [2024-01-01 00:00:%02d] iteration %8d/     1000 | consumed samples: %d | elapsed time per iteration (ms): 100.1 | learning rate: 1.0E-04 |%s grad norm: 1.1 | number of skipped iterations:   0 | number of nan iterations: %3d |\n", i%60, i, i*8, loss, nan)
	}
	got := run(t, "loss-vanished", b.String())
	if len(got) != 1 || got[0].Step != 100 {
		t.Errorf("want the column to vanish after step 100, got %+v", got)
	}
}

func TestNoFiniteGradient(t *testing.T) {
	still := func(i int) string { return fmt.Sprintf("%.4f grad_norm: nan", 1.95+0.001*float64(i%3)) }
	for _, c := range []struct {
		name, log string
		want      int
	}{
		{"every norm is NaN and nothing is learnt", lines(30, "step %d/%d loss: %s", still), 1},
		{"the norm is not computed, the loss falls", lines(30, "step %d/%d loss: %s", func(i int) string { return fmt.Sprintf("%.4f grad_norm: nan", 2/float64(i)) }), 0},
		{"one norm is NaN", lines(30, "step %d/%d loss: %s", func(i int) string {
			if i == 4 {
				return still(i)
			}
			return "1.95 grad_norm: 0.7"
		}), 0},
		{"the scale was halved to nothing", lines(30, "step %d/%d loss: %s", func(i int) string { return fmt.Sprintf("1.95 loss_scale: %g", 32768/float64(uint64(1)<<(2*i))) }), 1},
		{"a scale that holds", lines(30, "step %d/%d loss: %s", func(int) string { return "1.95 loss_scale: 1024" }), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := run(t, "no-finite-gradient", c.log); len(got) != c.want {
				t.Errorf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}
