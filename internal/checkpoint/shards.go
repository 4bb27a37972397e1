package checkpoint

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var shardName = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})(\.[a-z]+)$`)

// shards checks that every shard is there: by the index, or by the count that
// is part of the shards' names.
func (g group) shards() verdict {
	have := map[string]bool{}
	counts := map[string][2]int{}
	var index File
	g.each(func(rel string, f File) {
		have[rel] = true
		if strings.HasSuffix(rel, ".index.json") {
			index = f
		}
		if m := shardName.FindStringSubmatch(rel); m != nil {
			key := m[1] + m[4]
			counts[key] = [2]int{counts[key][0] + 1, atoi(m[3])}
		}
	})
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if c := counts[name]; c[0] < c[1] {
			return torn(fmt.Sprintf("%d of %d shards of %s", c[0], c[1], name))
		}
	}
	if index.Path == "" || g.fsys == nil {
		return verdict{}
	}
	if index.Size > maxIndex {
		return verdict{}
	}
	return g.opened(index.Path, func(ra io.ReaderAt) verdict {
		return indexed(io.NewSectionReader(ra, 0, index.Size), path.Dir(g.rel(index)), have)
	})
}

// maxIndex is the largest index that is read; that of a model of 90,000 tensors has
// 9 MB.
const maxIndex = 32 << 20

// indexed checks a weight_map against the files that are there.
func indexed(r io.Reader, dir string, have map[string]bool) verdict {
	var idx struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.NewDecoder(r).Decode(&idx); err != nil {
		return torn("its index is damaged")
	}
	missing := map[string]bool{}
	for _, f := range idx.WeightMap {
		if !have[path.Join(dir, f)] {
			missing[f] = true
		}
	}
	if len(missing) == 0 {
		return verdict{}
	}
	first := ""
	for f := range missing {
		if first == "" || f < first {
			first = f
		}
	}
	return torn(fmt.Sprintf("%d shards of its index are missing, the first is %s", len(missing), first))
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
