package artifacts

import (
	"math"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

// trainer is a trainer_state.json. Every checkpoint has one that repeats the
// history from the start, so only that of the last step is used.
type trainer struct {
	t    *export.Text
	n    *doc.Node
	step int64
}

func (l *look) keepState(t *export.Text, n *doc.Node) {
	step, err := strconv.ParseInt(n.Get("global_step").Str(), 10, 64)
	if err != nil {
		step = -1
	}
	if l.state == nil || step > l.state.step {
		l.state = &trainer{t, n, step}
	}
}

const historyKey = "trainer_state rows"

// trainerState makes facts and samples of the newest trainer_state.json; of
// the history only the rows since the last look.
func (l *look) trainerState() {
	if rows, ok := l.since[historyKey]; ok {
		l.obs.Next[historyKey] = rows
	}
	if l.state == nil {
		return
	}
	t, n := l.state.t, l.state.n
	for _, k := range []string{"global_step", "max_steps", "epoch", "num_train_epochs", "best_metric", "best_model_checkpoint", "best_global_step", "logging_steps", "save_steps", "train_batch_size"} {
		if v := n.Get(k); v.Str() != "" {
			l.fact("trainer."+k, v.Str(), t.Ref(v.Line))
		}
	}
	rows := n.Get("log_history").List()
	seen, _ := strconv.Atoi(l.since[historyKey])
	for _, row := range rows[min(max(seen, 0), len(rows)):] {
		step := number(row.Get("step"), -1)
		for _, v := range row.Members() {
			if v.Key != "step" && v.Key != "epoch" {
				l.sample(v.Key, int64(step), v, t)
			}
		}
	}
	l.obs.Next[historyKey] = strconv.Itoa(max(len(rows), seen))
}

// sample adds a numeric value; NaN and infinities are values too.
func (l *look) sample(name string, step int64, v *doc.Node, t *export.Text) {
	f, ok := numeric(v)
	if !ok {
		return
	}
	l.obs.Samples = append(l.obs.Samples, run.Sample{Name: name, Step: step, Value: f, Ref: t.Ref(v.Line)})
}

func numeric(v *doc.Node) (float64, bool) {
	if v == nil || (v.Kind != doc.Number && v.Kind != doc.String) {
		return 0, false
	}
	return parse(v.Text)
}

// parse reads a number as Python writes it.
func parse(s string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return f, err == nil || math.IsInf(f, 0)
}

func number(v *doc.Node, otherwise float64) float64 {
	if f, ok := numeric(v); ok {
		return f
	}
	return otherwise
}

// results reads all_results.json and its like: one value a metric, at the end,
// so that they come behind the samples of all other files.
func (l *look) results(t *export.Text, n *doc.Node) {
	before := len(l.obs.Samples)
	defer func() {
		l.ends = append(l.ends, l.obs.Samples[before:]...)
		l.obs.Samples = l.obs.Samples[:before]
	}()
	step := int64(number(n.First("step", "global_step", "_step"), -1))
	n.Flatten(func(key string, v *doc.Node) bool {
		switch key {
		case "step", "global_step", "epoch":
		default:
			if !strings.HasPrefix(key, "_") { // W&B's own
				l.sample(key, step, v, t)
			}
		}
		return true
	})
}

// elastic reads the error.json of a torchelastic worker: facts, and a stream
// of the message and the call stack, as if the worker had logged them.
func (l *look) elastic(e entry, t *export.Text, n *doc.Node) {
	rank := file.RankOf(t.Name)
	msg := n.Get("message")
	key := "elastic.error." + strconv.Itoa(rank)
	if rank == run.NoRank {
		key = "elastic.error"
	}
	var stack *doc.Node
	if msg.Kind == doc.Map {
		info := msg.Get("extraInfo")
		stack = info.Get("py_callstack")
		if code := msg.Get("errorCode"); code.Str() != "" {
			l.fact(key+".code", code.Str(), t.Ref(code.Line))
		}
		if at := info.Get("timestamp"); at.Str() != "" {
			l.fact(key+".timestamp", at.Str(), t.Ref(at.Line))
		}
		msg = msg.Get("message")
	}
	if msg.Str() == "" {
		return
	}
	l.fact(key+".message", ends(msg.Str()), t.Ref(msg.Line))
	l.logs = append(l.logs, elasticLines(t, stack, msg).stream(e, rank))
}
