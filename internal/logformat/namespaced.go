package logformat

import "bytes"

// namespaced reads lines of nothing but "train/CrossEntropyLoss=6.294" and kin,
// as OLMo writes one a line under a step's headline and CleanRL several: they
// have no counter of their own and belong to the last one.
func (r *Reader) namespaced(l line, out *Reading) bool {
	if l.has&(mCount|mEpoch) != 0 {
		return false
	}
	found := false
	for token := range bytes.FieldsSeq(l.b) {
		key, value, ok := bytes.Cut(token, []byte("="))
		if !ok || bytes.IndexByte(key, '/') <= 0 || !metricKey(key) {
			continue
		}
		v, n := number(value)
		if n == 0 || n != len(value) {
			continue
		}
		name := r.known(key).name
		if name == "" {
			name = string(key)
		}
		r.add(name, v)
		found = true
	}
	if !found {
		return false
	}
	out.Values, out.Phase = r.values, PhaseTrain
	r.setPhase(out)
	r.here(out)
	return true
}

// metricKey tells a metric's name from a path or an option.
func metricKey(key []byte) bool {
	if len(key) > maxName || key[0] == '-' || key[0] == '/' {
		return false
	}
	for _, c := range key {
		if !isWord(c) && c != '/' && c != '-' && c != '.' {
			return false
		}
	}
	return containsFold(key, "loss") || containsFold(key, "acc") || containsFold(key, "perplexity") || containsFold(key, "reward") || containsFold(key, "grad_norm") || containsFold(key, "q_values")
}
