package monitor

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Acted is an action that was done on a watched run.
type Acted struct {
	ID       string         // of its plan
	Text     string         // what was done, and what came of it
	Validate string         // how the plan says that it worked; "" when that is not known
	Run      source.Started // the run that goes on in the place of the one before; nil when there is none
	From     int64          // the last step before it, where the watch has ended and does not know it any more
}

// check is what has to be seen before an action counts as one that helped.
type check struct {
	ID       string    `json:"id"`
	Text     string    `json:"text"`     // what was done
	Validate string    `json:"validate"` // the criterion in the plan's words
	Log      string    `json:"log"`      // of the run that goes on
	From     int64     `json:"from"`     // the last step before it
	Need     int64     `json:"need"`     // steps beyond that
	Saves    int       `json:"saves"`    // whole checkpoints since, where the criterion names them
	At       time.Time `json:"at"`       // when it was done
	Over     bool      `json:"over"`     // the outcome was told
}

// A fix is validated within the skill's 50 to 200 steps; where its criterion names
// no number, the fewest.
const (
	fewestSteps = 50
	mostSteps   = 200
)

var stepsNamed = regexp.MustCompile(`(\d{1,5}) steps`)

func stepsOf(validate string) int64 {
	n := int64(fewestSteps)
	if m := stepsNamed.FindStringSubmatch(validate); m != nil {
		n, _ = strconv.ParseInt(m[1], 10, 64) // five digits at most
	}
	return min(max(n, fewestSteps), mostSteps)
}

var savesNamed = regexp.MustCompile(`\b(next|two|three|\d) (?:whole )?(?:saves?|checkpoints?)\b`)

// savesOf is how many saves a criterion wants to see, 0 when it names none.
func savesOf(validate string) int {
	m := savesNamed.FindStringSubmatch(validate)
	if m == nil {
		return 0
	}
	if n, err := strconv.Atoi(m[1]); err == nil {
		return n
	}
	return map[string]int{"next": 1, "two": 2, "three": 3}[m[1]]
}

// saved is how many whole checkpoints were made since the action; seen is false
// where the watch sees no checkpoints at all.
func (w *Watch) saved(since time.Time) (n int, seen bool) {
	for _, c := range w.file.Checkpoints {
		if c.Complete != nil && *c.Complete && c.ModifiedAt.After(since) {
			n++
		}
	}
	return n, len(w.file.Checkpoints) > 0
}

// GoOn notes an action, and goes on with the run that it started: what was told
// stays told, and a look is due at once. The watch closes a.Run.
func (w *Watch) GoOn(a Acted) {
	c := &check{ID: a.ID, Text: a.Text, Validate: a.Validate, From: a.From, Need: stepsOf(a.Validate), Saves: savesOf(a.Validate), At: time.Now()}
	if w.file.Main() != nil {
		c.From = w.file.Main().Progress().Step
	}
	w.due = time.Time{}
	if a.Run != nil {
		c.Log = a.Run.Log()
		w.src.Close()
		w.src, w.ended = a.Run, a.Run.Done()
		w.kind, w.ref = &source.Kind{Scheme: schemeOf(a.Run.Log()), Type: w.kind.Type, Place: hostOf}, a.Run.Log()
		w.afresh()
		w.check = c // only a run that goes on shows whether it helped
	}
	w.news = append(w.news, w.book.took(time.Now(), a.Text)...)
}

// afresh begins a case file of its own for the run that goes on.
func (w *Watch) afresh() {
	f := casefile.New(w.m.Book.Matcher)
	f.Framework, f.Task, f.Following = w.req.Options.Framework, w.req.Options.Task, true
	f.Pulse.Interval = w.req.Interval
	w.file, w.cursor, w.state, w.looks, w.at, w.diag = f, nil, "", 0, position{}, nil
	w.pace.reset()
}

// schemeOf is the scheme of a log that is named as a path, or on a host as
// user@host:path.
func schemeOf(log string) string {
	if hostOf(log) == "" {
		return "file"
	}
	return "ssh"
}

func hostOf(ref string) string {
	host, _ := source.Split(ref)
	return host
}

