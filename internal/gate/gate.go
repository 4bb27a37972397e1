package gate

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trainmedic/trainmedic/internal/redact"
)

// TTL is how long a plan may wait for a decision, and a decision for its use.
const TTL = 10 * time.Minute

// maxPending bounds what may wait for a person at once: a flood of questions is
// a way to get a yes.
const maxPending = 20

// Gate is the agents' side: they propose, wait and have done what was decided.
// It is safe for concurrent use. The caller closes it.
type Gate struct {
	policy  Policy
	effects Effector
	store   *store
	found   []Record

	mu      sync.Mutex
	plans   map[string]*plan
	changed chan struct{} // closed and made anew at every change
}

// Decider is the people's side. Only Open makes one, and only what speaks with
// people gets it.
type Decider struct{ g *Gate }

// ErrNotWritten says that plans and audit cannot be written: nothing may be done
// then.
var ErrNotWritten = errors.New("gate: what is done cannot be written down")

// Open opens the gate of one server process on the state that a user's servers
// share, and says in the audit what became of plans whose server died.
func Open(dir string, p Policy, e Effector) (*Gate, *Decider, error) {
	s, err := openStore(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrNotWritten, err)
	}
	found, err := s.recover(time.Now())
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrNotWritten, errors.Join(err, s.close()))
	}
	g := &Gate{policy: p, effects: e, store: s, found: found, plans: map[string]*plan{}, changed: make(chan struct{})}
	return g, &Decider{g}, nil
}

// Close lets go of the gate; what waited is void.
func (g *Gate) Close() error { return g.store.close() }

// Recovered are the plans whose server died before they were done.
func (g *Gate) Recovered() []Record { return g.found }

// Policy is what the operator said.
func (g *Gate) Policy() Policy { return g.policy }

