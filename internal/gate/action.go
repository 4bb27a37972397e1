// Package gate decides whether an action on a run may be done, and is the one
// way to have it done: a plan is frozen, a person or the policy decides on it, it
// is on disk before anything happens, and it happens at most once. Nothing that
// the protocol of the agents carries can decide. What is done, and how, is
// gate/effect's; it acts only with a Permit, which only this package can make.
package gate

import (
	"slices"

	"github.com/trainmedic/trainmedic/internal/report"
)

// Action is one of the operations of the contract.
type Action string

// The actions.
const (
	FetchEvidence Action = "fetch_evidence"
	Repoint       Action = "repoint_checkpoint"
	Restart       Action = "restart"
	RestartWith   Action = "restart_with"
	Terminate     Action = "terminate"
	CancelVertex  Action = "cancel_vertex_job"
	CancelSLURM   Action = "cancel_slurm_job"
	RequeueSLURM  Action = "requeue_slurm_job"
)

// trait is what the fix policy says of an action.
type trait struct {
	action Action
	risk   report.Risk
}

// traits lists the actions in the order of the documents. A safe one may run
// without a person where actions are allowed, and may be asked for in a client's
// own dialog where that is allowed.
var traits = []trait{
	{FetchEvidence, report.Safe},
	{Repoint, report.Safe},
	{Restart, report.Safe},
	{RestartWith, report.NeedsApproval},
	{Terminate, report.NeedsApproval},
	{CancelVertex, report.NeedsApproval},
	{CancelSLURM, report.NeedsApproval},
	{RequeueSLURM, report.NeedsApproval},
}

// Names lists the actions in the order of the documents.
func Names() []string {
	var out []string
	for _, t := range traits {
		out = append(out, string(t.action))
	}
	return out
}

// Risk is what the fix policy says of the action; Dangerous if it is none of
// ours, and those are never carried out.
func (a Action) Risk() report.Risk {
	i := slices.IndexFunc(traits, func(t trait) bool { return t.action == a })
	if i < 0 {
		return report.Dangerous
	}
	return traits[i].risk
}