// remember has the process of the run remembered, so that it can be started again.
func (w *Watch) remember(ctx context.Context) {
	if w.m.Remember == nil || w.file.Value(run.FactState) == run.ProcessGone {
		return
	}
	s := Seen{Watch: w.name}
	s.PID, _ = strconv.Atoi(w.file.Value(run.FactPID)) // 0 when only a log is known
	far := w.kind.Scheme == "ssh" || w.kind.Scheme == "pid" || w.kind.Scheme == "proc" && strings.Contains(hostOf(w.ref), "@")
	switch {
	case s.PID > 0 && far:
		s.Host = hostOf(w.ref)
	case s.PID == 0 && w.looks%rememberEvery > 0: // to find who writes a log costs more
	case s.PID == 0 && far:
		s.Host, s.Log = source.Split(w.ref)
	case s.PID == 0 && w.kind.Scheme == "file":
		s.Log = w.ref
	}
	if s.PID > 0 || s.Log != "" {
		w.m.Remember(ctx, s) //nolint:errcheck // a restart says that it is not known
	}
}

// rememberEvery is how many looks lie between two searches for the writer of a log.
const rememberEvery = 10

// validate says whether an action helped, once the run has shown it.
func (w *Watch) validate(at time.Time, state report.TerminalState, opened []report.Event) []report.Event {
	c := w.check
	if c == nil || c.Over {
		return nil
	}
	step, total := int64(-1), int64(-1)
	if m := w.file.Main(); m != nil {
		step, total = m.Progress().Step, m.Progress().Total
	}
	goal := max(c.From, 0) + c.Need
	if total > 0 {
		goal = min(goal, total)
	}
	saves, seen := w.saved(c.At)
	enough, beside := saves >= c.Saves || !seen, ""
	switch {
	case c.Saves > 0 && !seen:
		beside = "; its saves are not seen by this watch"
	case c.Saves > 0:
		beside = fmt.Sprintf("; %d of %d saves completed", saves, c.Saves)
	}
	bad := ""
	for _, e := range opened {
		if e.Kind == report.EventOpened && e.Anomaly != nil && e.Anomaly.Grave() {
			bad = string(e.Anomaly.Type) + ": " + clip(e.Anomaly.Description, 160)
		}
	}
	over := state.Ended()
	went := state == report.StateSucceeded || state == report.StateEarlyStopped
	switch {
	case bad == "" && (enough && step > c.From && step >= goal || over && went):
		return w.settle(at, true, fmt.Sprintf("confirmed: the run is at step %d, beyond step %d of before%s", step, max(c.From, 0), beside))
	case bad != "":
		return w.settle(at, false, fmt.Sprintf("not confirmed: at step %d %s", max(step, 0), bad))
	case over:
		return w.settle(at, false, fmt.Sprintf("not confirmed: the run ended %s at step %d%s", state, max(step, 0), beside))
	}
	return nil
}

// settle tells the outcome of an action, and has it entered where actions are.
func (w *Watch) settle(at time.Time, helped bool, what string) []report.Event {
	c := w.check
	c.Over = true
	if c.Validate != "" {
		what += " (" + c.Validate + ")"
	}
	if w.m.Settle != nil {
		if err := w.m.Settle(c.ID, helped, what); err != nil {
			what += fmt.Sprintf("; not entered in the audit: %v", err)
		}
	}
	w.book.outcome(c.Text, what)
	kind := report.EventNotValidated
	if helped {
		kind = report.EventValidated
	}
	return []report.Event{{Kind: kind, At: at.UTC().Format(time.RFC3339), Text: c.Text + ": " + what}}
}

// took notes an action on what is open, and tells of it.
func (n *notes) took(now time.Time, text string) []report.Event {
	at := now.UTC().Format(time.RFC3339)
	var out []report.Event
	for _, t := range report.AnomalyTypes {
		if o := n.open[t]; o != nil && o.told != nil {
			o.told.ActionTaken = strings.TrimPrefix(o.told.ActionTaken+"; "+text, "; ")
			copied := *o.told
			out = append(out, report.Event{Kind: report.EventActed, At: at, Text: text, Anomaly: &copied})
		}
	}
	if len(out) == 0 {
		out = append(out, report.Event{Kind: report.EventActed, At: at, Text: text})
	}
	return out
}

// outcome completes what was noted of an action, also where it closed since.
func (n *notes) outcome(text, what string) {
	for _, a := range n.history {
		if strings.HasSuffix(a.ActionTaken, text) {
			a.ActionTaken += ": " + what
		}
	}
}
