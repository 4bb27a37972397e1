package source

import (
	"context"
	"slices"
	"time"
)

// Check is one thing that this machine lets us see, or does not.
type Check struct {
	Name  string     `json:"name"`
	State CheckState `json:"state"`
	Seen  string     `json:"seen"` // what was found
	Fix   string     `json:"fix"`  // what a person does about it; "" when nothing is to be done
}

// CheckState is how a check came out.
type CheckState string

// The outcomes of a check.
const (
	CheckOK      CheckState = "ok"
	CheckLimited CheckState = "limited" // it is there, and something is in the way
	CheckMissing CheckState = "missing"
	CheckSilent  CheckState = "silent" // it did not answer in time
)

// Probe makes one check.
type Probe struct {
	Name string
	Run  func(ctx context.Context) Check
}

// farewell is how long a program that was told to end may still take, so that none
// is left behind.
const farewell = 300 * time.Millisecond

// Examine runs probes at once and gives their checks in order; one that has not
// answered when ctx ends is said to be silent, whatever it is doing.
func Examine(ctx context.Context, probes ...Probe) []Check {
	answers := make([]chan Check, len(probes))
	for i, p := range probes {
		answers[i] = make(chan Check, 1)
		go func() { answers[i] <- p.Run(ctx) }()
	}
	out := make([]Check, len(probes))
	for i, p := range probes {
		select {
		case out[i] = <-answers[i]:
		case <-ctx.Done():
			select {
			case out[i] = <-answers[i]: // it answered just then, or its program was ended
			case <-time.After(farewell):
				out[i] = Check{State: CheckSilent, Seen: "it did not answer in time", Fix: "find out why it hangs; what it would show cannot be seen until then"}
			}
		}
		out[i].Name = p.Name
	}
	return out
}

// Doctor asks all kinds at once, and then adds the probes for what no kind has
// checked.
func (r Registry) Doctor(ctx context.Context, more ...Probe) []Check {
	var kinds []*Kind
	for _, k := range r {
		if k.Doctor != nil {
			kinds = append(kinds, k)
		}
	}
	answers := make([]chan []Check, len(kinds))
	for i, k := range kinds {
		answers[i] = make(chan []Check, 1)
		go func() { answers[i] <- k.Doctor(ctx) }()
	}
	rest := make(chan []Check, 1)
	go func() { rest <- Examine(ctx, more...) }()
	var out []Check
	for i := range kinds {
		out = append(out, <-answers[i]...)
	}
	for _, c := range <-rest {
		if !slices.ContainsFunc(out, func(o Check) bool { return o.Name == c.Name }) {
			out = append(out, c)
		}
	}
	return out
}
