package ssh

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/remote"
)

func TestParse(t *testing.T) {
	for ref, want := range map[string]string{
		"user@host:/runs/x.log": "user@host /runs/x.log", "host:~/x": "host ./x", "host:~": "host ./", "host:x/y": "host ./x/y",
		"u@h:-rf": "u@h ./-rf", "u@h:a b": "u@h ./a b", "u@h:/a:b": "u@h /a:b", "u@[::1]:/x": "u@::1 /x", "//u@h:22/x y": "u@h /x y",
		"u@h:$(id)": "u@h ./$(id)", "u@h:'\n": "u@h ./'\n", "a@corp.com@h:/x": "a@corp.com@h /x",
		"host": "!", "host:": "!", ":/x": "!", "-oProxyCommand=x:/y": "!", "u@-h:/x": "!", "h h:/x": "!", "$(id)@h:/x": "!", "u@h;id:/x": "!",
		"u@h:~root/x": "!", "@h:/x": "!", "//h": "!", "u@h:\x00": "!",
	} {
		got, err := parse(ref)
		s := got.Address.String() + " " + got.path
		if err != nil {
			s = "!"
		}
		if diff := cmp.Diff(want, s); diff != "" {
			t.Errorf("%q: %s", ref, diff)
		}
	}
}

func TestClaim(t *testing.T) {
	t.Chdir(t.TempDir())
	for ref, want := range map[string]bool{
		"user@host:/x": true, "user@host:x.log": true, "user@host:~/runs/*.log": true, "gpu-box:/runs/x": true, "gpu-box:~/x": true,
		"C:/x": false, "http://host/x": false, "run.log": false, "a/b:c": false, "host:x": false, "-": false, "user@host": false,
	} {
		if got := claim(ref); got != want {
			t.Errorf("%q: %v", ref, got)
		}
	}
}

// FuzzParse: a path never begins with what a program takes for an option.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"u@h:/x", "h:-x", "//h/x", "u@h:~", "[::1]:x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		got, err := parse(ref)
		if err == nil && !strings.HasPrefix(got.path, "/") && !strings.HasPrefix(got.path, "./") {
			t.Errorf("%q has the path %q", ref, got.path)
		}
		if claim(ref) && err != nil {
			t.Errorf("%q is claimed and cannot be opened", ref)
		}
	})
}

// FuzzStat and the next ones: whatever a host answers, it is read or refused.
func FuzzStat(f *testing.F) {
	f.Add("2049:77 1234 2026-01-31 10:20:30.123456789 +0000 81a4")
	f.Add("1:1 -1 2026-01-31 10:20:30 +0100 41ed")
	f.Fuzz(func(t *testing.T, line string) {
		if i, err := parseStat(line); err == nil && (i.size < 0 || i.ident == "") {
			t.Errorf("%q became %+v", line, i)
		}
	})
}

func FuzzListing(f *testing.F) {
	f.Add([]byte("M p /runs\n\nM e 1:2 3 2026-01-31 10:20:30.1 +0000 81a4 ./a b\n\nM e 1:3 3 2026-01-31 10:20:30.1 +0000 a1ff ./n\nl\n\nM r /runs/a b\n\nM t 1:2 3 2026-01-31 10:20:30.1 +0000 81a4 ./n\nl\n\nM d ./closed\n"))
	f.Add([]byte("\nM e 1:2 3 2026-01-31 10:20:30.1 +0000 81a4 ../../x\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		tr := &tree{disk: &disk{host: (&remote.Pool{}).Host(remote.Address{Host: "h"}, false)}}
		if tr.take(records(out, "M")) != nil {
			return
		}
		for name := range tr.entries {
			if strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/") {
				t.Errorf("%q leads out of the folder", name)
			}
		}
	})
}

func TestExcerptParts(t *testing.T) {
	const gb = 1 << 30
	parts := partsOf([]hit{{2, 100}, {9, headPart + 10}, {50, 1 * gb}, {51, gb + 1000}, {60, gb + afterHit + 5}, {90, 5*gb - 5}}, 5*gb)
	at := int64(0)
	for _, p := range parts {
		if p.from < at || p.to <= p.from || p.hit.off < p.from || p.hit.off > p.to {
			t.Errorf("%+v follows %d", p, at)
		}
		at = p.to
	}
	if len(parts) != 5 || at != 5*gb {
		t.Errorf("got %+v", parts)
	}
}
