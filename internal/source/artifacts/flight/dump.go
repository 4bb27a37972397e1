// Package flight reads what PyTorch's flight recorder dumps when a collective
// times out: for each rank the last collectives, their state, and where in the
// code they were called. It tells which ranks are missing from which collective.
// The dumps are pickles; they are read as data, and nothing in them is called.
package flight

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Dump is what one rank dumped.
type Dump struct {
	Name   string
	Rank   int
	ops    []op
	groups map[string]group
}

// group is a process group as a dump describes it.
type group struct {
	desc  string
	ranks []int // nil when the dump does not say
}

// op is one collective, or one send or receive.
type op struct {
	group, desc string
	name, state string
	seq         int64
	p2p, done   bool
	sizes       string
	at          string // the program's own frames, innermost first
}

var rankAtEnd = regexp.MustCompile(`(\d+)(?:\.\w+)?$`)

// nameOf are the names that PyTorch and its users give to dumps: a prefix and the
// rank.
var nameOf = regexp.MustCompile(`(?i)(?:trace|flight|recorder|nccl|comm_lib|dump|debug_info)[^/]*_?\d+(?:\.(?:pkl|pickle|bin|json))?$`)

// Is reports whether a file is a dump, by its name and its first bytes.
func Is(name, head string) bool {
	if !nameOf.MatchString(path.Base(name)) {
		return false
	}
	known := strings.Contains(head, "pg_config") || strings.Contains(head, "nccl_version") || strings.Contains(head, "comm_lib_version") || strings.Contains(head, "collective_seq_id") ||
		strings.Contains(head, "entries") && strings.Contains(head, "profiling_name")
	return known && (strings.HasPrefix(head, "\x80") || strings.HasPrefix(strings.TrimSpace(head), "{"))
}

// Read reads a dump: a pickle, or the JSON that newer versions can write.
func Read(name string, b []byte) (*Dump, error) {
	m := rankAtEnd.FindStringSubmatch(path.Base(name))
	if m == nil {
		return nil, errors.New("the name does not end in a rank")
	}
	rank, err := strconv.Atoi(m[1])
	if err != nil {
		return nil, fmt.Errorf("the name does not end in a rank: %w", err)
	}
	var v any
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		if bytes.Count(b, []byte{','})+bytes.Count(b, []byte{'['})+bytes.Count(b, []byte{'{'}) > maxValues {
			return nil, errTooMany
		}
		if err := json.Unmarshal(b, &v); err != nil {
			return nil, err
		}
		v = plain(v)
	} else if v, err = read(b); err != nil {
		return nil, err
	}
	root, ok := v.(*dict)
	if !ok {
		return nil, errors.New("it holds no dump of the flight recorder")
	}
	d := &Dump{Name: name, Rank: rank, groups: map[string]group{}}
	d.readGroups(root)
	entries, ok := root.items["entries"].(*list)
	if !ok {
		return nil, errors.New("it holds no list of collectives")
	}
	for _, e := range entries.items[max(0, len(entries.items)-maxOps):] {
		if e, ok := e.(*dict); ok {
			d.ops = append(d.ops, readOp(e))
		}
	}
	return d, nil
}

// plain gives JSON the types of a pickle.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		l := &list{}
		for _, x := range v {
			l.items = append(l.items, plain(x))
		}
		return l
	case map[string]any:
		d := &dict{map[string]any{}}
		for k, x := range v {
			d.items[k] = plain(x)
		}
		return d
	case float64:
		return int64(v)
	}
	return v
}

// Bounds of what is made of a dump, in which one value may stand in many places.
const (
	maxOps    = 50_000
	maxGroups = 10_000
	maxRanks  = 100_000   // of a group
	maxOfAll  = 2_000_000 // ranks of all groups
	maxStack  = 300       // frames that are looked at
	maxText   = 2_000     // bytes
)

