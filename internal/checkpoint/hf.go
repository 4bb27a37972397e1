package checkpoint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

var (
	hfDir   = regexp.MustCompile(`^(?:tmp-)?checkpoint[-_](?:epoch[-_])?(\d+)(?:\.tmp|\.partial)?$`)
	rngFile = regexp.MustCompile(`^rng_state_(\d+)\.pth$`)
)

// hf finds the folders of the Hugging Face trainer. It writes the model, then
// optimizer and scheduler, then rng_state*, and trainer_state.json last.
func hf(s *set) []run.Checkpoint {
	var out []run.Checkpoint
	for _, d := range s.dirs {
		if !hfDir.MatchString(path.Base(d)) || s.inside(d) {
			continue
		}
		g := s.group(d)
		out = append(out, g.take(g.hf()))
	}
	return out
}

func (g group) hf() verdict {
	base := path.Base(g.dir)
	if strings.HasPrefix(base, "tmp-") {
		return torn("is a staging folder that was never renamed")
	}
	if unfinishedName(base) {
		return torn("was never renamed to its final name")
	}
	if len(g.idx) == 0 {
		if g.fsys == nil {
			return unknown("its files are not listed")
		}
		return torn("is an empty folder")
	}
	if v := g.shards(); v.torn() {
		return v
	}
	if v := g.parts(); v.torn() {
		return v
	}
	if v := g.ranks(); v.torn() {
		return v
	}
	return g.last()
}

// parts judges every file of tensors in the folder.
func (g group) parts() verdict {
	bad := verdict{}
	g.each(func(rel string, f File) {
		if bad.torn() || !isWeights(path.Base(rel)) || strings.HasSuffix(rel, ".distcp") {
			return
		}
		if f.Size == 0 {
			bad = torn(rel + " is empty")
		} else if g.fsys != nil {
			if v := g.weights(f); v.torn() {
				bad = torn(rel + " " + v.why)
			}
		}
	})
	return bad
}

// ranks looks for gaps in what each rank writes.
func (g group) ranks() verdict {
	var ranks []int
	g.each(func(rel string, _ File) {
		if m := rngFile.FindStringSubmatch(rel); m != nil {
			ranks = append(ranks, atoi(m[1]))
		}
	})
	if slices.Sort(ranks); len(ranks) > 0 && ranks[len(ranks)-1] != len(ranks)-1 {
		return torn(fmt.Sprintf("rng_state of %d of %d ranks", len(ranks), ranks[len(ranks)-1]+1))
	}
	zero := g.sub(func(base string) bool { return strings.HasPrefix(base, "global_step") })
	for _, z := range zero {
		if v := z.zero(); v.torn() {
			return torn(path.Base(z.dir) + ": " + v.why)
		}
	}
	return verdict{}
}

// sub is the groups of the folders right below.
func (g group) sub(match func(base string) bool) []group {
	var out []group
	for _, d := range g.dirs {
		if path.Dir(d) == g.dir && match(path.Base(d)) {
			out = append(out, g.group(d))
		}
	}
	return out
}

// last judges by what is written last.
func (g group) last() verdict {
	state, hasState := g.find(func(r string) bool { return r == "trainer_state.json" })
	_, hasOptim := g.find(func(r string) bool {
		return strings.HasPrefix(r, "optimizer") || strings.HasPrefix(r, "scheduler") || strings.HasPrefix(r, "rng_state") || strings.HasPrefix(r, "global_step")
	})
	_, hasWeights := g.find(func(r string) bool {
		b := path.Base(r)
		return isWeights(b) && !rngFile.MatchString(b) && !strings.HasPrefix(b, "optimizer") && !strings.HasPrefix(b, "scheduler") && b != "rng_state.pth" && b != "scaler.pt"
	})
	switch {
	case hasState && state.Size == 0:
		return torn("trainer_state.json, which is written last, is empty")
	case !hasWeights:
		return torn("has no weights in it")
	case hasState:
		return whole("trainer_state.json, which is written last, is there")
	case hasOptim:
		return torn("trainer_state.json, which is written last, is missing")
	}
	return unknown("has weights but no trainer state: saved for inference, or torn")
}
