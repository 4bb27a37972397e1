package logformat

import "bytes"

// rich reads Lightning's rich bars: "Epoch 3/9 ━━━╸━━ 45/100 0:00:01 • 0:00:03
// 38.5it/s v_num: 0 train_loss: 0.3". They count epochs from 0 to the last one.
func (r *Reader) rich(l line, out *Reading) bool {
	dot := bytes.Index(l.b, []byte("•"))
	draw := bytes.Index(l.b, []byte("━"))
	if dot < 0 || draw < 0 || draw > dot {
		return false
	}
	rest := l.b[draw:dot]
	for len(rest) > 0 && !isDigit(rest[0]) {
		rest = rest[1:]
	}
	n, k := integer(rest)
	if k == 0 || k >= len(rest) || rest[k] != '/' {
		return false
	}
	total, j := integer(rest[k+1:])
	if j == 0 {
		return false
	}
	d := bar{desc: l.b[:draw], post: l.b[dot:], n: n, total: total}
	s, _, _ := epochIn(d.desc)
	out.Phase = PhaseTrain
	if s.epoch < 0 || evalWords(d.desc) {
		out.Phase = PhaseOther
		if evalWords(d.desc) {
			out.Phase = PhaseEval
			r.evaluated(out.Format)
		}
	}
	r.barValues(d, out)
	if out.Phase != PhaseTrain {
		r.here(out)
		return true
	}
	s.base, s.batch, s.batches, s.done = 0, n, total, true
	if s.epochs >= 0 {
		s.epochs++
	}
	r.advance(r.place(out.Format, s), out)
	return true
}

// fastprogress reads fastai's "Epoch 1/12 : |███---| 25.00% [23/92 00:07<00:22
// 1.93]". Its validation has the same words and another length.
func (r *Reader) fastprogress(l line, out *Reading) bool {
	i := bytes.Index(l.b, []byte("% ["))
	if i < 0 || bytes.Count(l.b[:i], []byte("|")) < 2 {
		return false
	}
	b := l.b[i+3:]
	n, k := integer(b)
	if k == 0 || k >= len(b) || b[k] != '/' {
		return false
	}
	total, j := integer(b[k+1:])
	s, _, _ := epochIn(l.b[:bytes.IndexByte(l.b, '|')])
	if j == 0 || s.epoch < 0 || total == 0 {
		return false
	}
	o := r.course.roundsOf(out.Format)
	if o.batches > 0 && total != o.batches && s.epoch == o.epoch {
		out.Phase = PhaseEval
		r.evaluated(out.Format)
		r.here(out)
		return true
	}
	out.Phase = PhaseTrain
	s.base, s.batch, s.batches, s.done = 1, n, total, true
	if o.batches > 0 && total != o.batches {
		o.batches = -1
	}
	r.advance(r.place(out.Format, s), out)
	return true
}
