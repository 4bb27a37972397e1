package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/trainmedic/trainmedic/internal/source"
)

// Proposal is what somebody wants to have done.
type Proposal struct {
	Principal string // who proposes it
	Run       string // the watch of the run, "" when it has none
	Target    string // the run as the tools take it: "pid:12", "slurm:7", a path
	Project   string // of a job in a cloud, as its watch has it; "" for the usual one
	Region    string
	Action    Action
	Args      Args
	Fix       string // what the plan of the diagnosis says that it does, "" when it is not of a plan
	Validate  string // how that plan says that it worked
	NoFix     bool
}

// Args are the arguments of an action.
type Args struct {
	Command    []string          `json:"command"`    // restart_with: the whole command, no shell
	Env        map[string]string `json:"env"`        // restart_with: variables to set beside the remembered ones
	Checkpoint string            `json:"checkpoint"` // repoint_checkpoint
}

// Target is what a proposal means, resolved: only what is found the same again
// is acted upon.
type Target struct {
	Host    string            `json:"host"` // "" is this machine
	PID     int               `json:"pid"`
	Start   string            `json:"start"` // of the process: with the PID its identity
	Group   int               `json:"group"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"` // only what is set beside the remembered environment
	Dir     string            `json:"dir"`
	Log     string            `json:"log"`
	Path    string            `json:"path"`
	To      string            `json:"to"`
	Job     string            `json:"job"`
	// Prints are the fingerprints of what has to stay as it is: the program, the
	// scripts, the remembered environment, a job's submission.
	Prints []string `json:"prints"`
	// Lineage is the same for the same fix of the same run, whatever it is called.
	Lineage string `json:"lineage"`
}

// Resolved is a proposal after a look at the world.
type Resolved struct {
	Target  Target
	Does    []string // what will be done, one thing a line, in our own words; secrets and escapes are taken out
	Changed string   // what is not as it was, "" when all is
}

// Outcome is what came of an action.
type Outcome struct {
	Text  string         // one or two sentences
	Run   source.Started // what was started, nil when nothing was; the caller closes it
	Watch string         // the watch that knows the run, "" when none does
}

// Effector does things. Resolve changes nothing. Do does what the permit's plan
// says, once, and MUST look at the target's identity again right before.
type Effector interface {
	Resolve(ctx context.Context, p Proposal) (Resolved, error)
	Do(ctx context.Context, p Permit) (Outcome, error)
}

// Permit is the right to do one plan. Only Execute makes one; the zero value is
// worth nothing.
type Permit struct{ plan *plan }

// Action is what is permitted, "" when nothing is.
func (p Permit) Action() Action {
	if p.plan == nil {
		return ""
	}
	return p.plan.proposal.Action
}

// Proposal is what was proposed.
func (p Permit) Proposal() Proposal { return p.plan.proposal }

// Target is what it was resolved to.
func (p Permit) Target() Target { return p.plan.found.Target }

// State is where a plan stands.
type State string

// The states of a plan.
const (
	Pending     State = "pending"
	Approved    State = "approved"
	Denied      State = "denied"
	Expired     State = "expired"
	Executing   State = "executing"
	Done        State = "done"
	Failed      State = "failed"
	Interrupted State = "interrupted" // the server ended, or the connection was cut, while it was done: nobody knows how far it came
	Void        State = "void"        // the server ended before it was done: it was not
)

// Record is what is told and kept of a plan: nothing in it is secret.
type Record struct {
	ID        string    `json:"id"`
	Instance  string    `json:"instance"` // the server process that may do it
	Principal string    `json:"principal"`
	Action    Action    `json:"action"`
	Run       string    `json:"run"`
	Target    string    `json:"target"`
	Does      []string  `json:"does"`
	Changed   string    `json:"changed"`
	Fix       string    `json:"fix"`
	Validate  string    `json:"validate"`
	Digest    string    `json:"digest"`
	Same      string    `json:"same"`    // the digest without who and when: what a denial sticks to
	Lineage   string    `json:"lineage"` // what tries are counted by, hashed
	State     State     `json:"state"`
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires"`
	Decided   string    `json:"decided"` // by whom, over which channel
	Ran       time.Time `json:"ran"`
	Outcome   string    `json:"outcome"`
}

// Short is the part of the digest that a person compares.
func (r *Record) Short() string { return short(r.Digest) }

func short(digest string) string { return digest[:min(8, len(digest))] }

// plan is a frozen proposal. What counts is in memory: a file that somebody
// changed decides nothing.
type plan struct {
	Record
	proposal Proposal
	found    Resolved
	until    time.Time // Expires by a clock that nobody sets
}

// left is how long a plan may still be decided and used. Where the machine's clock
// is set meanwhile, the shorter of what the two clocks say.
func (p *plan) left() time.Duration { return min(time.Until(p.until), time.Until(p.Expires)) }

// freeze computes the digests of a plan.
func freeze(p Proposal, found Resolved, policy, instance string) (digest, same string) {
	what := []any{p.Action, p.Args, found.Target, found.Changed}
	return hash(append(what, p.Principal, policy, instance)...), hash(what...)
}

// hash is a digest over values in their JSON form, in order.
func hash(values ...any) string {
	h := sha256.New()
	for _, v := range values {
		b, err := json.Marshal(v)
		if err != nil { // strings, numbers and maps of strings only
			b = fmt.Append(nil, v)
		}
		h.Write(append(b, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil))
}
