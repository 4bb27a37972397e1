package evalmismatch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

// epochs writes Keras-like epoch lines.
func epochs(n int, acc, valLoss, valAcc func(i int) float64) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "Epoch %d/%d\n100/100 [==============================] - 9s 90ms/step - loss: %.4f - accuracy: %.4f - val_loss: %.4f - val_accuracy: %.4f\n", i, n, 2/float64(i), acc(i), valLoss(i), valAcc(i))
	}
	return b.String()
}

func rising(i int) float64 { return 1 - 0.6/float64(i) }

func level(v float64) func(int) float64 { return func(int) float64 { return v } }

func TestDetectors(t *testing.T) {
	sums := "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa  data/train/a.png\nbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb  data/train/b.png\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa  data/test/x.png\n"
	report25 := "              precision    recall  f1-score   support\nweighted avg       0.25      0.25      0.25       999\n"
	for _, c := range []struct {
		name, detector, log string
		want                int
	}{
		{"train improves, eval stays at chance", "eval-never-improved", epochs(12, rising, level(12.5), level(0.05)), 1},
		{"eval follows", "eval-never-improved", epochs(12, rising, level(0.4), rising), 0},
		{"over-fitting alone", "eval-never-improved", epochs(12, rising, level(1.4), func(i int) float64 { return 0.4 + 0.02*float64(i) }), 0},
		{"far below chance", "eval-below-chance", "num_labels: 3\n***** eval metrics *****\n  eval_accuracy = 0.0431\n  eval_loss = 5.1\n", 1},
		{"above chance", "eval-below-chance", "num_labels: 3\n  eval_accuracy = 0.89\n", 0},
		{"perfect from the first evaluation on while training is not", "eval-perfect-too-early", epochs(6, func(i int) float64 { return 0.5 + 0.05*float64(i) }, level(0.001), level(1)), 1},
		{"perfect at the end of a good training", "eval-perfect-too-early", epochs(6, rising, level(0.01), func(i int) float64 { return 1 - 0.2/float64(i*i*i) }), 0},
		{"the same files in train and test", "train-test-duplicates", sums, 1},
		{"a report that contradicts", "eval-report-contradicts", epochs(5, rising, level(0.2), level(0.95)) + report25, 1},
		{"every text of the same length", "eval-constant-length", strings.Repeat("{'eval_loss': 1.6, 'eval_rouge1': 23.6, 'eval_gen_len': 20.0, 'epoch': 1.0}\n", 3), 1},
		{"texts of different lengths", "eval-constant-length", "{'eval_loss': 1.6, 'eval_gen_len': 61.3, 'epoch': 1.0}\n{'eval_loss': 1.5, 'eval_gen_len': 64.9, 'epoch': 2.0}\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failuretest.Run(t, report.EvalMismatch, c.detector, failuretest.File(t, c.log)); len(got) != c.want {
				t.Errorf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}
