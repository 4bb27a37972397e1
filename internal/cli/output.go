package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
)

// explain turns an error into what a person needs: why nothing was seen, the
// smallest thing to ask for, and the exit status.
func explain(err error, target string, kinds source.Registry) (report.Failure, int) {
	f := report.Failure{Kind: report.KindInternal, Message: redact.Clip(err.Error(), 1000), Ask: "Please report this with the command line and the version."}
	code := exitBlind
	switch {
	case errors.Is(err, context.Canceled):
		f.Kind, f.Ask = report.KindCancelled, "Run it again and let it finish."
	case errors.Is(err, context.DeadlineExceeded):
		f.Kind, f.Ask = report.KindTimeout, "Try again, or copy the end of the log here and check the copy."
	case errors.Is(err, source.ErrBadTarget):
		f.Kind, f.Ask, code = report.KindBadTarget, formsText(kinds), exitUsage
	case errors.Is(err, source.ErrNotFound):
		f.Kind, f.Ask = report.KindNotFound, fmt.Sprintf("Check the spelling of %q, or give the directory that holds the log.", target)
	case errors.Is(err, source.ErrDenied):
		f.Kind, f.Ask = report.KindDenied, fmt.Sprintf("Use an account that may read %q, or give a readable copy of the last 500 lines of the log.", target)
	case errors.Is(err, source.ErrUnreachable):
		f.Kind, f.Ask = report.KindUnreachable, "Check that the host or service answers from here, or give a copy of the log."
	case errors.Is(err, source.ErrNoEvidence):
		f.Kind, f.Ask = report.KindNoEvidence, "Give the run's log (standard output and standard error) or the directory it was written to."
	}
	if a, ok := errors.AsType[*source.Advice](err); ok {
		f.Ask = a.Ask
	}
	return f, code
}

// writeArtifact puts the artifact into dir and notes where. Where it cannot lie
// there it is kept elsewhere: the error says why.
func writeArtifact(note io.Writer, dir, name string, v any) error {
	path, err := report.Keep(dir, name, v)
	if err != nil {
		err = fmt.Errorf("the report is complete, but its file was not written to %s: %w", dir, err)
	}
	if path != "" {
		fmt.Fprintf(note, "Artifact: %s\n", path)
	} else { // the last place there is
		fmt.Fprintln(note, "Artifact:")
		err = errors.Join(err, report.WriteJSON(note, v))
	}
	return err
}

// complain says on standard error what went wrong with the output of a command;
// a reader that has read enough is no fault.
func complain(s Streams, command string, err error) {
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		io.WriteString(s.Err, "trainmedic "+command+": "+err.Error()+"\n") //nolint:errcheck // nowhere left to say it
	}
}

// colored reports whether w is a terminal whose user did not refuse colour.
func colored(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
