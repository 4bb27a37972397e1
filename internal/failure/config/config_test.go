package config_test

import (
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

func TestAnUnknownExceptionOfTheProgramIsSeen(t *testing.T) {
	f := failuretest.File(t, `Traceback (most recent call last):
  File "train.py", line 9, in <module>
    main()
  File "train.py", line 5, in main
    build(args)
ValueError: the towers disagree about their width
`)
	got := failuretest.Run(t, report.Config, "exception-in-program", f)
	if len(got) != 1 || got[0].Ref.Line != 6 || got[0].Weight < 0.55 {
		t.Fatalf("want one sighting at line 6 before the first step, got %+v", got)
	}
}

func TestEqualNumbersThatDiffer(t *testing.T) {
	f := failuretest.File(t, "- ds gradient_accumulation_steps=16 vs hf gradient_accumulation_steps=16\n")
	got := failuretest.Run(t, report.Config, "equal-looking-mismatch", f)
	if len(got) != 1 || got[0].Cause != "string-number" {
		t.Fatalf("want one sighting of a string, got %+v", got)
	}
	f = failuretest.File(t, "- ds gradient_accumulation_steps=16 vs hf gradient_accumulation_steps=8\n")
	if got := failuretest.Run(t, report.Config, "equal-looking-mismatch", f); len(got) != 0 {
		t.Fatalf("numbers that differ need no string: %+v", got)
	}
}

func TestMoreProcessesThanVisibleDevices(t *testing.T) {
	f := failuretest.File(t, `+ export CUDA_VISIBLE_DEVICES=1,2
+ torchrun --standalone --nproc_per_node=4 train.py
[rank3]: RuntimeError: CUDA error: invalid device ordinal
`)
	cause := failuretest.Book(t).Class(report.Config).Cause("visible-devices")
	if s, evidence := cause.When(f); s == 0 || len(evidence) != 2 {
		t.Fatalf("want the launch line and the devices as evidence, got %v %v", s, evidence)
	}
}
