package checkpoint

import (
	"path"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

// orbax finds folders that Orbax wrote: they have its marker files, or still
// its temporary name.
func orbax(s *set) []run.Checkpoint {
	var out []run.Checkpoint
	for _, d := range s.dirs {
		if s.inside(d) || d == "." {
			continue
		}
		tmp := strings.Contains(path.Base(d), ".orbax-checkpoint-tmp")
		if g := s.group(d); tmp || g.isOrbax() {
			c := g.take(g.orbax(tmp))
			final, _, _ := strings.Cut(path.Base(d), ".orbax-checkpoint-tmp")
			c.Step = Step(final)
			out = append(out, c)
		}
	}
	return out
}

// isOrbax tells the top folder of one step: the marker lies right in it.
func (g group) isOrbax() bool {
	_, ok := g.find(func(r string) bool {
		switch r {
		case "_CHECKPOINT_METADATA", "orbax.checkpoint", "commit_success.txt", "manifest.ocdbt", "_METADATA", "default/_METADATA", "state/_METADATA", "params/_METADATA":
			return true
		}
		return false
	})
	return ok
}

func (g group) orbax(tmp bool) verdict {
	if tmp {
		return torn("still has its temporary name: the save did not finish")
	}
	if g.has("commit_success.txt") {
		return whole("commit_success.txt is there")
	}
	for _, i := range g.idx {
		if strings.Contains(g.rel(g.files[i]), ".orbax-checkpoint-tmp") {
			return torn("a part of it still has its temporary name")
		}
	}
	return whole("has its final name")
}
