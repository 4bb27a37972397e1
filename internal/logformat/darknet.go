package logformat

import "bytes"

// darknet reads " 1200: 29708.817163, 33775.634658 avg loss, 0.026100 rate, …": the
// iteration, its loss, the running mean of it and the learning rate.
func (r *Reader) darknet(l line, out *Reading) bool {
	i := bytes.Index(l.b, []byte(" avg loss, "))
	if i < 0 {
		if i = bytes.Index(l.b, []byte(" avg, ")); i < 0 || !contains(l.b[i:], " rate, ") {
			return false
		}
	}
	b := skipSpace(l.b)
	step, n := integer(b)
	if n == 0 || n >= len(b) || b[n] != ':' {
		return false
	}
	b = skipSpace(b[n+1:])
	_, n = number(b)
	if n == 0 || n >= len(b) || b[n] != ',' {
		return false
	}
	mean, k := number(skipSpace(b[n+1:]))
	if k == 0 {
		return false
	}
	r.add("loss", mean)
	rest := l.b[i:]
	if _, after, ok := bytes.Cut(rest, []byte{','}); ok {
		if v, k := number(skipSpace(after)); k > 0 {
			r.add("lr", v)
		}
	}
	out.Values, out.Phase = r.values, PhaseTrain
	r.advance(at{from: fromSteps, step: step, total: -1, epoch: -1, epochs: -1}, out)
	return true
}
