package checkpoint

import (
	"path"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

// single finds checkpoints of one file: torch, Lightning, safetensors, Keras,
// and models saved in shards beside each other.
func single(s *set) []run.Checkpoint {
	var out []run.Checkpoint
	for i, f := range s.files {
		base := path.Base(f.Path)
		if s.taken[i] || f.Dir || !isWeights(base) || sidecar(base) {
			continue
		}
		if shardName.MatchString(base) {
			out = append(out, s.sharded(f))
			continue
		}
		s.taken[i] = true
		v := s.weights(f)
		out = append(out, run.Checkpoint{
			Path: f.Path, Format: formatOf(base), Step: Step(base), Complete: v.ok, Why: v.why,
			ModifiedAt: f.ModTime, Size: f.Size, Ref: f.Ref,
		})
	}
	return out
}

// sharded takes all shards of the folder as one.
func (s *set) sharded(f File) run.Checkpoint {
	g := s.group(path.Dir(f.Path))
	v := g.shards()
	if v.ok == nil && v.why == "" {
		if v = g.parts(); !v.torn() {
			v = unknown("all shards are named, their contents are not known")
			if g.fsys != nil {
				v = whole("all shards are there")
			}
		}
	}
	c := run.Checkpoint{Path: g.dir, Format: formatOf(path.Base(f.Path)), Step: Step(g.dir), Complete: v.ok, Why: v.why, ModifiedAt: g.mod, Ref: f.Ref}
	for _, i := range g.idx {
		if sib := s.files[i]; path.Dir(sib.Path) == g.dir && shardName.MatchString(path.Base(sib.Path)) {
			s.taken[i] = true
			c.Size += max(sib.Size, 0)
		}
	}
	return c
}

// sidecar is a file that belongs to a checkpoint but is none.
func sidecar(base string) bool {
	for _, p := range []string{"rng_state", "scheduler", "scaler", "training_args", "random_states", "sampler"} {
		if strings.HasPrefix(base, p) {
			return true
		}
	}
	return false
}

func formatOf(base string) string {
	for _, suffix := range []string{".tmp", ".partial", ".incomplete"} {
		base = strings.TrimSuffix(base, suffix)
	}
	switch strings.ToLower(path.Ext(base)) {
	case ".safetensors":
		return "safetensors"
	case ".ckpt":
		return "lightning"
	case ".h5", ".hdf5", ".keras":
		return "keras"
	}
	return "torch"
}
