package divergence_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// classifier writes steps of a loss with an evaluation after every tenth.
func classifier(n int, stride int, loss, acc func(i int) float64) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "step %d | loss %.4f\n", i*stride, loss(i))
		if i%10 == 0 {
			fmt.Fprintf(&b, "step %d | eval_loss %.4f | eval_accuracy %.4f\n", i*stride, loss(i), acc(i))
		}
	}
	return b.String()
}

func TestCollapses(t *testing.T) {
	wave := func(i int) float64 { return 0.001 * float64(i%3-1) }
	learnt := func(i int) float64 { return max(1.0, 6.9-0.1*float64(i)) }
	lost := func(i int) float64 {
		if i < 20 {
			return learnt(i)
		}
		return 6.91 + wave(i)
	}
	chance := func(int) float64 { return 0.001 }
	lostAcc := func(i int) float64 {
		if i < 20 {
			return 0.02
		}
		return 0.001
	}
	for _, c := range []struct {
		name, detector, log string
		want                int
	}{
		{"back to the guesses of a thousand classes", "predicts-uniform", classifier(60, 100, lost, lostAcc), 1},
		{"trained for long without learning", "predicts-uniform", classifier(80, 100, func(i int) float64 { return 6.91 + wave(i) }, chance), 1},
		{"the beginning of a training", "predicts-uniform", classifier(30, 10, func(i int) float64 { return 6.91 + wave(i) }, chance), 0},
		{"a model that learns", "predicts-uniform", classifier(60, 100, learnt, func(i int) float64 { return 0.01 * float64(i) }), 0},
		{"a hard problem of two classes", "predicts-uniform", classifier(80, 100, func(i int) float64 { return 0.681 + wave(i) }, func(int) float64 { return 0.551 }), 0},
		{"learnt, lost again and still", "learning-undone", classifier(80, 100, lost, lostAcc), 1},
		{"learnt and lost, still moving", "learning-undone", classifier(80, 100, func(i int) float64 { return lost(i) + 0.3*math.Sin(float64(i)/4) }, lostAcc), 0},
		{"learnt and kept", "learning-undone", classifier(80, 100, learnt, lostAcc), 0},
		{"one score for ever, no learning", "same-score-always", classifier(80, 10, func(i int) float64 { return 4.1 + wave(i) }, func(int) float64 { return 0.0893 }), 1},
		{"one score for ever while the loss falls", "same-score-always", classifier(80, 10, learnt, func(int) float64 { return 0.0893 }), 0},
		{"a good score that saturates", "same-score-always", classifier(80, 10, func(i int) float64 { return 0.1 + wave(i) }, func(int) float64 { return 0.97 }), 0},
		{"a perplexity cut at exp(100)", "perplexity-absurd", strings.Repeat("Step 50/1000; acc: 0.06; ppl: 26881171418161356094253400435962903554686976.00; xent: 5377.84; lr: 2.0\n", 8), 1},
		{"a large perplexity that falls", "perplexity-absurd", ppl(func(i int) float64 { return 1e9 / float64(i*i*i*i) }), 0},
		{"a latent code that is not used", "posterior-collapse", vae(func(i int) float64 { return 2.1 / math.Pow(4, float64(i)) }), 1},
		{"a latent code that is used", "posterior-collapse", vae(func(i int) float64 { return 2 + 6/float64(i+1) }), 0},
		{"boosting that overshoots in each round", "loss-explosion", rounds(func(i int) float64 { return 50 * math.Pow(1.3, float64(i)) }), 1},
		{"boosting that learns", "loss-explosion", rounds(func(i int) float64 { return 50 / float64(i+1) }), 0},
		{"one per cent of a thousand classes, said in per cent", "predicts-uniform", strings.ReplaceAll(classifier(80, 100, func(i int) float64 { return 6.91 + wave(i) }, func(int) float64 { return 0.1 }), "eval_accuracy", "eval_acc@1"), 1},
		{"a masked language model on its plateau", "predicts-uniform", classifier(80, 100, func(i int) float64 { return 6.91 + wave(i) }, func(int) float64 { return 0.1 }), 0},
		{"a reward that only falls", "reward-falls", reward(func(i int) float64 { return 1 - float64(i*i)/4 }), 1},
		{"a reward that grows", "reward-falls", reward(func(i int) float64 { return float64(i) }), 0},
		{"a reward that dips and comes back", "reward-falls", reward(func(i int) float64 { return float64((i-10)*(i-10)) / 4 }), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := see(t, c.detector, c.log); len(got) != c.want {
				t.Errorf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}

func ppl(f func(i int) float64) string {
	var b strings.Builder
	for i := 1; i <= 30; i++ {
		fmt.Fprintf(&b, "step %d loss 4.2 ppl %.1f\n", i, f(i))
	}
	return b.String()
}

func vae(kl func(i int) float64) string {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "epoch %d/30 | loss %.3f | recon %.3f | kl %.6f\n", i+1, 400-float64(i), 398-float64(i), kl(i))
	}
	return b.String()
}

func rounds(f func(i int) float64) string {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "[%d]\ttrain-rmse:%.5f\ttest-rmse:%.5f\n", i, f(i), 1.01*f(i))
	}
	return b.String()
}

func reward(f func(i int) float64) string {
	var b strings.Builder
	for i := 1; i <= 20; i++ {
		fmt.Fprintf(&b, "INFO: Brain: Step: %d. Mean Reward: %.3f. Std of Reward: 0.500.\n", i*1000, f(i))
	}
	return b.String()
}

// TestRoundedEpochs: a step that is reckoned from a rounded epoch may go back a
// little, and a rise is still seen; so is none in noise of few points.
func TestRoundedEpochs(t *testing.T) {
	var rounded, noisy strings.Builder
	for i := range 100 {
		step := i * 10
		if i == 40 {
			step = 385
		}
		loss := 0.69 + 0.002*float64(i%3)
		if i < 12 {
			loss = 0.69 - 0.02*float64(i)
		}
		fmt.Fprintf(&rounded, "step %d | loss %.4f\n", step, loss)
	}
	if got := see(t, "loss-blow-up", rounded.String()); len(got) != 1 {
		t.Errorf("a loss that came back to its start: want 1 sighting, got %+v", got)
	}
	values := []float64{0.75, 0.71, 0.64, 0.67, 0.80, 0.74, 0.77, 0.75, 0.62, 0.70, 0.69, 0.58, 0.66, 0.79, 0.61, 0.53, 4.3, 0.71, 0.76, 0.80, 0.70, 0.75, 0.79, 0.68, 0.80, 0.61, 0.65, 0.75, 0.80, 0.64, 0.76, 0.79, 0.68, 0.80}
	for i, v := range values {
		fmt.Fprintf(&noisy, "step %d | loss %.4f\n", 2550+i, v)
	}
	if got := see(t, "loss-blow-up", noisy.String()); len(got) != 0 {
		t.Errorf("noise with one spike: want nothing, got %+v", got)
	}
}
