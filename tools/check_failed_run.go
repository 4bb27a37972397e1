package tools

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/trainmedic/trainmedic/internal/page"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
)

func checkFailedRun() *tool {
	return &tool{
		name: "check_failed_run", title: "Check a failed run", result: "check-failed-run", writes: true, explains: true, app: true,
		doc: "The whole diagnosis of a failed or unstable run: status, cause, evidence with file and line, last progress, metrics, checkpoints, ranked fixes, decision. Writes check-failed-run.json only when out_dir is given.",
		args: object{
			"out_dir": text("Existing directory for check-failed-run.json."),
			"run_id":  text("run_id of the artifact (a new UUID)."),
		},
		run: runCheck,
	}
}

func runCheck(ctx context.Context, s *Server, a args) (any, error) {
	if err := folder(a.OutDir); err != nil {
		return nil, err
	}
	a.partial = true // what is missing is told
	res, err := s.diagnose(ctx, a)
	if err != nil {
		return nil, err
	}
	d := *res.Diagnosis
	if a.OutDir != "" {
		if path, err := s.write(a.OutDir, &d); err != nil {
			d.MissingEvidence = append(slices.Clone(d.MissingEvidence), notWritten(a.OutDir, path, err))
		}
	}
	d.Bound(a.MaxBytes, runURI(d.RunID))
	return &checked{&d, appReport(ctx, res)}, nil
}

// checked is a diagnosis and, for a host that shows apps, the report as HTML.
type checked struct {
	*report.Diagnosis
	html string
}

// meta goes beside the result, past the model.
func (c *checked) meta() object {
	if c.html == "" {
		return nil
	}
	return object{page.ReportKey: c.html}
}

// folder wants an out_dir that is there.
func folder(dir string) error {
	if dir == "" {
		return nil
	}
	st, err := os.Stat(dir)
	if err == nil && !st.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	if err != nil {
		return &badArgument{fmt.Sprintf("out_dir: %v", err), "Give a directory that exists and can be written, or leave out_dir out."}
	}
	return nil
}

// write puts the artifact into dir, or where there is room; a server that may
// write only below its roots does not look elsewhere.
func (s *Server) write(dir string, d *report.Diagnosis) (path string, err error) {
	if len(s.cfg.Roots) > 0 {
		return report.WriteFile(dir, report.CheckArtifact, d)
	}
	return report.Keep(dir, report.CheckArtifact, d)
}

// notWritten says beside a diagnosis that its file does not lie where it was
// wanted: the answer is whole in any case.
func notWritten(dir, path string, err error) report.MissingEvidence {
	m := report.MissingEvidence{
		What: report.CheckArtifact + " in " + dir, Why: redact.Clip(err.Error(), 300),
		Ask: "Make room, or write access, in " + dir + "; this answer is the whole diagnosis.",
	}
	if path != "" {
		m.Ask = "The file is kept as " + path + "; make room, or write access, in " + dir + "."
	}
	return m
}
