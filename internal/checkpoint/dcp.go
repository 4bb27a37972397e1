package checkpoint

import (
	"fmt"
	"path"
	"regexp"

	"github.com/trainmedic/trainmedic/internal/run"
)

var distcp = regexp.MustCompile(`^__(\d+)_(\d+)\.distcp$`)

// dcp finds folders of torch.distributed.checkpoint: .metadata is renamed into
// place last.
func dcp(s *set) []run.Checkpoint {
	var out []run.Checkpoint
	for _, d := range s.dirs {
		g := s.group(d)
		if _, ok := g.find(distcp.MatchString); ok && !s.inside(d) {
			out = append(out, g.take(g.dcp()))
		}
	}
	return out
}

func (g group) dcp() verdict {
	empty, top := "", -1
	ranks := map[int]bool{}
	meta := false
	g.each(func(rel string, f File) {
		if m := distcp.FindStringSubmatch(path.Base(rel)); m != nil {
			ranks[atoi(m[1])] = true
			top = max(top, atoi(m[1]))
			if f.Size == 0 {
				empty = rel
			}
		}
		meta = meta || path.Base(rel) == ".metadata"
	})
	switch {
	case empty != "":
		return torn(empty + " is empty")
	case !meta:
		return torn(".metadata, which is written last, is missing")
	case len(ranks) != top+1:
		return unknown(fmt.Sprintf(".metadata is there; files of %d of %d ranks", len(ranks), top+1))
	}
	return whole(".metadata, which is written last, is there")
}
