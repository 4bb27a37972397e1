package divergence_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

func see(t *testing.T, detector, log string) []failure.Sighting {
	t.Helper()
	return failuretest.Run(t, report.Divergence, detector, failuretest.File(t, log))
}

// curve writes a log of a loss curve with a little noise.
func curve(n int, noise float64, loss func(x float64) float64) string {
	r := rand.New(rand.NewPCG(7, 7))
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "step %d/%d | loss %.5g | lr 3.00e-04\n", i*10, n*10, loss(float64(i)/float64(n))*(1+noise*r.NormFloat64()))
	}
	return b.String()
}

func TestLossBlowUp(t *testing.T) {
	falls := func(x float64) float64 { return 2 + 8*math.Exp(-8*x) }
	for _, c := range []struct {
		name string
		loss func(x float64) float64
		want int
	}{
		{"rises far above its best and stays", func(x float64) float64 { return falls(math.Min(x, 0.5)) + 8*math.Max(0, x-0.5) }, 1},
		{"jumps to a plateau", func(x float64) float64 {
			if x > 0.6 {
				return 7
			}
			return falls(x)
		}, 1},
		{"a pre-trained model's first loss is its best", func(x float64) float64 { return 2.1 + 3.6*math.Min(1, 12*x) }, 1},
		{"begins at its floor and rises a little", func(x float64) float64 { return 0.3 + 0.3*math.Min(1, 12*x) }, 0},
		{"falls", falls, 0},
		{"a spike that comes down", func(x float64) float64 { return falls(x) + 30*math.Exp(-math.Pow((x-0.5)/0.02, 2)) }, 0},
		{"creeps up a little, as over-fitting does", func(x float64) float64 { return falls(x) + 0.2*math.Max(0, x-0.5) }, 0},
		{"oscillates", func(x float64) float64 { return 2 + math.Sin(40*x) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := see(t, "loss-blow-up", curve(200, 0.03, c.loss)); len(got) != c.want {
				t.Errorf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}

func TestLossExplosion(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "update %d | total_steps %d | actor_loss -0.012 | critic_loss %.4e\n", i, i*2048, math.Pow(10, float64(i)/3))
	}
	if got := see(t, "loss-explosion", b.String()); len(got) != 1 {
		t.Errorf("a critic's loss of 1e12: %+v", got)
	}
	var hot strings.Builder
	for i, v := range []float64{3.4, 2.3, 1.9, 1.88, 2.4, 3.6, 6.8, 19.4, 88.2, 741, 9137} {
		fmt.Fprintf(&hot, "step %d/9000 | loss %g\n", 20*i, v)
	}
	if got := see(t, "loss-explosion", hot.String()); len(got) != 1 {
		t.Errorf("a loss that multiplies in each reading to the end: %+v", got)
	}
	if got := see(t, "loss-explosion", hot.String()+"step 240/9000 | loss 3.1\n"); len(got) != 0 {
		t.Errorf("a loss that came back: %+v", got)
	}
	if got := see(t, "loss-explosion", curve(50, 0.1, func(x float64) float64 { return 5 - x })); len(got) != 0 {
		t.Errorf("a falling loss: %+v", got)
	}
}

func TestPolicyCollapse(t *testing.T) {
	var b strings.Builder
	for i := range 60 {
		kl, reward := 0.01, 0.6+0.01*float64(i)
		if i > 30 {
			kl, reward = 90, 0
		}
		fmt.Fprintf(&b, "{'loss': 0.01, 'reward': %.3f, 'kl': %.3f, 'epoch': %.2f}\n", reward, kl, float64(i)/60)
	}
	if got := see(t, "policy-collapse", b.String()); len(got) != 1 {
		t.Errorf("want one sighting, got %+v", got)
	}
	for name, c := range map[string]struct {
		kl, reward float64 // change in a step
		want       int
	}{"paid for a negative estimate": {-0.4, -0.05, 1}, "an estimate around nothing": {0, -0.05, 0}, "a policy that gains": {-0.4, 0.05, 0}} {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, "{'objective/kl': %.3f, 'ppo/policy/entropy': 1.5, 'env/reward_mean': %.3f}\n", 0.01*float64(i%3-1)+c.kl*float64(i), 0.5+c.reward*float64(i))
		}
		if got := see(t, "policy-collapse", b.String()); len(got) != c.want {
			t.Errorf("%s: want %d sightings, got %+v", name, c.want, got)
		}
	}
}

func TestOffExpectationNeedsTheTask(t *testing.T) {
	log := "num_labels: 10\n" + curve(20, 0, func(x float64) float64 { return 40 - x })
	f := failuretest.File(t, log)
	if got := failuretest.Run(t, report.Divergence, "start-off-expectation", f); len(got) != 0 {
		t.Errorf("without --task: %+v", got)
	}
	f.Task = "classification"
	if got := failuretest.Run(t, report.Divergence, "start-off-expectation", f); len(got) != 1 || !strings.Contains(got[0].Says, "ln(10") {
		t.Errorf("with --task classification: %+v", got)
	}
}
