package flight

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// What a set of dumps shows.
const (
	Missing  = "missing"  // ranks did not come to a collective that others wait in
	Mismatch = "mismatch" // ranks are in different collectives at one place of the sequence
	Absent   = "absent"   // all who dumped wait, and members of the group did not dump
	Fabric   = "fabric"   // all members wait in the same collective
)

// Finding is the collective that does not end, and who is to blame for it.
type Finding struct {
	Kind       string
	Ranks      []int  // that are missing, absent, or in another collective than most
	Collective string // "all_reduce #37 of default_pg"
	Says       string // with the place in the code
	Name       string // of the dump that shows it best
}

// stand is where one rank stands in a group.
type stand struct {
	dump    *Dump
	last    op  // the newest collective
	waiting *op // the oldest one that is not completed
}

// Analyse compares the dumps of a job's ranks; nil when no collective waits. Of
// several groups that one counts whose members wait at the earliest place of their
// own sequence for ranks that did not come.
func Analyse(dumps []*Dump) *Finding {
	groups, told := map[string]map[int]*stand{}, false
	for _, d := range dumps {
		for i := range d.ops {
			o := &d.ops[i]
			if o.p2p {
				continue
			}
			if groups[o.group] == nil {
				groups[o.group] = map[int]*stand{}
			}
			s := groups[o.group][d.Rank]
			if s == nil {
				s = &stand{dump: d}
				groups[o.group][d.Rank] = s
			}
			if o.seq >= s.last.seq {
				s.last = *o
			}
			told = told || o.state == "started" || o.state == "completed"
			if !o.done && (s.waiting == nil || o.seq < s.waiting.seq) {
				s.waiting = o
			}
		}
	}
	var best *Finding
	order := []string{Missing, Mismatch, Absent, Fabric}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if !told { // gloo does not note what became of a collective: the last one counts
			for _, s := range groups[name] {
				s.waiting = &s.last
			}
		}
		f := judge(name, groups[name], dumps)
		if f != nil && !told && f.Kind != Missing && f.Kind != Mismatch {
			continue
		}
		if f != nil && (best == nil || slices.Index(order, f.Kind) < slices.Index(order, best.Kind)) {
			best = f
		}
	}
	return best
}

func judge(name string, stands map[int]*stand, dumps []*Dump) *Finding {
	ranks := slices.Sorted(maps.Keys(stands))
	first := waitsAt(stands, ranks)
	if first == nil {
		return nil
	}
	w := first.waiting
	g := first.dump.groups[name]
	f := &Finding{Collective: fmt.Sprintf("%s #%d of %s", w.name, w.seq, title(w, g)), Name: first.dump.Name}
	var late, waits []int
	for _, r := range ranks {
		switch s := stands[r]; {
		case s.last.seq < w.seq:
			late = append(late, r)
		case s.waiting != nil && s.waiting.seq == w.seq:
			waits = append(waits, r)
		}
	}
	if members := g.ranks; members != nil {
		for _, d := range dumps { // a member that dumped, but called no collective of the group
			if stands[d.Rank] == nil && slices.Contains(members, d.Rank) {
				late = append(late, d.Rank)
			}
		}
	}
	slices.Sort(late)
	switch {
	case len(late) > 0:
		f.Kind, f.Ranks = Missing, late
		f.Says = fmt.Sprintf("%s wait in %s%s, and %s did not come.", plural(waits), f.Collective, called(w), plural(late))
		if s := stands[late[0]]; s != nil {
			f.Says += fmt.Sprintf(" The last collective of rank %d was %s #%d%s.", late[0], s.last.name, s.last.seq, called(&s.last))
		}
	case f.mismatched(stands, waits):
	case f.absent(g, dumps):
		f.Says = fmt.Sprintf("%s wait in %s%s; %s left no dump: it died, or hangs where its watchdog does not run.", plural(waits), f.Collective, called(w), plural(f.Ranks))
	default:
		f.Kind = Fabric
		f.Says = fmt.Sprintf("All ranks that dumped (%s) are in %s%s and it does not end: the network, or a rank's GPU, does not answer.", numbers(waits), f.Collective, called(w))
	}
	return f
}

// waitsAt is the stand whose wait shows best what is wrong: the earliest wait for
// which somebody is late, else the earliest of all.
func waitsAt(stands map[int]*stand, ranks []int) *stand {
	var first, lacking *stand
	least := int64(math.MaxInt64)
	for _, r := range ranks {
		least = min(least, stands[r].last.seq)
	}
	for _, r := range ranks {
		w := stands[r].waiting
		if w == nil {
			continue
		}
		if first == nil || w.seq < first.waiting.seq {
			first = stands[r]
		}
		if w.seq > least && (lacking == nil || w.seq < lacking.waiting.seq) {
			lacking = stands[r]
		}
	}
	if lacking != nil {
		return lacking
	}
	return first
}

// mismatched finds ranks whose collective is another one than that of most.
func (f *Finding) mismatched(stands map[int]*stand, waits []int) bool {
	forms := map[string][]int{}
	for _, r := range waits {
		o := stands[r].waiting
		form := o.name
		if !strings.Contains(o.name, "gather") && !strings.Contains(o.name, "scatter") && !strings.Contains(o.name, "all_to_all") && !strings.Contains(o.name, "broadcast") {
			form += " of " + o.sizes
		}
		forms[form] = append(forms[form], r)
	}
	if len(forms) < 2 {
		return false
	}
	keys := slices.SortedFunc(maps.Keys(forms), func(a, b string) int {
		if d := len(forms[a]) - len(forms[b]); d != 0 {
			return d
		}
		return forms[b][0] - forms[a][0]
	})
	odd, most := forms[keys[0]], forms[keys[len(keys)-1]]
	f.Kind, f.Ranks, f.Name = Mismatch, odd, stands[odd[0]].dump.Name
	x, y := stands[odd[0]].waiting, stands[most[0]].waiting
	f.Says = fmt.Sprintf("At number %d of the sequence %s called %s%s, but %s called %s%s.", x.seq, plural(odd), keys[0], called(x), plural(most), keys[len(keys)-1], called(y))
	return true
}

// absent finds members of the group that left no dump.
func (f *Finding) absent(g group, dumps []*Dump) bool {
	for _, r := range g.ranks {
		if !slices.ContainsFunc(dumps, func(d *Dump) bool { return d.Rank == r }) {
			f.Ranks = append(f.Ranks, r)
		}
	}
	if len(f.Ranks) > 0 {
		f.Kind = Absent
	}
	return len(f.Ranks) > 0
}

func called(o *op) string {
	if o.at == "" {
		return ""
	}
	return " (called at " + o.at + ")"
}

func title(o *op, g group) string {
	for _, desc := range []string{g.desc, o.desc} {
		if desc != "" && desc != "undefined" {
			return desc
		}
	}
	if o.group == "" {
		return "its group"
	}
	return "group " + o.group
}

func plural(ranks []int) string {
	if len(ranks) == 1 {
		return "rank " + numbers(ranks)
	}
	return "ranks " + numbers(ranks)
}

// numbers lists ranks, those beyond the twelfth as their count.
func numbers(ranks []int) string {
	var out []string
	for _, r := range ranks[:min(12, len(ranks))] {
		out = append(out, strconv.Itoa(r))
	}
	if n := len(ranks) - len(out); n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, ", ")
}
