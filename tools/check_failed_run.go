package tools

import (
	"context"
	"fmt"

	"github.com/trainmedic/trainmedic/internal/report"
)

func checkFailedRun() *tool {
	return &tool{
		name: "check_failed_run", title: "Check a failed run", result: "check-failed-run", writes: true, explains: true,
		doc: "The whole diagnosis of a failed or unstable run: status, cause, evidence with file and line, last progress, metrics, checkpoints, ranked fixes, decision. Writes check-failed-run.json only when out_dir is given.",
		args: object{
			"out_dir": text("Existing directory for check-failed-run.json."),
			"run_id":  text("run_id of the artifact (a new UUID)."),
		},
		run: runCheck,
	}
}

func runCheck(ctx context.Context, s *Server, a args) (any, error) {
	res, err := s.diagnose(ctx, a)
	if err != nil {
		return nil, err
	}
	if a.OutDir != "" {
		if _, err := report.WriteFile(a.OutDir, report.CheckArtifact, res.Diagnosis); err != nil {
			return nil, &badArgument{fmt.Sprintf("out_dir: %v", err), "Give a directory that exists and can be written, or leave out_dir out."}
		}
	}
	d := *res.Diagnosis
	d.Bound(a.MaxBytes, runURI(d.RunID))
	return &d, nil
}
