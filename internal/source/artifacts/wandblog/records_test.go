package wandblog_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/trainmedic/trainmedic/internal/source/artifacts/wandblog"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

func varint(b []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}

func text(b []byte, num protowire.Number, s string) []byte { return message(b, num, []byte(s)) }

// keyed is an item: a key of one or several parts, and a value as JSON.
func keyed(json string, parts ...string) (b []byte) {
	for _, p := range parts {
		b = text(b, 2, p)
	}
	return text(b, 16, json)
}

// What a record says, as facts; numbers are those of wandb_internal.proto.
func TestRecords(t *testing.T) {
	type facts = map[string]string
	exit := func(code uint64) []byte { return message(nil, 18, varint(nil, 1, code)) }
	for name, c := range map[string]struct {
		records [][]byte
		want    facts
	}{
		"a resumed run": {
			[][]byte{message(nil, 17, varint(varint(text(text(nil, 1, "abc"), 3, "vision"), 14, 500), 18, 1))},
			facts{"tracker.kind": "W&B", "tracker.run": "vision/abc", "run.resumed": "true", "run.resumed_step": "500"},
		},
		"a configuration that is told later": {
			[][]byte{message(nil, 5, message(message(nil, 1, keyed("0.5", "optim", "LR")), 1, keyed(`{"a": [1, 2], "b": null}`, "model")))},
			facts{"config.optim.lr": "0.5", "config.model.a": "[1, 2]", "config.model.b": "null"},
		},
		"readings of the system": {
			[][]byte{message(nil, 7, message(message(message(nil, 3, text(text(nil, 1, "gpu.3.memoryAllocated"), 16, "91.5")), 3, text(text(nil, 1, "cpu"), 16, "12")), 3, text(text(nil, 1, "network.sent"), 16, "5")))},
			facts{"gpu.3.memory_percent": "91.5", "host.cpu_percent": "12"},
		},
		"an alert":                     {[][]byte{message(nil, 10, text(text(nil, 1, "stop"), 2, "CUDA out of memory"))}, facts{"tracker.alert.1.message": "stop: CUDA out of memory"}},
		"preempted":                    {[][]byte{message(nil, 23, nil)}, facts{"tracker.preempting.message": "the run told W&B that its instance is being preempted"}},
		"preempted, and it came to it": {[][]byte{message(nil, 23, nil), exit(0)}, facts{"tracker.state": "finished", "exit.code": "0"}},
		"a failed end":                 {[][]byte{exit(137)}, facts{"tracker.state": "failed", "exit.code": "137"}},
		"an end by a signal":           {[][]byte{exit(math.MaxUint64 - 8)}, facts{"tracker.state": "failed", "exit.code": "-9"}},
		"an end that is none":          {[][]byte{message(nil, 18, varint(nil, 3, 1))}, facts{}},
		"where it runs": {
			[][]byte{message(nil, 26, message(varint(text(text(text(text(nil, 6, "train.py"), 5, "--lr"), 5, "0.1"), 18, "NVIDIA H100"), 19, 8), 27, text(text(nil, 1, "JOB_ID"), 2, "77")))},
			facts{"launch.command": "python train.py --lr 0.1", "gpu.0.name": "NVIDIA H100", "gpu.count": "8", "slurm.job_id": "77"},
		},
		"a summary of its own":  {[][]byte{message(nil, 3, message(message(nil, 1, keyed(`"ok"`, "verdict")), 1, keyed("7", "_runtime")))}, facts{"summary.verdict": "ok"}},
		"nothing that is known": {[][]byte{message(nil, 99, []byte("x")), {0xff, 0xff}, nil}, facts{}},
	} {
		t.Run(name, func(t *testing.T) {
			var w writer
			for _, r := range c.records {
				w.record(r)
			}
			got := facts{}
			for _, f := range look(t, logOf(t, w.Bytes()), "").Facts {
				got[f.Key] = f.Value
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("facts (-want +got):\n%s", d)
			}
		})
	}
}

// Newer clients may write values as protobuf has them.
func TestTypedValues(t *testing.T) {
	item := func(key string, rest []byte) []byte { return append(text(nil, 2, key), rest...) }
	number := protowire.AppendFixed64(protowire.AppendTag(nil, 6, protowire.Fixed64Type), math.Float64bits(math.Inf(1)))
	row := message(message(nil, 1, item("loss", number)), 1, item("n", varint(nil, 5, protowire.EncodeZigZag(-4))))
	row = message(message(row, 1, item("ok", varint(nil, 4, 1))), 1, item("deep", text(nil, 8, `{"a": 2}`)))
	var w writer
	w.record(message(nil, 2, message(row, 2, varint(nil, 1, 33))))
	got := map[string]float64{}
	for _, s := range look(t, logOf(t, w.Bytes()), "").Samples {
		got[s.Name] = s.Value
		if s.Step != 33 {
			t.Errorf("%s is of step %d", s.Name, s.Step)
		}
	}
	if d := cmp.Diff(map[string]float64{"loss": math.Inf(1), "n": -4, "deep.a": 2}, got); d != "" {
		t.Errorf("values (-want +got):\n%s", d)
	}
}

// define_metric("*", step_metric="examples") says what counts.
func TestTheStepThatTheProgramNames(t *testing.T) {
	var w writer
	w.record(message(nil, 12, text(text(nil, 2, "*"), 4, "examples")))
	w.row(0, map[string]string{"loss": "1", "examples": "640", "global_step": "10"})
	w.row(1, map[string]string{"loss": "1", "examples": "1280", "global_step": "20"})
	var got []int64
	for _, s := range look(t, logOf(t, w.Bytes()), "").Samples {
		got = append(got, s.Step)
	}
	if d := cmp.Diff([]int64{640, 1280}, got); d != "" {
		t.Errorf("steps (-want +got):\n%s", d)
	}
}

func TestTheConsoleIsJoined(t *testing.T) {
	var w writer
	for _, s := range []string{"step 1", "\n", "  5%|▌    | 1/20\r", " 10%|█    | 2/20", "\nno end"} {
		w.output(s)
	}
	w.record(message(nil, 4, text(nil, 3, " yet"))) // an OutputRecord, of older clients
	v := look(t, logOf(t, w.Bytes()), "")
	want := "step 1\n  5%|▌    | 1/20\r 10%|█    | 2/20\nno end yet"
	if got := sourcetest.Text(t, v.Streams[0]); got != want || len(v.Streams) != 1 {
		t.Errorf("want %q, got %q", want, got)
	}
	if wandblog.Reading("gpu.process.0.gpu") != "" {
		t.Error("what a process uses of a GPU is taken for what the GPU does")
	}
}
