package datapipeline_test

import (
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

func TestAnUnknownExceptionOfTheDatasetIsSeen(t *testing.T) {
	f := failuretest.File(t, `Traceback (most recent call last):
  File "train.py", line 40, in <module>
    for batch in loader:
  File "/env/torch/utils/data/_utils/fetch.py", line 52, in fetch
    data = [self.dataset[idx] for idx in possibly_batched_index]
  File "/work/shards.py", line 12, in __getitem__
    raise ShardError("shard 12 has no footer")
shards.ShardError: shard 12 has no footer
`)
	got := failuretest.Run(t, report.DataPipeline, "exception-in-data-code", f)
	if len(got) != 1 || got[0].Ref.Line != 8 {
		t.Fatalf("want one sighting at line 8, got %+v", got)
	}
}

func TestALoaderWithoutFrames(t *testing.T) {
	f := failuretest.File(t, `Traceback (most recent call last):
  File "train.py", line 40, in main
    model.fit()
ValueError: step size
`)
	if got := failuretest.Run(t, report.DataPipeline, "exception-in-data-code", f); len(got) != 0 {
		t.Fatalf("the program's own exception is not the data's: %+v", got)
	}
}

func TestTheInputThatEndedEarly(t *testing.T) {
	f := failuretest.File(t, `Epoch 1/30
 74/120 [=================>............] - ETA: 5s - loss: 0.6971
WARNING:tensorflow:Your input ran out of data; interrupting training.
Saved model
`)
	got := failuretest.Run(t, report.DataPipeline, "input-ended-early", f)
	if len(got) != 1 || got[0].Status != report.Degraded {
		t.Fatalf("want one degraded sighting, got %+v", got)
	}
}

func TestASkippedSampleIsBenign(t *testing.T) {
	f := failuretest.File(t, "WARNING:root:Handling webdataset error (ReadError('tarfile.ReadError: unexpected end of data')). Ignoring.\n")
	for _, e := range f.Events {
		if e.Sign.Role == report.RoleCause {
			t.Errorf("%s took a skipped sample for a failure", e.Sign.ID)
		}
	}
}

func TestALogLineIsNoCheckOfTheLabelColumn(t *testing.T) {
	f := failuretest.File(t, "IndexError: Target 10 is out of bounds.\n")
	if f.Value("labels.problem") == "" {
		t.Fatal("the line should say what is wrong with the labels")
	}
	if got := failuretest.Run(t, report.DataPipeline, "label-column", f); len(got) != 0 {
		t.Fatalf("nobody read the column: %+v", got)
	}
	f.AddFact(run.Fact{Key: "labels.problem.max", Value: "3"}) // of a column named "problem"
	f.AddFact(run.Fact{Key: "labels.y.problem", Value: "y in train.csv: label 3 is out of range", From: run.Ref{File: "train.csv", Line: 3}})
	got := failuretest.Run(t, report.DataPipeline, "label-column", f)
	if len(got) != 1 || got[0].Ref.Line != 3 {
		t.Fatalf("want the sighting of train.csv:3, got %+v", got)
	}
}
