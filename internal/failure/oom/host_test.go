package oom_test

import (
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
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

func TestKilledInCgroup(t *testing.T) {
	for _, c := range []struct {
		state, code, kills string
		want               int
	}{
		{run.ProcessGone, "137", "1", 1},
		{run.ProcessGone, "", "2", 1},
		{run.ProcessGone, "137", "0", 0}, // somebody else killed it
		{run.ProcessGone, "0", "1", 0},
		{"R", "", "1", 0}, // another program of the cgroup was killed
	} {
		f := failuretest.File(t, "step 1 loss 2.0\n")
		facts := []run.Fact{{Key: run.FactState, Value: c.state}, {Key: run.FactOOMKills, Value: c.kills}, {Key: run.FactMemoryMax, Value: "734003200"}}
		if c.code != "" {
			facts = append(facts, run.Fact{Key: run.FactExitCode, Value: c.code})
		}
		if err := f.Add(t.Context(), run.Observation{Facts: facts}); err != nil {
			t.Fatal(err)
		}
		if s := failuretest.Run(t, report.OOM, "kernel-killed-in-cgroup", f); len(s) != c.want {
			t.Errorf("%+v: %+v", c, s)
		}
	}
}
