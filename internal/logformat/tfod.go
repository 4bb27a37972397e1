package logformat

import "bytes"

// objectDetection reads what TensorFlow's Object Detection API prints: "Step 100
// per-step time 0.21s", and under it a dict with one metric a line:
// "{'Loss/classification_loss': 0.83,", … " 'learning_rate': 0.17}".
func (r *Reader) objectDetection(l line, out *Reading) bool {
	if i := bytes.Index(l.b, []byte(" per-step time ")); i > 0 {
		j := bytes.LastIndex(l.b[:i], []byte("Step "))
		if j < 0 || contains(l.b[i:], "loss=") { // the general reader knows that one
			return false
		}
		step, n := integer(l.b[j+len("Step "):])
		if n == 0 || j+len("Step ")+n != i {
			return false
		}
		if v, k := number(l.b[i+len(" per-step time "):]); k > 0 && v > 0 {
			r.add("steps_per_second", 1/v)
		}
		r.under = stepBlock
		out.Values, out.Phase = r.values, PhaseTrain
		r.advance(at{from: fromSteps, step: step, total: -1, epoch: -1, epochs: -1}, out)
		return true
	}
	if r.under != stepBlock {
		return false
	}
	b := l.b
	if i := bytes.IndexByte(b, '{'); i >= 0 {
		b = b[i+1:]
	}
	b = skipSpace(b)
	name, rest, ok := bytes.Cut(b, []byte("': "))
	if !ok || len(name) < 2 || name[0] != '\'' || len(name) > maxName {
		return false
	}
	v, n := number(rest)
	if n == 0 || n >= len(rest) || rest[n] != ',' && rest[n] != '}' {
		return false
	}
	if rest[n] != ',' {
		r.under = noBlock
	}
	key := string(bytes.TrimPrefix(name[1:], []byte("Loss/")))
	if key == "total_loss" {
		key = "loss"
	}
	r.add(Canonical(key), v)
	out.Values, out.Phase = r.values, PhaseTrain
	r.here(out)
	return true
}
