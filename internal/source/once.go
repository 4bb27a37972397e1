package source

import (
	"fmt"
	"hash/fnv"

	"github.com/trainmedic/trainmedic/internal/run"
)

// Once drops the gaps that the last look told already, and notes those of this
// one in its cursor: what lasts is told once, what comes back is told again.
func Once(obs *run.Observation, since run.Cursor) {
	kept := obs.Gaps[:0]
	for _, g := range obs.Gaps {
		h := fnv.New64a()
		fmt.Fprintf(h, "%q %q", g.What, g.Why)
		key := fmt.Sprintf("gap %x", h.Sum64())
		if obs.Next[key] = "told"; since[key] == "" {
			kept = append(kept, g)
		}
	}
	obs.Gaps = kept
}
