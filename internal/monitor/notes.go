package monitor

import (
	"time"

	"github.com/trainmedic/trainmedic/internal/report"
)

// notes is what a watch has seen wrong with its run: what is open, what was
// told of it, and all that was ever told.
type notes struct {
	open    map[report.AnomalyType]*note
	history []*report.Anomaly // told ones, oldest first, at most maxHistory
}

// note is one anomaly from its first sign to its end.
type note struct {
	told    *report.Anomaly // as told last; nil until then
	seen    int             // looks that saw it
	missing int             // looks in a row that did not
}

const (
	maxHistory = 500
	closesWith = 2 // looks that must miss an anomaly before it is closed
)

// take compares what a look sees with what was told and returns what is worth
// telling now. sure says that the run is over: nothing can heal any more.
func (n *notes) take(now time.Time, all []report.Anomaly, sure bool) []report.Event {
	if n.open == nil {
		n.open = map[report.AnomalyType]*note{}
	}
	at := now.UTC().Format(time.RFC3339)
	var out []report.Event
	there := map[report.AnomalyType]bool{}
	for i := range all {
		a := all[i]
		there[a.Type] = true
		o := n.open[a.Type]
		if o == nil {
			o = &note{}
			n.open[a.Type] = o
		}
		o.seen, o.missing = o.seen+1, 0
		if !sure && o.seen <= a.Hold {
			continue
		}
		if e := n.tell(o, a, at); e != nil {
			out = append(out, *e)
		}
	}
	return append(out, n.gone(there, at, sure)...)
}

// tell opens an anomaly or makes it worse; nil when nothing about it is new.
func (n *notes) tell(o *note, a report.Anomaly, at string) *report.Event {
	kind := report.EventOpened
	switch {
	case o.told == nil:
		n.history = append(n.history, &a)
		if len(n.history) > maxHistory {
			n.history = n.history[1:]
		}
		o.told = &a
	case a.Severity.Above(o.told.Severity):
		kind = report.EventWorse
		a.At, a.ActionTaken = o.told.At, o.told.ActionTaken
		*o.told = a
	default:
		return nil
	}
	copied := *o.told
	return &report.Event{Kind: kind, At: at, Text: copied.Description, Anomaly: &copied}
}

// gone closes what is not seen any more.
func (n *notes) gone(there map[report.AnomalyType]bool, at string, sure bool) []report.Event {
	var out []report.Event
	for _, t := range report.AnomalyTypes {
		o := n.open[t]
		if o == nil || there[t] {
			continue
		}
		if o.missing++; o.told != nil && !sure && o.missing < closesWith {
			continue
		}
		delete(n.open, t)
		if o.told == nil {
			continue
		}
		o.told.ClosedAt = &at
		copied := *o.told
		out = append(out, report.Event{Kind: report.EventClosed, At: at, Text: "recovered: " + copied.Description, Anomaly: &copied})
	}
	return out
}

// current lists the open anomalies that were told.
func (n *notes) current() []report.Anomaly {
	var out []report.Anomaly
	for _, t := range report.AnomalyTypes {
		if o := n.open[t]; o != nil && o.told != nil {
			out = append(out, *o.told)
		}
	}
	return out
}

// tells reports whether an anomaly of a type is open and was told.
func (n *notes) tells(t report.AnomalyType) bool { return n.open[t] != nil && n.open[t].told != nil }

// all is everything that was told, oldest first.
func (n *notes) all() []report.Anomaly {
	out := []report.Anomaly{}
	for _, a := range n.history {
		out = append(out, *a)
	}
	return out
}

// restore takes the events that a journal holds: what they told is not told
// again.
func (n *notes) restore(events []report.Event) {
	n.open = map[report.AnomalyType]*note{}
	for _, e := range events {
		if e.Anomaly == nil {
			continue
		}
		a := *e.Anomaly
		o := n.open[a.Type]
		switch {
		case e.Kind == report.EventOpened || o == nil && e.Kind == report.EventWorse:
			n.open[a.Type] = &note{told: &a, seen: longSeen}
			n.history = append(n.history, &a)
		case o == nil:
		case e.Kind == report.EventClosed:
			*o.told = a
			delete(n.open, a.Type)
		default:
			*o.told = a
		}
	}
}

// longSeen is more than any Hold.
const longSeen = 100
