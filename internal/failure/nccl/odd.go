package nccl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// fingerprints is how torch's debug mode names the two ranks of a mismatch.
var fingerprints = regexp.MustCompile(`Rank (\d+) is running collective: .*but Rank (\d+) is running collective: `)

// oddCollective counts how often each rank is one of the two that do not agree:
// the one that no pair is without left the common path.
func oddCollective(f *casefile.File) []failure.Sighting {
	in := map[int]int{}
	var events []*casefile.Event
	for _, e := range f.EventsOf("nccl-collective-mismatch") {
		m := fingerprints.FindStringSubmatch(e.Text)
		if m == nil || f.Recovered(e) {
			continue
		}
		for _, s := range m[1:] {
			r, _ := strconv.Atoi(s)
			in[r]++
		}
		events = append(events, e)
	}
	odd := run.NoRank
	for r, n := range in {
		if n != len(events) {
			continue
		}
		if odd != run.NoRank {
			return nil // two ranks only, or one pair said twice
		}
		odd = r
	}
	if odd == run.NoRank {
		return nil
	}
	e := events[0]
	return []failure.Sighting{{
		Type: report.AnomalyDistributedError, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.95, Cause: "collective-mismatch",
		Rank: odd, Step: e.Step, Ref: e.Ref, Text: e.Text, Says: fmt.Sprintf("Rank %d ran another collective than each rank that complains; those agree with each other.", odd),
	}}
}

// missingRanks is how Horovod lists the ranks that did not submit a tensor: "2: [grad_0, …",
// behind "Missing ranks:", or "[missing ranks: 2]" behind the tensor's name.
var (
	missingHead = regexp.MustCompile(`(?:Missing|Stalled) ranks:\s*$`)
	missingRow  = regexp.MustCompile(`^\s*(?:\[\d+,\d+\]<std\w+>:\s*)?(\d+): \[(.*)`)
	missingList = regexp.MustCompile(`\[missing ranks: (\d+)((?:, ?\d+)*)\]`)
)

// missingRank is the one rank that Horovod's reports name as missing, or the one
// that misses other tensors than all the rest, NoRank when there is none such.
func missingRank(events []*casefile.Event) int {
	seen := map[int]string{} // what a rank misses
	for _, e := range events {
		if e.Context == nil {
			continue
		}
		rows := false
		for _, l := range append([]string{e.Text}, e.Context.Lines...) {
			if m := missingList.FindStringSubmatch(l); m != nil {
				if m[2] != "" {
					return run.NoRank
				}
				r, _ := strconv.Atoi(m[1])
				seen[r] = ""
			}
			m := missingRow.FindStringSubmatch(l)
			if rows = missingHead.MatchString(strings.TrimSpace(l)) || rows && m != nil; rows && m != nil {
				r, _ := strconv.Atoi(m[1])
				seen[r] = m[2]
			}
		}
	}
	by := map[string][]int{}
	for r, tensors := range seen {
		by[tensors] = append(by[tensors], r)
	}
	odd := run.NoRank
	for _, ranks := range by {
		switch {
		case len(ranks) > 1 && len(ranks) == len(seen)-1: // the others agree
		case len(ranks) == 1 && len(by) <= 2 && len(seen) != 2:
			odd = ranks[0]
		default:
			return run.NoRank
		}
	}
	return odd
}
