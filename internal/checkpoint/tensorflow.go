package checkpoint

import (
	"fmt"
	"path"
	"regexp"

	"github.com/trainmedic/trainmedic/internal/run"
)

var tfShard = regexp.MustCompile(`^(.+)\.data-(\d{5})-of-(\d{5})$`)

// tensorflow finds X.index with its X.data-0000i-of-0000n; all n must be there.
func tensorflow(s *set) []run.Checkpoint {
	type parts struct {
		index   bool
		have, n int
		empty   string
		idx     []int
	}
	found := map[string]*parts{}
	var order []string
	at := func(key string, i int) *parts {
		if found[key] == nil {
			found[key] = &parts{}
			order = append(order, key)
		}
		found[key].idx = append(found[key].idx, i)
		return found[key]
	}
	for i, f := range s.files {
		base := path.Base(f.Path)
		if s.taken[i] || f.Dir {
			continue
		}
		if m := tfShard.FindStringSubmatch(base); m != nil {
			p := at(path.Join(path.Dir(f.Path), m[1]), i)
			p.have, p.n = p.have+1, atoi(m[3])
			if f.Size == 0 {
				p.empty = base
			}
		} else if ext := path.Ext(base); ext == ".index" {
			at(f.Path[:len(f.Path)-len(ext)], i).index = true
		}
	}
	var out []run.Checkpoint
	for _, key := range order {
		p := found[key]
		if p.have == 0 && len(s.fileAt(path.Join(path.Dir(key), "checkpoint"))) == 0 {
			continue // some other program's index
		}
		v := whole("the index and all data files are there")
		switch {
		case p.have == 0:
			v = torn("has an index but no data file")
		case p.empty != "":
			v = torn(p.empty + " is empty")
		case p.have < p.n:
			v = torn(fmt.Sprintf("%d of %d data files", p.have, p.n))
		case !p.index:
			v = torn("its index is missing")
		}
		c := run.Checkpoint{Path: key, Step: Step(key), Complete: v.ok, Why: v.why}
		for _, i := range p.idx {
			s.taken[i] = true
			f := s.files[i]
			c.Size += max(f.Size, 0)
			if f.ModTime.After(c.ModifiedAt) {
				c.ModifiedAt = f.ModTime
			}
			if c.Ref.Line == 0 {
				c.Ref = f.Ref
			}
		}
		out = append(out, c)
	}
	return out
}
