package ps

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want process
	}{
		"procps":  {"    PID    PPID STAT     ELAPSED   RSS     TIME COMMAND\n  12551     900 Sl+  1-02:03:04 51200 00:10:02 python  train.py --lr 0.1\n", process{12551, 900, "S", 26*time.Hour + 3*time.Minute + 4*time.Second, 51200 << 10, 10*time.Minute + 2*time.Second, "python  train.py --lr 0.1"}},
		"busybox": {"PID   PPID  STAT ELAPSED RSS  TIME   COMMAND\n   12     1 S     3:04   1.5g  0:02   python train.py\n", process{12, 1, "S", 3*time.Minute + 4*time.Second, 3 << 29, 2 * time.Second, "python train.py"}},
		"a BSD":   {"  PID  PPID STAT ELAPSED    RSS      TIME ARGS\n  501     1 R+     03:04   2048   0:02.51 python train.py\n", process{501, 1, "R", 3*time.Minute + 4*time.Second, 2 << 20, 2 * time.Second, "python train.py"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]process{c.want}, read([]byte(c.text)), cmp.AllowUnexported(process{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLost(t *testing.T) {
	now := map[int]Member{0: {10, "a"}, 1: {11, "b"}}
	ends := map[int]string{}
	end := func(m Member) string { return ends[m.PID] }
	lines, next := Lost("", now, end)
	if len(lines) > 0 {
		t.Errorf("%q", lines)
	}
	for _, c := range []struct {
		name string
		ends map[int]string
		now  map[int]Member
		want []string
	}{
		{"gone", map[int]string{11: Gone}, map[int]Member{0: {10, "a"}}, []string{"process 11 of rank 1 has ended while the run goes on; how is not known"}},
		{"still gone", map[int]string{11: Gone}, map[int]Member{0: {10, "a"}}, nil},
		{"how is known", map[int]string{11: "SIGKILL"}, map[int]Member{0: {10, "a"}}, []string{"process 11 of rank 1 was ended by SIGKILL while the run goes on"}},
		{"started again", map[int]string{11: Gone}, map[int]Member{0: {10, "a"}, 1: {12, "c"}}, []string{"process 12 of rank 1 has taken the place of process 11"}},
		{"and ended well", map[int]string{12: "0"}, map[int]Member{0: {10, "a"}}, []string{"process 12 of rank 1 ended with exit code 0 while the run goes on"}},
	} {
		ends = c.ends
		if lines, next = Lost(next, c.now, end); !cmp.Equal(c.want, lines) {
			t.Errorf("%s: want %q, got %q", c.name, c.want, lines)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("1 0 S 1-02:03:04 1.5g 0:02.51 a  b\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		all := read(out)
		for _, p := range all {
			if p.pid <= 0 || p.age < 0 || p.rss < 0 || p.cpu < 0 {
				t.Errorf("%+v", p)
			}
		}
		if len(all) > 0 && len(below(all, all[0].pid)) > maxFamily+len(all) {
			t.Error("a family without bounds")
		}
	})
}
