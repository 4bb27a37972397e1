package checkpoint

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

var (
	zeroOptim = regexp.MustCompile(`^(?:bf16_)?zero_pp_rank_(\d+)_mp_rank_(\d+)_optim_states\.pt$`)
	zeroModel = regexp.MustCompile(`^zero_pp_rank_(\d+)_mp_rank_(\d+)_model_states\.pt$`)
	mpModel   = regexp.MustCompile(`^mp_rank_(\d+)_model_states\.pt$`)
)

// deepspeed finds folders of DeepSpeed: global_stepN, or another tag that the
// file `latest` names. Rank 0 writes `latest` before the others are done, so
// the count of shards decides.
func deepspeed(s *set) []run.Checkpoint {
	var out []run.Checkpoint
	for _, d := range s.dirs {
		g := s.group(d)
		if _, ok := g.find(func(r string) bool { return zeroOptim.MatchString(r) || mpModel.MatchString(r) }); ok && !s.inside(d) {
			out = append(out, g.take(g.zero()))
		}
	}
	return append(out, named(s)...)
}

// zero counts the shards of one folder.
func (g group) zero() verdict {
	optim, model := map[string]int{}, map[string]int{}
	top, mp, empty := map[string]int{}, 0, ""
	g.each(func(rel string, f File) {
		if f.Size == 0 && strings.HasSuffix(rel, ".pt") {
			empty = rel
		}
		if m := zeroOptim.FindStringSubmatch(rel); m != nil {
			optim[m[2]]++
			top[m[2]] = max(top[m[2]], atoi(m[1])+1)
		} else if m := zeroModel.FindStringSubmatch(rel); m != nil {
			model[m[2]]++
			top[m[2]] = max(top[m[2]], atoi(m[1])+1)
		} else if mpModel.MatchString(rel) {
			mp++
		}
	})
	if empty != "" {
		return torn(empty + " is empty")
	}
	for _, k := range slices.Sorted(maps.Keys(top)) {
		switch n := top[k]; {
		case optim[k] < n:
			return torn(fmt.Sprintf("optimizer states of %d of at least %d ranks", optim[k], n))
		case model[k] > 0 && model[k] < n:
			return torn(fmt.Sprintf("model states of %d of at least %d ranks", model[k], n))
		}
	}
	if mp == 0 && len(model) == 0 && g.fsys != nil {
		return torn("has no model states")
	}
	if v := g.parts(); v.torn() {
		return v
	}
	if len(optim) == 0 {
		return unknown("has model states only")
	}
	return whole(fmt.Sprintf("the states of all %d ranks are there", total(top)))
}

func total(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

// named is what a file `latest` names and is not among the files.
func named(s *set) []run.Checkpoint {
	var out []run.Checkpoint
	for i, f := range s.files {
		if path.Base(f.Path) != "latest" || f.Dir || s.taken[i] || s.fsys == nil || f.Size > 256 {
			continue
		}
		tag := strings.TrimSpace(s.small(f.Path, 256))
		dir := path.Join(path.Dir(f.Path), tag)
		if tag == "" || strings.ContainsAny(tag, "\n/\\") || len(s.below[dir]) > 0 {
			continue
		}
		out = append(out, run.Checkpoint{
			Path: dir, Step: Step(tag), Why: "named by " + f.Path + ", but not among the files here",
			ModifiedAt: f.ModTime, Ref: run.Ref{File: f.Path, Line: 1},
		})
	}
	return out
}
