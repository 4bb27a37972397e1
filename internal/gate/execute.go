package gate

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
)

// ErrUnknown says that nobody knows whether an action was done. It is not done again.
var ErrUnknown = errors.New("unknown outcome")

// doWithin bounds an action; it goes on when its client has gone.
const doWithin = 5 * time.Minute

// Execute does an approved plan, once. again is the proposal as the caller says
// it now, nil when it only names the plan; one that differs is refused. The error
// is a Refusal when nothing was done; else the record says what came of it.
func (g *Gate) Execute(ctx context.Context, principal, id string, again *Proposal) (Record, Outcome, error) {
	p, err := g.claim(principal, id, again)
	if err != nil {
		return Record{}, Outcome{}, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), doWithin)
	defer cancel()
	if err := g.same(ctx, p); err != nil {
		return g.finish(p, Expired, Outcome{}, err)
	}
	if err := g.begin(p); err != nil {
		return g.finish(p, Expired, Outcome{}, Refusal{"not_written", "it was not done, because its plan could not be written: " + err.Error()})
	}
	out, err := g.effects.Do(ctx, Permit{p})
	if errors.Is(err, ErrUnknown) {
		return g.finish(p, Interrupted, out, err)
	}
	if err != nil {
		return g.finish(p, Failed, out, err)
	}
	return g.finish(p, Done, out, nil)
}

// claim takes an approved plan so that nobody else can.
func (g *Gate) claim(principal, id string, again *Proposal) (*plan, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, err := g.mine(principal, id)
	if err != nil {
		return nil, err
	}
	switch g.state(p) {
	case Approved:
	case Pending:
		return nil, Refusal{string(Pending), "nobody has decided yet"}
	case Denied:
		return nil, Refusal{string(Denied), "a person has denied it"}
	case Expired:
		return nil, Refusal{string(Expired), "the approval is over: " + p.Outcome}
	default:
		return nil, Refusal{"used", "the approval was used already: " + string(p.State) + ". " + p.Outcome}
	}
	if again != nil && (again.Action != p.proposal.Action || again.Target != p.proposal.Target || again.Run != p.proposal.Run || !reflect.DeepEqual(again.Args, p.proposal.Args)) {
		return nil, Refusal{"plan_changed", "the arguments are not those of the plan that was approved; propose them as a plan of their own"}
	}
	grants, err := g.grants(p.Action, p.Lineage, p.Same, time.Now())
	if err != nil {
		return nil, err
	}
	grants.Approved, grants.NoFix = true, p.proposal.NoFix
	if r, why := Rule(p.Action, g.policy, grants); r != Allow {
		return nil, why
	}
	p.State = Executing // in memory: it is on disk before anything is done
	return p, nil
}

// same looks at the world again: what was approved has to be what is there.
func (g *Gate) same(ctx context.Context, p *plan) error {
	now, err := g.effects.Resolve(ctx, p.proposal)
	if err != nil {
		return Refusal{"target_changed", "the target is not as it was when it was approved: " + reason(err)}
	}
	if digest, _ := freeze(p.proposal, now, g.policy.digest(), g.store.instance); digest != p.Digest {
		return Refusal{"target_changed", "the target is not as it was when it was approved; propose the action anew"}
	}
	return nil
}

// reason is an error as a sentence for a client.
func reason(err error) string {
	if r, ok := errors.AsType[Refusal](err); ok {
		return r.Why
	}
	return err.Error()
}

// begin puts on disk that the action is being done.
func (g *Gate) begin(p *plan) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.Ran = time.Now().UTC()
	return g.enter(p, string(Executing), p.Decided, "")
}

