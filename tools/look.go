package tools

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// look diagnoses the run that the arguments name; nothing in the result is
// secret any more.
func (s *Server) look(ctx context.Context, a args) (*diagnose.Result, error) {
	if a.RunID == "" {
		a.RunID = s.store.id()
	}
	res, err := s.cfg.Doctor.Diagnose(ctx, a.request())
	if err != nil {
		return nil, err
	}
	redact.Value(res.Diagnosis)
	return res, nil
}

// diagnose is look, and keeps the diagnosis as a resource.
func (s *Server) diagnose(ctx context.Context, a args) (*diagnose.Result, error) {
	res, err := s.look(ctx, a)
	if err != nil {
		return nil, err
	}
	d := res.Diagnosis
	return res, s.keep(d.RunID, fmt.Sprintf("Diagnosis of %s: %s", run.Name(redact.Clip(d.Target, 80)), d.PrimaryCause), d)
}

// keep stores a whole result as run://id; the oldest go.
func (s *Server) keep(id, title string, v any) error {
	b, err := report.Compact(v)
	if err != nil {
		return fmt.Errorf("tools: keep %s: %w", id, err)
	}
	gone := s.store.put(id, item{title: title, json: string(b)})
	if _, kept := s.store.get(id); kept {
		s.mcp.AddResource(mcp.NewResource(runURI(id), title, mcp.WithMIMEType("application/json")), s.readRun)
	}
	for i := range gone {
		gone[i] = runURI(gone[i])
	}
	s.mcp.DeleteResources(gone...)
	return nil
}

// fit bounds a result that is not a diagnosis; when something was cut, the whole
// is kept as a resource first.
func (s *Server) fit(v any, title string, a args, cut *[]report.Cut, lists ...report.List) error {
	whole, err := report.Compact(v)
	if err != nil {
		return fmt.Errorf("tools: %s: %w", title, err)
	}
	if len(whole) <= a.MaxBytes {
		return nil
	}
	if len(whole) > storeBytes { // what is kept has a bound too
		report.Fit(v, storeBytes, "", cut, lists...)
	}
	id := s.store.id()
	if err := s.keep(id, title, v); err != nil {
		return err
	}
	report.Fit(v, a.MaxBytes, runURI(id), cut, lists...)
	return nil
}
