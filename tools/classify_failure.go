package tools

import (
	"context"

	"github.com/trainmedic/trainmedic/internal/report"
)

// Classification is the result of classify_failure.
type Classification struct {
	report.Verdict
	Cut []report.Cut `json:"cut"`
}

func classifyFailure() *tool {
	return &tool{
		name: "classify_failure", title: "Classify a failure", result: "classify_failure",
		doc: "Says which of 13 failure classes a run or a pasted error belongs to, with the lines that prove it, the chain from the root to the last symptom, and what was ruled out and why.",
		run: func(ctx context.Context, s *Server, a args) (any, error) {
			a.partial = true // what is missing is told
			res, err := s.diagnose(ctx, a)
			if err != nil {
				return nil, err
			}
			c := &Classification{Verdict: res.Diagnosis.Verdict, Cut: noCut()}
			c.Fit(c, a.MaxBytes, runURI(res.Diagnosis.RunID), &c.Cut)
			return c, nil
		},
	}
}
