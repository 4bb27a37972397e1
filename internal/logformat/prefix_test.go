package logformat

import (
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
)

func TestParsePrefix(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.UTC()
	}
	for _, c := range []struct {
		in   string
		want Prefix
		rest string
	}{
		{"[rank3]: Traceback", Prefix{Rank: 3}, "Traceback"},
		{"[rank3]:[W329 12:00:00.123 ProcessGroupNCCL.cpp:10] x", Prefix{Rank: 3, Level: "WARNING"}, "[W329 12:00:00.123 ProcessGroupNCCL.cpp:10] x"},
		{"[rank12]:   File \"x.py\"", Prefix{Rank: 12}, "  File \"x.py\""},
		{"[Rank 3] step 1", Prefix{Rank: 3}, "step 1"},
		{"[default0]:loss 1", Prefix{Rank: 0, Local: true}, "loss 1"},
		{"[0]:loss 1", Prefix{Rank: 0, Local: true}, "loss 1"},
		{"0: loss 1", Prefix{Rank: 0}, "loss 1"},
		{" 12: loss 1", Prefix{Rank: 12}, "loss 1"},
		{"[1,3]<stderr>:boom", Prefix{Rank: 3, Stream: "stderr"}, "boom"},
		{"[1,mpirank:0,algo-1]<stdout>:epoch 1", Prefix{Rank: 0, Stream: "stdout", Worker: "algo-1"}, "epoch 1"},
		{"(RayTrainWorker pid=1, ip=10.0.0.1) step 1", Prefix{Rank: run.NoRank, Worker: "RayTrainWorker pid=1, ip=10.0.0.1"}, "step 1"},
		{"(RayTrainWorker(rank=3) pid=1) step 1", Prefix{Rank: 3, Worker: "RayTrainWorker(rank=3) pid=1"}, "step 1"},
		{"(trainer rank=0, pid=7) [rank1]: x", Prefix{Rank: 1, Worker: "trainer rank=0, pid=7"}, "x"},
		{"node-4: step 1", Prefix{Rank: run.NoRank, Worker: "node-4"}, "step 1"},
		{"node-4: [rank2]: x", Prefix{Rank: 2, Worker: "node-4"}, "x"},
		{"worker-1  | step 1", Prefix{Rank: run.NoRank, Worker: "worker-1"}, "step 1"},
		{"2024-01-01T10:00:00.123456789Z stderr F step 1", Prefix{Rank: run.NoRank, Stream: "stderr", Time: at("2024-01-01T10:00:00.123456789Z")}, "step 1"},
		{"2024-01-01T10:00:00Z step 1", Prefix{Rank: run.NoRank, Time: at("2024-01-01T10:00:00Z")}, "step 1"},
		{"Jan 02 15:04:05 gpu1 train[123]: step 1", Prefix{Rank: run.NoRank, Worker: "gpu1 train[123]"}, "step 1"},
		{"INFO workerpool0-0 {'loss': 1}", Prefix{Rank: run.NoRank, Worker: "workerpool0-0", Level: "INFO"}, "{'loss': 1}"},
		{"Rank 3: x", Prefix{Rank: 3}, "x"},
		{"rank=3 step 1", Prefix{Rank: 3}, "step 1"},
		{"2024-01-01 10:00:00,123 INFO train: x", Prefix{Rank: run.NoRank, Time: at("2024-01-01T10:00:00.123Z"), Level: "INFO"}, "2024-01-01 10:00:00,123 INFO train: x"},
		{"[2024-01-01 10:00:00] [ERROR] x", Prefix{Rank: run.NoRank, Time: at("2024-01-01T10:00:00Z"), Level: "ERROR"}, "[2024-01-01 10:00:00] [ERROR] x"},
		{"01/02/2021 10:00:00 - INFO - x -", Prefix{Rank: run.NoRank, Time: at("2021-01-02T10:00:00Z"), Level: "INFO"}, "01/02/2021 10:00:00 - INFO - x -"},
		{"[INFO|trainer.py:1] 2024-01-01 10:00:00,500 >> x", Prefix{Rank: run.NoRank, Level: "INFO", Time: time.Date(2024, 1, 1, 10, 0, 0, 500e6, time.UTC)}, "[INFO|trainer.py:1] 2024-01-01 10:00:00,500 >> x"},
		{"E0102 15:04:05.000000 1234 file.cc:10] x", Prefix{Rank: run.NoRank, Level: "ERROR"}, "E0102 15:04:05.000000 1234 file.cc:10] x"},
		{"[Mon Jan 02 15:04:05 2006] [error] x", Prefix{Rank: run.NoRank, Time: at("2006-01-02T15:04:05Z")}, "[Mon Jan 02 15:04:05 2006] [error] x"},
		{"1700000000.250 step 1", Prefix{Rank: run.NoRank, Time: at("2023-11-14T22:13:20.25Z")}, "1700000000.250 step 1"},
		{"2024-01-01 10:00:00+01:00 WARN x", Prefix{Rank: run.NoRank, Time: at("2024-01-01T09:00:00Z"), Level: "WARNING"}, "2024-01-01 10:00:00+01:00 WARN x"},
		{"loss: 0.3", Prefix{Rank: run.NoRank}, "loss: 0.3"},
		{"epoch-3: loss 0.3", Prefix{Rank: run.NoRank}, "epoch-3: loss 0.3"},
		{"train.py:3: x", Prefix{Rank: run.NoRank}, "train.py:3: x"},
		{"[10]\ttrain-rmse:0.3", Prefix{Rank: run.NoRank}, "[10]\ttrain-rmse:0.3"},
		{"10:\tlearn: 0.3", Prefix{Rank: run.NoRank}, "10:\tlearn: 0.3"},
		{"", Prefix{Rank: run.NoRank}, ""},
	} {
		got := ParsePrefix([]byte(c.in))
		c.want.Len = len(c.in) - len(c.rest)
		if got != c.want {
			t.Errorf("%q:\nwant %+v\ngot  %+v", c.in, c.want, got)
		}
	}
}

func FuzzPrefix(f *testing.F) {
	for _, s := range []string{"[rank3]:", "(a pid=1) x", "2024-01-01T10:00:00Z x", "[1,3]<stderr>:", "Jan 02 15:04:05 a b[1]: ", "INFO workerpool0-0", "0: x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		p := ParsePrefix(line)
		if p.Len < 0 || p.Len > len(line) || p.Rank < run.NoRank {
			t.Fatalf("%q: %+v", line, p)
		}
	})
}
