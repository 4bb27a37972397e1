package logformat

import "bytes"

// espnet reads "3epoch:train:201-300batch: loss=1.2, …".
func (r *Reader) espnet(l line, out *Reading) bool {
	if i := bytes.Index(l.b, []byte("epoch started")); i > 2 {
		r.espnetBegins(l.b[:i])
		return false
	}
	if i := bytes.Index(l.b, []byte("epoch results: [train]")); i > 0 && isDigit(l.b[i-1]) {
		r.espnetResults(l.b[i:], out)
		return true
	}
	i := bytes.Index(l.b, []byte("epoch:"))
	if i < 1 || !isDigit(l.b[i-1]) {
		return false
	}
	j := i
	for j > 0 && isDigit(l.b[j-1]) {
		j--
	}
	e, n := integer(l.b[j:i])
	rest := l.b[i+len("epoch:"):]
	train := has(rest, "train:")
	if n == 0 || !train && !has(rest, "valid:") {
		return false
	}
	k := bytes.Index(rest, []byte("batch:"))
	if k < 0 {
		return false
	}
	d := bytes.IndexByte(rest[:k], '-')
	last, n := integer(rest[d+1:])
	if d < 0 || n == 0 {
		return false
	}
	ps := r.pairs(rest[k+len("batch:"):])
	for i := range ps {
		if name := r.metric(rest[k:], &ps[i]); name != "" {
			r.add(name, ps[i].val)
		} else if name = r.spelled(rest[k:], &ps[i]); name != "" {
			r.add(name, ps[i].val)
		}
	}
	out.Values, out.Phase = r.values, PhaseTrain
	r.advance(r.place(out.Format, spot{epoch: e, epochs: -1, batch: last, batches: -1, base: 1, done: true}), out)
	return true
}

// espnetResults reads the means of an epoch: of training, then of validation.
func (r *Reader) espnetResults(b []byte, out *Reading) {
	_, valid, _ := bytes.Cut(b, []byte("[valid]"))
	valid, _, _ = bytes.Cut(valid, []byte("[att_plot]"))
	for _, p := range r.pairs(valid) {
		name := r.metric(valid, &p)
		if name == "" {
			name = r.spelled(valid, &p)
		}
		if name != "" {
			r.add("eval_"+name, p.val)
		}
	}
	out.Values, out.Phase = r.values, PhaseEval
	r.here(out)
}

// espnetBegins reads the "1/50" before "epoch started".
func (r *Reader) espnetBegins(b []byte) {
	i := len(b)
	for i > 0 && (isDigit(b[i-1]) || b[i-1] == '/') {
		i--
	}
	e, n := integer(b[i:])
	if n == 0 || i+n >= len(b) || b[i+n] != '/' {
		return
	}
	if m, k := integer(b[i+n+1:]); k > 0 {
		r.epochBegins(spot{epoch: e, epochs: m})
	}
}
