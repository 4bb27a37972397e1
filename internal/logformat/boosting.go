package logformat

import "bytes"

// boosting reads the rounds of XGBoost and LightGBM ("[10]\ttrain-rmse:0.3") and
// of CatBoost ("10:\tlearn: 0.3\ttest: 0.4"). A round printed is done.
func (r *Reader) boosting(l line, out *Reading) bool {
	b := l.b
	if i := bytes.Index(b, []byte("]\t")); i > 0 && i < 64 {
		j := bytes.LastIndexByte(b[:i], '[')
		n, k := integer(b[j+1 : i])
		if j < 0 || k == 0 || j+1+k != i || j > 0 && (b[j-1] != ' ' || !opensLine(b[:j])) {
			return false
		}
		return r.boosted(n, b[i+2:], out)
	}
	if rest, n, ok := spaced(b); ok {
		return r.boosted(n, rest, out)
	}
	n, k := integer(b)
	if k == 0 || k+1 >= len(b) || b[k] != ':' || b[k+1] != '\t' {
		return false
	}
	out.Format = "catboost"
	return r.boosted(n, b[k+2:], out)
}

// spaced reads XGBoost's older rounds, "[0] train-auc:0.5  eval-auc:0.5", into the
// form of the newer ones.
func spaced(b []byte) ([]byte, int64, bool) {
	if len(b) < 8 || b[0] != '[' {
		return nil, 0, false
	}
	n, k := integer(b[1:])
	if k == 0 || len(b) < k+4 || b[k+1] != ']' || b[k+2] != ' ' {
		return nil, 0, false
	}
	fields := bytes.Fields(b[k+3:])
	for _, f := range fields {
		i := bytes.LastIndexByte(f, ':')
		if i <= 0 || bytes.IndexByte(f[:i], '-') <= 0 {
			return nil, 0, false
		}
		if _, n := number(f[i+1:]); n == 0 || n != len(f)-i-1 {
			return nil, 0, false
		}
	}
	return bytes.Join(fields, []byte{'\t'}), n, len(fields) > 0
}

// boosted adds the metrics of round n.
func (r *Reader) boosted(n int64, b []byte, out *Reading) bool {
	for len(b) > 0 {
		field := b
		if i := bytes.IndexByte(b, '\t'); i >= 0 {
			field, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		i := bytes.LastIndexByte(field, ':')
		if i <= 0 {
			continue
		}
		v, k := number(skipSpace(field[i+1:]))
		name := field[:i]
		if k == 0 || string(name) == "total" || string(name) == "remaining" || string(name) == "best" {
			continue
		}
		r.add(boostName(name), v)
	}
	if len(r.values) == 0 {
		return false
	}
	out.Values, out.Phase = r.values, PhaseTrain
	r.advance(at{from: fromSteps, step: n, total: -1, epoch: -1, epochs: -1}, out)
	return true
}

// boostName is the metric's name: what is measured on the training data is the
// loss, what is measured on other data the evaluation's loss.
func boostName(name []byte) string {
	train := has(name, "train") || has(name, "learn")
	for _, w := range [...]string{"loss", "rmse", "l2", "error", "mae", "l1", "mlogloss"} {
		if endsFold(name, w) && (train || evalWords(name)) {
			return string(name)
		}
	}
	switch string(name) {
	case "learn":
		return "loss"
	case "test":
		return "eval_loss"
	}
	return string(name)
}
