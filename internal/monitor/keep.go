package monitor

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// note writes what a look saw, at the end the artifact first, and wakes those who
// wait. What cannot be written is told all the same.
func (s *seat) note(u *report.Update, w *Watch) {
	redact.Value(u)
	var failed error
	if u.End != nil {
		failed = s.keepReport(u.End, w.Diagnosis())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report = u.End
	if w.check != nil && slices.ContainsFunc(u.Events, func(e report.Event) bool {
		return e.Kind == report.EventActed || e.Kind == report.EventValidated || e.Kind == report.EventNotValidated
	}) { // before it is told: who was told of an action finds its run again
		failed = errors.Join(failed, s.keep(func() error { return s.keepCheck(w.check) }))
	}
	failed = errors.Join(failed, s.journal.add(u.Events))
	g := &s.glance
	g.Started, g.At, g.Polls, g.State = w.started, u.At, u.Poll, u.State
	g.Next, g.Open = u.Next.Seconds(), u.Live.Open
	if u.End == nil || u.Live.Loss != nil {
		s.live = u.Live
	}
	g.Memory = w.file.Pulse.Memory()
	if len(u.Lines) > 0 {
		s.line = u.Status
	}
	g.StatusLine = s.line
	if len(u.Events) > 0 || u.End != nil || s.owes || g.At.Sub(s.glanced) >= glanceEvery || g.Polls == 1 {
		s.glanced = g.At
		failed = errors.Join(failed, s.keep(s.payRequest), s.keep(func() error { return writeGlance(s.dir, g) }))
	}
	if failed != nil {
		g.StatusLine = statusLine(s.line, failed)
		w.lack(run.Gap{
			What: "the journal of this watch", Why: cause(failed),
			Ask: "make room, or write access, in " + s.dir + ": a server that is started again may tell anew what was told, and does not know the watch by its id",
		})
	}
	s.wake()
}

// lineBytes is how long the line of a look may be where it is told.
const lineBytes = 180

// statusLine is the line of a look, and beside it what could not be written.
func statusLine(line string, failed error) string {
	if failed == nil {
		return line
	}
	why := " | not on disk: " + clip(cause(failed), lineBytes-20)
	return clip(line, max(1, lineBytes-utf8.RuneCountInString(why))) + why
}

// cause is what the system says of a file that cannot be written, and where an
// artifact is instead.
func cause(err error) string {
	if e, ok := errors.AsType[*elsewhere](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

// keep does what writes to the watch's folder, if it has one.
func (s *seat) keep(write func() error) error {
	if s.unkept != nil {
		return s.unkept
	}
	return write()
}

// payRequest writes what was asked for, if it is not in the folder yet.
func (s *seat) payRequest() error {
	if !s.owes {
		return nil
	}
	err := writeWhole(filepath.Join(s.dir, requestFile), s.req)
	s.owes = err != nil
	return err
}

// keepReport writes the artifacts of a watch that ended: into its folder, and where
// the client wanted them. What cannot lie there is kept elsewhere.
func (s *seat) keepReport(r *report.WatchReport, d *report.Diagnosis) error {
	redact.Value(d)
	err := s.keep(func() error {
		_, err := report.WriteFile(s.dir, report.WatchArtifact, r)
		if d != nil {
			_, second := report.WriteFile(s.dir, report.CheckArtifact, d)
			err = errors.Join(err, second)
		}
		return err
	})
	switch {
	case s.req.OutDir != "":
		err = errors.Join(keepBoth(s.req.OutDir, r, d), err)
	case err != nil:
		err = errors.Join(keepBoth(s.dir, r, d), err)
	}
	return err
}

// elsewhere is an artifact that does not lie where it should.
type elsewhere struct {
	path string
	err  error
}

// Error implements error.
func (e *elsewhere) Error() string {
	return fmt.Sprintf("kept as %s (%s)", e.path, cause(e.err))
}

// Unwrap gives the cause to errors.Is.
func (e *elsewhere) Unwrap() error { return e.err }

// keepBoth writes the artifact of the watch, and of a run that failed the
// diagnosis, into dir, or else where there is room.
func keepBoth(dir string, r *report.WatchReport, d *report.Diagnosis) error {
	err := keepOne(dir, report.WatchArtifact, r)
	if r.TerminalState == report.StateFailed && d != nil {
		err = errors.Join(err, keepOne(dir, report.CheckArtifact, d))
	}
	return err
}

func keepOne(dir, name string, v any) error {
	path, err := report.Keep(dir, name, v)
	if err != nil && path != "" {
		return &elsewhere{path, err}
	}
	return err
}

// openJournal makes the journal ready for more; one that nothing can be kept of is
// in memory alone.
func (s *seat) openJournal() *journal {
	j, err := s.journal, s.unkept
	if err == nil {
		j, err = openJournal(s.dir)
	}
	s.unkept, j.off = err, err
	return j
}
