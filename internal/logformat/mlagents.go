package logformat

import "bytes"

// mlAgents reads "[INFO] Crawler. Step: 60000. Time Elapsed: 71.4 s. Mean Reward:
// 28.389. Std of Reward: 6.2. Training.": sentences, whose numbers end in a stop.
func (r *Reader) mlAgents(l line, out *Reading) bool {
	i := bytes.Index(l.b, []byte(" Step: "))
	j := bytes.Index(l.b, []byte("Mean Reward: "))
	if i < 0 || j < i {
		return false
	}
	step, n := integer(l.b[i+len(" Step: "):])
	v, k := number(l.b[j+len("Mean Reward: "):])
	if n == 0 || k == 0 {
		return false
	}
	r.add("reward", v)
	out.Values, out.Phase = r.values, PhaseTrain
	r.advance(at{from: fromGlobal, step: step, total: -1, epoch: -1, epochs: -1}, out)
	return true
}
