package logformat

import "bytes"

// flower reads the rounds of a federated training: "fit progress: (3, 0.42,
// {'accuracy': 0.8}, 12.3)" is the loss after round 3, on the server's data.
func (r *Reader) flower(l line, out *Reading) bool {
	const says = "fit progress: ("
	i := bytes.Index(l.b, []byte(says))
	if i < 0 {
		return false
	}
	b := l.b[i+len(says):]
	round, n := integer(b)
	if n == 0 || n >= len(b) || b[n] != ',' {
		return false
	}
	b = skipSpace(b[n+1:])
	loss, n := number(b)
	if n == 0 {
		return false
	}
	r.add("eval_loss", loss)
	for _, p := range r.pairs(b[n:]) {
		if name := r.metric(b[n:], &p); name != "" && !isEval(name) {
			if name = evalName(name); name != "" {
				r.add(name, p.val)
			}
		}
	}
	out.Values, out.Phase = r.values, PhaseTrain
	r.advance(at{from: fromSteps, step: round, total: -1, epoch: -1, epochs: -1}, out)
	return true
}