// Propose freezes a plan, or finds the same one that waits already. The ruling is
// Allow when Execute may follow at once, else Ask; a Refusal is an error.
func (g *Gate) Propose(ctx context.Context, p Proposal) (Record, Ruling, error) {
	if r, why := Rule(p.Action, g.policy, Grants{NoFix: p.NoFix}); r == Refuse {
		return Record{Action: p.Action}, Refuse, why // before anything is looked at
	}
	found, err := g.effects.Resolve(ctx, p)
	if err != nil {
		return Record{Action: p.Action}, Refuse, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	pl := &plan{proposal: p, found: found, until: now.Add(TTL)}
	digest, same := freeze(p, found, g.policy.digest(), g.store.instance)
	if had := g.waiting(digest); had != nil {
		return had.Record, Ask, nil
	}
	grants, err := g.grants(p.Action, hash(p.Action, found.Target.Lineage), same, now)
	if err != nil {
		return Record{Action: p.Action}, Refuse, err
	}
	grants.Changed = cmp.Or(found.Changed, grants.Changed)
	ruling, why := Rule(p.Action, g.policy, grants)
	pl.Record = Record{
		ID: newID(), Instance: g.store.instance, Principal: line(p.Principal, 120), Action: p.Action, Run: line(p.Run, 200),
		Target: line(p.Target, 300), Does: clean(found.Does), Changed: line(grants.Changed, 300),
		Fix: line(p.Fix, 300), Validate: line(p.Validate, 300), Digest: digest, Same: same,
		Lineage: hash(p.Action, found.Target.Lineage), State: Pending, Created: now.UTC(), Expires: now.Add(TTL).UTC(),
	}
	if ruling == Refuse {
		return pl.Record, Refuse, errors.Join(why, note(g.store.dir, entryOf(&pl.Record, "refused", pl.Principal, why.Why, now)))
	}
	if n := g.pending(now); n >= maxPending {
		return pl.Record, Refuse, Refusal{"too_many", fmt.Sprintf("%d actions wait for a person already; wait until some are decided or expire", n)}
	}
	if err := g.enter(pl, "proposed", pl.Principal, ""); err != nil {
		return pl.Record, Refuse, Refusal{"not_written", "nobody is asked, because the plan could not be written: " + err.Error()}
	}
	g.plans[pl.ID] = pl
	if ruling == Allow {
		err = g.decide(pl, true, "the server's policy")
	}
	return pl.Record, ruling, err
}

// waiting is the same plan that is not decided or not used yet; mu MUST be held.
func (g *Gate) waiting(digest string) *plan {
	for _, p := range g.plans {
		if p.Digest == digest && (g.state(p) == Pending || g.state(p) == Approved) {
			return p
		}
	}
	return nil
}

func (g *Gate) pending(now time.Time) (n int) {
	for _, p := range g.plans {
		if p.State == Pending && now.Before(p.Expires) {
			n++
		}
	}
	return n
}

// grants counts what all servers of the user know of the same fix and the same
// plan.
func (g *Gate) grants(a Action, lineage, same string, now time.Time) (Grants, error) {
	all, err := g.store.records(now)
	if err != nil {
		return Grants{}, err
	}
	var out Grants
	denials := 0
	for _, r := range all {
		like := r.Action == a && r.Lineage == lineage && now.Sub(r.Created) < triesWithin
		if r.State == Denied && like {
			denials++
		}
		if r.State == Denied && r.Same == same || denials >= MaxTries {
			out.Denied = true
		}
		if like && !r.Ran.IsZero() {
			out.Tries++
		}
		if like && r.State == Interrupted {
			out.Changed = "of an earlier try (" + r.ID + ") nobody knows whether it was done"
		}
	}
	return out, nil
}

// enter writes a plan's state and the audit's line about it, and wakes those who
// wait; mu MUST be held.
func (g *Gate) enter(p *plan, event, by, what string) error {
	err := g.store.save(&p.Record)
	if err == nil {
		err = note(g.store.dir, entryOf(&p.Record, event, by, what, time.Now()))
	}
	close(g.changed)
	g.changed = make(chan struct{})
	return err
}

// state is a plan's state now; mu MUST be held.
func (g *Gate) state(p *plan) State {
	if (p.State == Pending || p.State == Approved) && p.left() <= 0 {
		p.State = Expired
		p.Outcome = "nobody used it in time: it was not done"
		g.enter(p, string(Expired), "the clock", p.Outcome) //nolint:errcheck // it is expired in memory, which is what counts
	}
	return p.State
}

// decide enters a decision; mu MUST be held. A yes that cannot be written is none.
func (g *Gate) decide(p *plan, yes bool, by string) error {
	was := p.Record
	p.Decided = line(by, 200)
	if p.State = Denied; yes {
		p.State = Approved
	}
	if err := g.enter(p, string(p.State), p.Decided, ""); err != nil {
		p.Record = was
		if !yes {
			p.State = Denied // a no counts even so
		}
		return err
	}
	return nil
}

// errUnknown is one answer for what is not there and for what is another
// client's: nobody learns of others' plans.
func errUnknown(id string) error {
	return Refusal{"not_found", fmt.Sprintf("this client has no plan %.20q; propose the action anew", id)}
}

// mine finds the plan of a principal; mu MUST be held. One that an earlier server
// left behind is told by its record.
func (g *Gate) mine(principal, id string) (*plan, error) {
	if p := g.plans[id]; p != nil && p.proposal.Principal == principal {
		return p, nil
	}
	for i := range g.found {
		if r := &g.found[i]; r.ID == id {
			return nil, Refusal{string(r.State), r.Outcome}
		}
	}
	return nil, errUnknown(id)
}

// Await waits until a plan is not pending any more, or ctx ends, and says how it
// stands.
func (g *Gate) Await(ctx context.Context, principal, id string) (Record, error) {
	for {
		g.mu.Lock()
		p, err := g.mine(principal, id)
		if err != nil {
			g.mu.Unlock()
			return Record{}, err
		}
		state, record, left, changed := g.state(p), p.Record, p.left(), g.changed
		g.mu.Unlock()
		if state != Pending {
			return record, nil
		}
		t := time.NewTimer(left)
		select {
		case <-changed:
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return record, nil
		}
		t.Stop()
	}
}

// newID is a name that is short enough to be typed. It is no secret.
func newID() string {
	return strings.ToLower(rand.Text()[:8])
}

// clean takes secrets and what a reader would not see out of lines that a person
// decides by.
func clean(lines []string) []string {
	out := slices.Clone(lines)
	for i := range out {
		out[i] = strings.ReplaceAll(redact.Text(out[i]), "\n", `\n`)
	}
	return out
}

// line is a text in which a person reads one thing: of one line, cut to max
// characters.
func line(s string, max int) string {
	return redact.Clip(strings.NewReplacer("\n", `\n`, "\t", " ").Replace(redact.Text(s)), max)
}
