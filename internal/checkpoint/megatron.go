package checkpoint

import (
	"path"
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

const tracker = "latest_checkpointed_iteration.txt"

var iterDir = regexp.MustCompile(`^iter_(\d{7})$`)

// megatron finds iter_NNNNNNN folders. The tracker file is written last.
func megatron(s *set) []run.Checkpoint {
	var out []run.Checkpoint
	for _, d := range s.dirs {
		m := iterDir.FindStringSubmatch(path.Base(d))
		if m == nil || s.inside(d) {
			continue
		}
		g := s.group(d)
		c := g.take(g.megatron(m[1]))
		c.Step = int64(atoi(m[1]))
		out = append(out, c)
	}
	return out
}

func (g group) megatron(iter string) verdict {
	if len(g.idx) == 0 {
		if g.fsys == nil {
			return unknown("its files are not listed")
		}
		return torn("is an empty folder")
	}
	if v := g.parts(); v.torn() {
		return v
	}
	if _, dist := g.find(func(r string) bool { return strings.HasSuffix(r, ".distcp") }); dist {
		if v := g.dcp(); v.torn() {
			return v
		}
	}
	file := path.Join(path.Dir(g.dir), tracker)
	if len(g.fileAt(file)) == 0 {
		return unknown("its files are there, but no " + tracker + " names it")
	}
	if g.fsys == nil {
		return unknown("only names and sizes are known")
	}
	at := strings.TrimSpace(g.small(file, 64))
	if at != "release" && atoi(at) < atoi(iter) {
		return torn(tracker + " says " + at + ": the save of this one did not finish")
	}
	return whole(tracker + " is at or past it")
}

func (s *set) fileAt(name string) []File {
	for _, i := range s.below[path.Dir(name)] {
		if s.files[i].Path == name {
			return []File{s.files[i]}
		}
	}
	return nil
}