func (d *dict) text(key string) string {
	switch v := d.items[key].(type) {
	case string:
		return v[:min(len(v), maxText)]
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

var digits = regexp.MustCompile(`\d+`)

// readGroups reads pg_config: {"0": {"name": "0", "desc": "default_pg", "ranks":
// "[0, 1]"}}.
func (d *Dump) readGroups(root *dict) {
	all, _ := root.items["pg_config"].(*dict)
	if all == nil {
		return
	}
	ranks := 0
	for _, key := range slices.Sorted(maps.Keys(all.items)) {
		g, ok := all.items[key].(*dict)
		if !ok || len(d.groups) >= maxGroups || ranks >= maxOfAll {
			continue
		}
		x := group{desc: g.text("desc")}
		switch r := g.items["ranks"].(type) {
		case string:
			for _, n := range digits.FindAllString(r, maxRanks) {
				if rank, err := strconv.Atoi(n); err == nil {
					x.ranks = append(x.ranks, rank)
				}
			}
		case *list:
			for _, n := range r.items {
				if rank, ok := n.(int64); ok && len(x.ranks) < maxRanks {
					x.ranks = append(x.ranks, int(rank))
				}
			}
		}
		name := g.text("name")
		if name == "" {
			name = key
		}
		ranks += len(x.ranks)
		d.groups[name] = x
	}
}

func readOp(e *dict) op {
	o := op{state: e.text("state"), name: e.text("profiling_name"), sizes: spelled(e.items["input_sizes"])}
	if i := strings.LastIndexByte(o.name, ':'); i >= 0 { // "nccl:all_reduce"
		o.name = o.name[i+1:]
	}
	o.p2p, _ = e.items["is_p2p"].(bool)
	retired, _ := e.items["retired"].(bool)
	o.done = retired || o.state == "completed"
	o.seq, _ = e.items["collective_seq_id"].(int64)
	if n, ok := e.items["seq_id"].(int64); ok && o.seq == 0 { // before torch 2.4
		o.seq = n
	}
	if pg, ok := e.items["process_group"].(*list); ok && len(pg.items) > 0 {
		o.group, _ = pg.items[0].(string)
		if desc, ok := pg.items[len(pg.items)-1].(string); ok && len(pg.items) > 1 {
			o.desc = desc
		}
	} else {
		o.group = e.text("pg_id")
	}
	if frames, ok := e.items["frames"].(*list); ok {
		o.at = ownFrames(frames)
	}
	return o
}

// notOwn are the paths of what is not the user's program.
var notOwn = regexp.MustCompile(`/torch/|(?:site|dist)-packages/|/lib/python3[.\d]*/|^<`)

const maxFrames = 3

// ownFrames are the innermost frames that are neither PyTorch's nor Python's; the
// innermost of all where there is no such.
func ownFrames(frames *list) string {
	var own []string
	first := ""
	for _, v := range frames.items[:min(len(frames.items), maxStack)] {
		f, ok := v.(*dict)
		if !ok {
			continue
		}
		file := f.text("filename")
		text := fmt.Sprintf("%s:%s in %s", path.Base(file), f.text("line"), f.text("name"))
		if first == "" {
			first = text
		}
		if file != "" && !notOwn.MatchString(file) && len(own) < maxFrames {
			own = append(own, text)
		}
	}
	if len(own) == 0 {
		return first
	}
	return strings.Join(own, ", from ")
}

// spelled writes a list of sizes, one level deep in another.
func spelled(v any) string {
	l, ok := v.(*list)
	if !ok {
		return ""
	}
	var out []string
	for _, x := range l.items[:min(len(l.items), 8)] {
		switch x := x.(type) {
		case int64:
			out = append(out, strconv.FormatInt(x, 10))
		case *list:
			var in []string
			for _, y := range x.items[:min(len(x.items), 8)] {
				if n, ok := y.(int64); ok {
					in = append(in, strconv.FormatInt(n, 10))
				}
			}
			out = append(out, "["+strings.Join(in, ", ")+"]")
		}
	}
	return "[" + strings.Join(out, ", ") + "]"
}
