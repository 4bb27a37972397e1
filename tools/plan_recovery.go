package tools

import (
	"context"

	"github.com/trainmedic/trainmedic/internal/report"
)

// Plan is the result of plan_recovery.
type Plan struct {
	Decision       report.Decision `json:"decision" jsonschema:"enum=GO,enum=NO-GO,enum=CONDITIONAL"`
	PrimaryCause   report.Class    `json:"primary_cause"`
	Fixes          []report.Fix    `json:"fixes"`
	NextCommands   []string        `json:"next_commands"`
	BestCheckpoint *string         `json:"best_checkpoint" jsonschema:"nullable"`
	Cut            []report.Cut    `json:"cut"`
}

func planRecovery() *tool {
	return &tool{
		name: "plan_recovery", title: "Plan the recovery", result: "plan_recovery",
		doc: "Ranks what to do about a failed run: each fix with risk, expected impact, time to try and how to validate it. A fix with an operation is one that a server could carry out; the others are for a person.",
		run: func(ctx context.Context, s *Server, a args) (any, error) {
			res, err := s.diagnose(ctx, a)
			if err != nil {
				return nil, err
			}
			d := res.Diagnosis
			p := &Plan{
				Decision: d.Decision, PrimaryCause: d.PrimaryCause, Fixes: d.Fixes,
				NextCommands: d.NextCommands, BestCheckpoint: d.BestCheckpoint, Cut: noCut(),
			}
			report.Fit(p, a.MaxBytes, runURI(d.RunID), &p.Cut,
				report.First("next_commands", &p.NextCommands, 3), report.First("fixes", &p.Fixes, 3))
			return p, nil
		},
	}
}
