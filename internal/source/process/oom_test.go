package process_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

func TestKilledForWantOfMemory(t *testing.T) {
	dir := t.TempDir()
	p := begin(t, dir, toLog)
	sourcetest.LimitMemory(t, p.Process.Pid, 32<<20)
	s := open(t, p.Process.Pid, source.Options{Watch: true})
	obs := look(t, s, nil)
	if value(obs, run.FactMemoryMax) != "33554432" || value(obs, run.FactOOMKills) != "0" || value(obs, run.FactMemoryNow) == "" {
		t.Errorf("%+v", obs.Facts)
	}
	fmt.Fprintln(p.in, "ulimit -v 1000000; exec tail /dev/zero") // which keeps what it reads until a line ends
	p.Wait()
	obs = look(t, s, obs.Next)
	if value(obs, run.FactState) != run.ProcessGone || value(obs, run.FactOOMKills) != "1" {
		t.Errorf("%+v", obs.Facts)
	}
	if got := text(t, obs); !strings.Contains(got, "cgroup: the kernel killed 1 of its processes for want of memory (oom_kill 1, limit 33554432 bytes)") {
		t.Errorf("noticed %q", got)
	}
	for _, st := range obs.Streams {
		if st.Kind == "dmesg" && !strings.Contains(sourcetest.Text(t, st), fmt.Sprintf("Killed process %d (", p.Process.Pid)) {
			t.Errorf("the kernel says %q", sourcetest.Text(t, st))
		}
	}
}
