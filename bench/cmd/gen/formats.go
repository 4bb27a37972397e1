package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// run is a training run that goes well: what its metric lines speak of.
type run struct {
	r                   *rand.Rand
	step, clock         int // clock in seconds
	loss, lr, norm, sps float64
}

// format is how one program prints its metrics.
type format struct {
	name string
	end  string
	line func(*run) string
}

// formats stand in the order of the given study; bars are those that end in \r.
var formats = []format{
	{"hf", "\n", (*run).hf},
	{"megatron", "\n", (*run).megatron},
	{"json", "\n", (*run).json},
	{"keyvalue", "\n", (*run).keyvalue},
	{"fairseq", "\n", (*run).fairseq},
	{"tqdm", "\r", (*run).tqdm},
	{"lightning", "\r", (*run).lightning},
	{"keras", "\r", (*run).keras},
	{"deepspeed", "\n", (*run).deepspeed},
}

func bars() []format { return formats[5:8] }

func formatNames() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// advance takes one step.
func (g *run) advance() {
	g.step++
	if g.r.IntN(3) == 0 {
		g.clock++
	}
	g.loss = 1.2 + 9*math.Exp(-float64(g.step%400000)/60000) + g.r.NormFloat64()*0.05
	g.lr = 3e-4 * (0.5 + 0.5*math.Cos(float64(g.step%500000)/500000*math.Pi))
	g.norm = 0.4 + math.Abs(g.r.NormFloat64())*0.6
	g.sps = 110 + g.r.NormFloat64()*6
}

func (g *run) stamp() string {
	s := g.clock
	return fmt.Sprintf("2026-10-%02d %02d:%02d:%02d", 1+s/86400%28, s/3600%24, s/60%60, s%60)
}

func (g *run) perplexity() string { return decimal(math.Exp2(math.Min(g.loss, 20)), 2) }

func decimal(x float64, places int) string { return strconv.FormatFloat(x, 'f', places, 64) }

func digits(x float64, n int) string { return strconv.FormatFloat(x, 'g', n, 64) }

func clock(s int) string {
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// bar draws a part of one as tqdm does, w cells wide.
func bar(part float64, w int) string {
	eighths := int(part * float64(w) * 8)
	full := eighths / 8
	if full >= w {
		return strings.Repeat("█", w)
	}
	edge := []string{" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}[eighths%8]
	return strings.Repeat("█", full) + edge + strings.Repeat(" ", w-full-1)
}

func (g *run) hf() string {
	g.advance()
	return "{'loss': " + decimal(g.loss, 4) + ", 'grad_norm': " + strconv.FormatFloat(g.norm, 'f', -1, 32) +
		", 'learning_rate': " + digits(g.lr, 17) + ", 'epoch': " + decimal(float64(g.step)/12000, 2) + "}"
}

func (g *run) megatron() string {
	g.advance()
	return fmt.Sprintf(" [%s] iteration %8d/  500000 | consumed samples: %12d | elapsed time per iteration (ms): %.1f | throughput per GPU (TFLOP/s/GPU): %.1f"+
		" | learning rate: %.6e | global batch size: %5d | lm loss: %.6e | loss scale: 1.0 | grad norm: %.3f | number of skipped iterations: %3d | number of nan iterations: %3d |",
		g.stamp(), g.step%500000, g.step*256, 1200+g.r.Float64()*40, 380+g.r.Float64()*10, g.lr, 256, g.loss, g.norm, 0, 0)
}

func (g *run) json() string {
	g.advance()
	return fmt.Sprintf(`{"step": %d, "epoch": %.3f, "train/loss": %.6f, "lr": %.8f, "grad_norm": %.4f, "samples_per_sec": %.2f, "mem_gb": %.1f, "time": %d.%03d, "rank": 0}`,
		g.step, float64(g.step)/12000, g.loss, g.lr, g.norm, g.sps, 61.2+g.r.Float64(), 1790000000+g.clock, g.r.IntN(1000))
}

func (g *run) keyvalue() string {
	g.advance()
	return fmt.Sprintf("%s | INFO | train_inner | epoch=%03d step=%d loss=%.3f ppl=%s lr=%s grad_norm=%.3f samples/s=%.1f ups=%.2f mem=%.1fGB wall=%d",
		g.stamp(), g.step/12000, g.step, g.loss, g.perplexity(), digits(g.lr, 6), g.norm, g.sps, 0.86, 61.3, g.clock)
}

func (g *run) fairseq() string {
	g.advance()
	return fmt.Sprintf("%s | INFO | train | epoch %03d:  %5d / 12000 loss=%.3f, nll_loss=%.3f, ppl=%s, wps=%.1f, ups=%.2f, wpb=%.1f, bsz=256, num_updates=%d, lr=%s,"+
		" gnorm=%.3f, clip=0, loss_scale=128, train_wall=%d, gb_free=17.3, wall=%d",
		g.stamp(), g.step/12000, g.step%12000, g.loss, g.loss*0.94, g.perplexity(), 29384.1+g.r.Float64()*100, 0.86, 34123.4, g.step, digits(g.lr, 6),
		g.norm, 58+g.r.IntN(4), g.clock)
}

// progress is the part of tqdm's line that Lightning prints too.
func (g *run) progress() string {
	const total = 12000
	n := g.step % total
	return fmt.Sprintf("%3d%%|%s| %d/%d [%s<%s, %5.2fit/s", n*100/total, bar(float64(n)/total, 10), n, total, clock(n/9), clock((total-n)/9), 8.9+g.r.Float64())
}

func (g *run) tqdm() string {
	g.advance()
	return g.progress() + "]"
}

func (g *run) lightning() string {
	g.advance()
	return fmt.Sprintf("Epoch %d: %s, loss=%.3f, v_num=12, train_loss_step=%.3f, lr-AdamW=%s]", g.step/12000, g.progress(), g.loss, g.loss, digits(g.lr, 6))
}

func (g *run) keras() string {
	g.advance()
	const total = 1875
	n := g.step % total
	w := 30 * n / total
	return fmt.Sprintf("%4d/%d [%s>%s] - ETA: %ds - loss: %.4f - accuracy: %.4f",
		n, total, strings.Repeat("=", w), strings.Repeat(".", 29-w), (total-n)/100, g.loss, 1/(1+g.loss))
}

func (g *run) deepspeed() string {
	g.advance()
	return fmt.Sprintf("[%s,%03d] [INFO] [logging.py:96:log_dist] [Rank 0] step=%d, skipped=0, lr=[%s], mom=[(0.9, 0.95)], loss=%.4f, RunningAvgSamplesPerSec=%.3f,"+
		" CurrSamplesPerSec=%.3f, MemAllocated=31.21GB, MaxMemAllocated=61.3GB",
		g.stamp(), g.r.IntN(1000), g.step, digits(g.lr, -1), g.loss, g.sps, g.sps+1)
}
