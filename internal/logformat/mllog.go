package logformat

import (
	"bytes"
	"time"
)

// manyEpochs is above any number of epochs: MLPerf's BERT and GPT count samples
// under the name of epochs.
const manyEpochs = 10_000

// mllog reads what follows ":::MLLOG ", a line of MLPerf:
// {"time_ms": 1, "key": "eval_accuracy", "value": 0.75, "metadata": {"epoch_num": 3}}.
// Samples become steps where the global batch size was told.
func (r *Reader) mllog(b []byte, out *Reading) bool {
	rest, ok := after(b, `"key": "`)
	if !ok {
		return false
	}
	key, _, ok := bytes.Cut(rest, []byte{'"'})
	if !ok {
		return false
	}
	val, ok := after(b, `"value": `)
	if !ok {
		return false
	}
	out.Format = "mllog"
	v, n := number(val)
	switch string(key) {
	case "global_batch_size":
		if n > 0 && v >= 1 {
			r.plan.batchSize = int64(v)
		}
		return false
	case "run_stop":
		r.course.completed = r.course.n > 0 && !contains(b, `"status": "aborted"`)
		return false
	case "block_stop", "epoch_stop":
		out.Phase = PhaseTrain
		return r.mllogPlace(b, true, out)
	case "tracked_stats":
		r.mllogStats(val)
	default:
		if name := canonical(key); n > 0 && name != "" && name != "lr" {
			r.add(name, v)
			if lr, ok := member(b, `"lr": `); ok && name == "loss" {
				r.add("lr", lr)
			}
		}
	}
	if len(r.values) == 0 {
		return false
	}
	out.Values = r.values
	r.setPhase(out)
	if out.Phase == PhaseEval || !hasValue(r.values, "loss") || !r.mllogPlace(b, false, out) {
		r.here(out)
	}
	return true
}

// mllogStats reads the object of a tracked_stats line: {"train_loss": 1.2, "throughput": 30.7}.
func (r *Reader) mllogStats(b []byte) {
	object, _, _ := bytes.Cut(b, []byte{'}'})
	ps := r.pairs(object)
	for i := range ps {
		switch name := canonical(ps[i].key); name {
		case "loss", "lr", "grad_norm", "accuracy", "eval_loss", "eval_accuracy":
			r.add(name, ps[i].val)
		}
	}
}

// mllogPlace is where the line's metadata say that training stands.
func (r *Reader) mllogPlace(b []byte, ends bool, out *Reading) bool {
	if v, ok := member(b, `"step_num": `); ok {
		r.advance(at{from: fromSteps, step: int64(v), total: -1, epoch: -1, epochs: -1}, out)
		return true
	}
	samples, counted := member(b, `"samples_count": `)
	epoch, whole := member(b, `"epoch_num": `)
	if !whole && ends {
		epoch, whole = member(b, `"first_epoch_num": `)
	}
	if whole && epoch > manyEpochs && !counted {
		samples, counted = epoch, true
	}
	switch {
	case counted && r.plan.batchSize > 0:
		r.advance(at{from: fromBatches, step: int64(samples) / r.plan.batchSize, total: -1, epoch: -1, epochs: -1}, out)
	case ends && whole && !counted && epoch >= 1 && epoch == float64(int64(epoch)):
		r.epochLine(pair{val: epoch, of: -1}, out)
	default:
		return false
	}
	return true
}

// member is the number behind the key of an object.
func member(b []byte, key string) (float64, bool) {
	rest, ok := after(b, key)
	if !ok {
		return 0, false
	}
	v, n := number(rest)
	return v, n > 0 && v >= 0
}

const mllogMark = ":::MLLOG "

// mllogTime is the time of a line of MLPerf.
func mllogTime(b []byte) time.Time {
	ms, ok := after(b, `"time_ms": `)
	if v, n := integer(ms); ok && n == 13 {
		return time.UnixMilli(v).UTC()
	}
	return time.Time{}
}
