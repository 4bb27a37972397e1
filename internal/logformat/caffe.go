package logformat

// caffe reads an old solver's "Test score #0: 0.57": accuracy is the first output
// of its networks and the loss the second.
func (r *Reader) caffe(l line, out *Reading) bool {
	rest, ok := after(l.b, "Test score #")
	if !ok {
		return false
	}
	which, n := integer(skipSpace(rest))
	rest = skipSpace(rest)
	if n == 0 || n >= len(rest) || rest[n] != ':' {
		return false
	}
	v, k := number(skipSpace(rest[n+1:]))
	switch {
	case k == 0:
		return false
	case which == 0 && v >= 0 && v <= 1:
		r.add("eval_accuracy", v)
	case which == 1:
		r.add("eval_loss", v)
	default:
		return false
	}
	out.Values, out.Phase = r.values, PhaseEval
	r.here(out)
	return true
}
