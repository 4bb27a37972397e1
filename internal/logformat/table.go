package logformat

import "bytes"

// table is a table in progress whose rows are one metric each, as
// Stable-Baselines3 and OpenAI Baselines print them between two rules.
type table struct {
	group string // "rollout", "time", "train" …
}

// boxed reads one row "|    total_timesteps | 2048 |" of such a table.
func (r *Reader) boxed(l line, out *Reading) bool {
	b := trimSpace(l.b)
	if len(b) < 5 || b[0] != '|' || b[len(b)-1] != '|' || bytes.Count(b, []byte("|")) != 3 {
		return false
	}
	b = b[1 : len(b)-1]
	i := bytes.IndexByte(b, '|')
	key, val := trimSpace(b[:i]), trimSpace(b[i+1:])
	if len(key) == 0 || !isAlpha(key[0]) {
		return false
	}
	if len(val) == 0 {
		if key[len(key)-1] == '/' {
			r.box.group = string(key[:len(key)-1])
		}
		return false
	}
	v, n := number(val)
	if n == 0 || n != len(val) {
		return false
	}
	eval := r.box.group == "eval" || has(key, "eval")
	if out.Phase = PhaseTrain; eval {
		out.Phase = PhaseEval
	}
	if r.box.group == "" && string(key) == "step" && !eval { // guided diffusion
		r.advance(at{from: fromSteps, step: int64(v), total: -1, epoch: -1, epochs: -1}, out)
		return true
	}
	if counterOf(key) == countsGlobal {
		if !eval {
			r.advance(at{from: fromGlobal, step: int64(v), total: -1, epoch: -1, epochs: -1}, out)
		}
		return true
	}
	if r.box.group == "" && r.course.n == 0 && canonical(key) == "" {
		return false
	}
	if counterOf(key) == notCounter {
		name := canonical(key)
		if name == "" {
			name = string(key)
		}
		r.add(name, v)
	}
	out.Values = r.values
	r.here(out)
	return true
}

func trimSpace(b []byte) []byte {
	b = skipSpace(b)
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}
