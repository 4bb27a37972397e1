package effect

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/remote"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Effects does the actions, here and over SSH. It remembers how the runs that are
// watched were started. It is safe for concurrent use.
type Effects struct {
	Sources source.Registry
	Roots   source.Roots  // bound the local files that may be acted upon
	Grace   time.Duration // between SIGTERM and SIGKILL: a checkpoint may be on its way; 30 s when 0
	Dir     string        // where how runs were started is kept, and logs and evidence go that have no place of their own
	Start   func(ctx context.Context, l source.Launch, opt source.Options) (source.Started, error)

	hosts remote.Pool // its connections are not those of the sources, which only look

	mu      sync.Mutex
	started []*memory          // oldest first
	tried   map[Seen]time.Time // when it was looked last how a run of a host was started
}

// means is how one action is resolved and done.
type means struct {
	resolve func(e *Effects, ctx context.Context, p gate.Proposal) (gate.Resolved, error)
	do      func(e *Effects, ctx context.Context, p gate.Permit) (gate.Outcome, error)
}

var all = map[gate.Action]means{
	gate.Restart:       {(*Effects).resolveRestart, (*Effects).restart},
	gate.RestartWith:   {(*Effects).resolveRestart, (*Effects).restart},
	gate.Terminate:     {(*Effects).resolveTerminate, (*Effects).terminate},
	gate.Repoint:       {(*Effects).resolveRepoint, (*Effects).repoint},
	gate.FetchEvidence: {(*Effects).resolveFetch, (*Effects).fetch},
	gate.CancelVertex:  {(*Effects).resolveVertex, (*Effects).cancelVertex},
	gate.CancelSLURM:   {(*Effects).resolveJob, (*Effects).job},
	gate.RequeueSLURM:  {(*Effects).resolveJob, (*Effects).job},
}

// Resolve implements gate.Effector.
func (e *Effects) Resolve(ctx context.Context, p gate.Proposal) (gate.Resolved, error) {
	m, ok := all[p.Action]
	if !ok {
		return gate.Resolved{}, gate.Refusal{Kind: "not_supported", Why: fmt.Sprintf("%s is not supported in this version; a person can do it by hand", p.Action)}
	}
	if p.Target != "" && p.Run == "" { // what may not be looked at is not acted upon
		if _, _, err := e.Sources.Resolve(p.Target); err != nil {
			return gate.Resolved{}, cannot("bad_target", "%v", err)
		}
	}
	if to := p.Args.Checkpoint; to != "" && e.hostOf(p) == "" {
		if err := e.Roots.Check(to); err != nil {
			return gate.Resolved{}, cannot("bad_arguments", "checkpoint: %v", err)
		}
	}
	return m.resolve(e, ctx, p)
}

// Do implements gate.Effector.
func (e *Effects) Do(ctx context.Context, p gate.Permit) (gate.Outcome, error) {
	m, ok := all[p.Action()]
	if !ok {
		return gate.Outcome{}, fmt.Errorf("effect: nothing is permitted")
	}
	return m.do(e, ctx, p)
}

// cannot is a refusal of something that this target does not allow.
func cannot(kind, format string, args ...any) error {
	return gate.Refusal{Kind: kind, Why: fmt.Sprintf(format, args...)}
}
