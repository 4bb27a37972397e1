package all

import (
	"strings"
	"testing"
)

// FuzzTarget: whatever is typed as a target, it is resolved to a kind or
// refused; a scheme leaves the rest as it stands.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{"run.log", "runs/exp42/", "file:/tmp/x", "traceback:", "user@host:/p", "*.log", "-", "", "artifacts:", ":", "file:file:x", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		kind, ref, err := Kinds().Resolve(target)
		switch {
		case err != nil && kind != nil:
			t.Errorf("%q: a kind beside the error %v", target, err)
		case err == nil && kind == nil:
			t.Errorf("%q: neither kind nor error", target)
		case err == nil && !strings.HasSuffix(target, ref):
			t.Errorf("%q: ref %q is no part of it", target, ref)
		}
	})
}