// finish enters what came of a plan. A refusal comes back as the error: nothing
// was done.
func (g *Gate) finish(p *plan, state State, out Outcome, failed error) (Record, Outcome, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.State, p.Outcome = state, redact.Clip(out.Text, 2000)
	if failed != nil {
		p.Outcome = redact.Clip(reason(failed), 2000)
	}
	if state == Expired {
		p.Ran = time.Time{}
	}
	written := g.enter(p, string(state), p.Decided, p.Outcome)
	if state == Expired {
		return p.Record, out, failed
	}
	if written != nil {
		p.Outcome += fmt.Sprintf(" (what came of it could not be written: %v)", written)
	}
	return p.Record, out, nil
}

// Settle enters whether an action helped, once its run has shown it.
func (g *Gate) Settle(id string, helped bool, what string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	event := "not-validated"
	if helped {
		event = "validated"
	}
	p := g.plans[id]
	if p == nil { // an earlier server did it
		return note(g.store.dir, Entry{At: time.Now(), Event: event, Plan: id, By: "the watch", What: redact.Clip(what, 500)})
	}
	p.Outcome = redact.Clip(p.Outcome+"; "+what, 2000)
	return g.enter(p, event, "the watch", redact.Clip(what, 500))
}

// InDialog enters what came back from a dialog of the client itself. The host
// answers there for the person, and some hosts answer by themselves: only safe
// actions, only where the operator allowed it, and only a typed code count.
func (g *Gate) InDialog(principal, id string, accepted bool, typed string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, err := g.mine(principal, id)
	switch {
	case err != nil:
		return err
	case !g.policy.Elicit || p.Action.Risk() != report.Safe || p.Changed != "":
		return Refusal{"dialog", fmt.Sprintf("%s cannot be approved in the client's dialog", p.Action)}
	case g.state(p) != Pending:
		return Refusal{string(p.State), "it is decided already"}
	case accepted && typed != p.Short():
		return Refusal{"dialog", "the dialog did not bring back the code: nothing is decided"}
	}
	return g.decide(p, accepted, "the client's dialog ("+principal+")")
}

// Dialog reports whether a plan may be decided in the client's dialog.
func (g *Gate) Dialog(r *Record) bool {
	return g.policy.Elicit && r.Action.Risk() == report.Safe && r.Changed == "" && r.State == Pending
}

// Decision is a person's word on a plan as they saw it.
type Decision struct {
	ID     string
	Digest string // of the plan that was shown, whole
	Yes    bool
	By     string // who, and over which channel
}

// Decide enters a person's decision.
func (d *Decider) Decide(w Decision) (Record, error) {
	d.g.mu.Lock()
	defer d.g.mu.Unlock()
	p := d.g.plans[w.ID]
	switch {
	case p == nil:
		return Record{}, errUnknown(w.ID)
	case d.g.state(p) != Pending:
		return p.Record, Refusal{string(p.State), fmt.Sprintf("it is %s already", p.State)}
	case p.Digest != w.Digest:
		return p.Record, Refusal{"plan_changed", "what was shown is not what is waiting; look again"}
	}
	err := d.g.decide(p, w.Yes, w.By)
	return p.Record, err
}

// List is what waits and what was decided, newest first.
func (d *Decider) List() []Record {
	d.g.mu.Lock()
	defer d.g.mu.Unlock()
	var out []Record
	for _, p := range d.g.plans {
		d.g.state(p)
		out = append(out, p.Record)
	}
	slices.SortFunc(out, func(a, b Record) int { return b.Created.Compare(a.Created) })
	return out
}

// Changed is closed at the next change of any plan.
func (d *Decider) Changed() <-chan struct{} {
	d.g.mu.Lock()
	defer d.g.mu.Unlock()
	return d.g.changed
}

// Approvers are the users who may decide through the socket.
func (d *Decider) Approvers() []int { return d.g.policy.Approvers }

// Warn enters an attempt that was refused before it was a decision.
func (d *Decider) Warn(by, what string) {
	note(d.g.store.dir, Entry{At: time.Now(), Event: "warning", By: redact.Clip(by, 200), What: redact.Clip(what, 200)}) //nolint:errcheck // it was refused in any case
}
