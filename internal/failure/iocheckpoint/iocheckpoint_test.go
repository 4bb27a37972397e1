package iocheckpoint_test

import (
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

func TestARestartFromRandomWeights(t *testing.T) {
	first := " iteration      100/  1000 | elapsed time per iteration (ms): 1.0 | lm loss: 3.1E+00 |\n iteration      110/  1000 | elapsed time per iteration (ms): 1.0 | lm loss: 3.0E+00 |\n iteration      120/  1000 | elapsed time per iteration (ms): 1.0 | lm loss: 2.9E+00 |\n"
	missing := "WARNING: could not find the metadata file /o/latest_checkpointed_iteration.txt\n    will not load any checkpoints and will start from random\n"
	f := failuretest.File(t, first+missing+" iteration       10/  1000 | elapsed time per iteration (ms): 1.0 | lm loss: 9.9E+00 |\n")
	if got := failuretest.Run(t, report.IOCheckpoint, "restart-from-scratch", f); len(got) != 1 || got[0].Cause != "started-from-scratch" {
		t.Fatalf("want one sighting, got %+v", got)
	}
	f = failuretest.File(t, missing+first)
	if got := failuretest.Run(t, report.IOCheckpoint, "restart-from-scratch", f); len(got) != 0 {
		t.Fatalf("a first start prints this too: %+v", got)
	}
}

func TestAnUnknownExceptionOfASave(t *testing.T) {
	f := failuretest.File(t, `Traceback (most recent call last):
  File "train.py", line 9, in <module>
    save_checkpoint(state)
  File "/work/ckpt.py", line 5, in save_checkpoint
    writer.close()
ckpt.WriterError: the writer was gone
`)
	if got := failuretest.Run(t, report.IOCheckpoint, "exception-in-checkpoint-code", f); len(got) != 1 || got[0].Ref.Line != 6 {
		t.Fatalf("want one sighting at line 6, got %+v", got)
	}
}

func TestAFullDiskBesideACrash(t *testing.T) {
	f := failuretest.File(t, "Saving model checkpoint to /o/checkpoint-500\n")
	f.AddFact(run.Fact{Key: "disk./o.used_percent", Value: "100", From: run.Ref{File: "df.txt", Line: 2}})
	if got := failuretest.Run(t, report.IOCheckpoint, "full-disk-beside-a-crash", f); len(got) != 0 {
		t.Fatalf("nothing says that the process died: %+v", got)
	}
	f.AddFact(run.Fact{Key: "exit.code", Value: "134"})
	if got := failuretest.Run(t, report.IOCheckpoint, "full-disk-beside-a-crash", f); len(got) != 1 || got[0].Ref.Line != 1 {
		t.Fatalf("want the saving line, got %+v", got)
	}
}

func TestAFailedLoadAsTheLastWord(t *testing.T) {
	f := failuretest.File(t, "loading checkpoint\ncould not load the checkpoint\n")
	if got := failuretest.Run(t, report.IOCheckpoint, "ended-at-a-failed-load", f); len(got) != 1 || got[0].Status != report.Crashed {
		t.Fatalf("want one sighting, got %+v", got)
	}
}

func TestAnLFSPointerIsTheCauseOfATornFile(t *testing.T) {
	f := failuretest.File(t, "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge\n")
	no := false
	f.Checkpoints = append(f.Checkpoints, run.Checkpoint{Path: "m/model.safetensors", Complete: &no, Why: "is a git-lfs pointer to 7 bytes"})
	if s, _ := failuretest.Book(t).Class(report.IOCheckpoint).Cause("lfs-pointer").When(f); s < 0.6 {
		t.Fatalf("want the pointer to decide the cause, got %v", s)
	}
}
