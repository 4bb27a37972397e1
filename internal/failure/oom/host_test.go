package oom_test

import (
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

func TestKilledOnFullHost(t *testing.T) {
	const log = "epoch 1 loss 2.0\nKilled\n$ echo $?\n137\n"
	free := func(row string) failuretest.Text {
		return failuretest.Text{Name: "free.txt", Kind: "free", Body: "      total  used  free  shared  buff/cache  available\n" + row + "\n"}
	}
	killed := failuretest.Text{Name: "run.log", Body: log}
	if s := failuretest.Run(t, report.OOM, "killed-on-a-full-host", failuretest.Files(t, killed, free("Mem:  62  60  0  0  1  1"))); len(s) != 1 {
		t.Errorf("a kill on a full host = %+v, want one sighting", s)
	}
	if s := failuretest.Run(t, report.OOM, "killed-on-a-full-host", failuretest.Files(t, killed, free("Mem:  62  20  30  0  12  40"))); len(s) != 0 {
		t.Errorf("a kill on a host with room = %+v, want nothing", s)
	}
}
