package logformat

import "bytes"

// block is a group of lines that belong to one step, a metric on each.
type block uint8

const (
	noBlock        block = iota
	stepBlock            // TensorFlow Object Detection's, under "Step 100 per-step time"
	iterationBlock       // rsl_rl's, under "Learning iteration 5/1500"
	vowpalBlock          // the rows of Vowpal Wabbit's table
)

// blockNames are the names of rsl_rl's rows that others write in another way.
var blockNames = map[string]string{
	"Value function loss": "value_loss", "Surrogate loss": "policy_loss", "Mean reward": "reward",
	"Mean total reward": "reward", "Mean episode length": "episode_length",
}

// iterationBlock reads the block that rsl_rl prints for each iteration: its head,
// "Learning iteration 5/1500", and rows "       Value function loss: 0.0123". A
// line that is neither ends the block.
func (r *Reader) iterationBlock(l line, out *Reading) bool {
	if rest, ok := after(l.b, "Learning iteration "); ok {
		return r.iterationHead(rest, out)
	}
	if r.under != iterationBlock {
		return false
	}
	b := trimSpace(l.b)
	key, val, ok := bytes.Cut(b, []byte(": "))
	if !ok || len(key) == 0 || len(key) > maxName || !isAlpha(key[0]) {
		r.under = noBlock
		return false
	}
	val = trimSpace(val)
	v, n := number(val)
	if n == 0 || n < len(val) || endsFold(key, "timesteps") {
		return true // a rate, a time, the samples so far
	}
	name := blockNames[string(key)]
	if name == "" {
		name = string(key)
	}
	r.add(name, v)
	out.Values, out.Phase = r.values, PhaseTrain
	r.here(out)
	return true
}

func (r *Reader) iterationHead(b []byte, out *Reading) bool {
	step, n := integer(b)
	if n == 0 || n >= len(b) || b[n] != '/' {
		return false
	}
	total, k := integer(b[n+1:])
	if k == 0 {
		return false
	}
	r.under = iterationBlock
	out.Phase = PhaseTrain
	r.advance(at{from: fromSteps, step: step, total: total, epoch: -1, epochs: -1}, out)
	return true
}

// rlGames reads "fps step: 35321 … fps total: 30110 epoch: 12/500 frames: 393216".
// An epoch is one update of the policy there.
func (r *Reader) rlGames(l line, out *Reading) bool {
	if !has(l.b, "fps ") {
		return false
	}
	rate, ok := after(l.b, "fps total: ")
	if !ok {
		return false
	}
	if v, n := number(rate); n > 0 {
		r.add("samples_per_second", v)
	}
	rest, ok := after(l.b, "epoch: ")
	step, n := integer(rest)
	if !ok || n == 0 {
		return false
	}
	a := at{from: fromSteps, step: step, total: -1, epoch: -1, epochs: -1}
	if n < len(rest) && rest[n] == '/' {
		if total, k := integer(rest[n+1:]); k > 0 {
			a.total = total
		}
	}
	out.Values, out.Phase = r.values, PhaseTrain
	r.advance(a, out)
	return true
}

// rlGamesReward reads "saving next best rewards:  [123.4]".
func (r *Reader) rlGamesReward(l line, out *Reading) bool {
	rest, ok := after(l.b, "next best rewards:")
	if rest = skipSpace(rest); !ok || len(rest) == 0 || rest[0] != '[' {
		return false
	}
	v, n := number(rest[1:])
	if n == 0 {
		return false
	}
	r.add("reward", v)
	out.Values, out.Phase = r.values, PhaseTrain
	r.here(out)
	return true
}

// kaldi reads the objective of nnet3's training, "Overall average objective
// function for 'output' is -0.1234 over 128000 frames.", which has to grow.
func (r *Reader) kaldi(l line, out *Reading) bool {
	_, rest, ok := bytes.Cut(l.b, []byte("verage objective function for '"))
	if !ok {
		return false
	}
	name, rest, ok := bytes.Cut(rest, []byte("'"))
	if !ok || len(name) == 0 || len(name) > maxName {
		return false
	}
	_, rest, ok = bytes.Cut(rest, []byte(" is "))
	v, n := number(rest)
	if !ok || n == 0 {
		return false
	}
	r.add("objective/"+string(name), v)
	out.Values, out.Phase = r.values, PhaseTrain
	r.here(out)
	return true
}

// vowpalHead is the second line of the head of Vowpal Wabbit's table.
const vowpalHead = "loss     last          counter"

// vowpal reads a row of that table: the mean loss so far, the mean loss since the
// last row, how many examples there were, and what belongs to the last of them.
func (r *Reader) vowpal(l line, out *Reading) bool {
	if r.under != vowpalBlock {
		return false
	}
	b := skipSpace(l.b)
	mean, n := number(b)
	rest := skipSpace(b[n:])
	_, k := number(rest)
	rest = skipSpace(rest[k:])
	step, m := integer(rest)
	if n == 0 || k == 0 || m == 0 || m < len(rest) && !isSpace(rest[m]) {
		r.under = noBlock
		return false
	}
	r.add("loss", mean)
	out.Values, out.Phase = r.values, PhaseTrain
	r.advance(at{from: fromSteps, step: step, total: -1, epoch: -1, epochs: -1}, out)
	return true
}
