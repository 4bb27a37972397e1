package tools

import (
	"context"
	"strconv"
	"time"

	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// Watches is where runs are watched: a monitor.Desk.
type Watches interface {
	Start(r monitor.Request) (id string, err error)
	Wait(ctx context.Context, id string, cursor int, fresh bool) (monitor.Status, error)
	Stop(id string, cursor int, reason string) (monitor.Status, error)
	Plan(id string) (monitor.Plan, error)
	Act(ctx context.Context, id string, a monitor.Acted) error
}

// WatchState is the result of monitor_run. A quiet one is at most 400 bytes.
type WatchState struct {
	MonitorID       string               `json:"monitor_id"`
	Cursor          string               `json:"cursor"`
	State           report.TerminalState `json:"state" jsonschema:"enum=SUCCEEDED,enum=FAILED,enum=CANCELLED,enum=TIMEOUT,enum=EARLY_STOPPED,enum=RUNNING"`
	StatusLine      string               `json:"status_line"`
	Events          []report.Event       `json:"events"`
	NextPollSeconds float64              `json:"next_poll_seconds" jsonschema:"minimum=0"`
	Anomalies       []report.Anomaly     `json:"anomalies,omitempty"`
	Artifact        *report.WatchReport  `json:"artifact,omitempty"`
	Cut             []report.Cut         `json:"cut,omitempty"`
}

// How long a call waits; hosts give up after a minute unless progress comes.
const (
	usualWait     = 25
	longestWait   = 50
	patientWait   = 3600 // with a progress token
	progressEvery = 10 * time.Second
	firstLook     = 3 * time.Second // for which one that has to end still waits
	statusBytes   = 180
)

func monitorRun() *tool {
	return &tool{
		name: "monitor_run", title: "Monitor a run", result: "monitor_run", writes: true, watches: true,
		doc: "Starts or continues a watch of a training run and waits for the next thing worth telling: an anomaly opened, got worse or closed, a state changed, the end. Returns at once on an event, else after wait_seconds with events []; call again with monitor_id and cursor. The first call gives the baseline.",
		args: object{
			"monitor_id":   text("The watch, from an earlier call, instead of target."),
			"cursor":       text("From the last answer: only what came after it."),
			"wait_seconds": integer("How long to wait for news (25; over 50 only with a progress token).", 0, patientWait),
			"interval":     integer("Seconds between looks at first (30; Vertex 60).", 1, 86_400),
			"max_interval": integer("Most seconds between quiet looks (300).", 1, 86_400),
			"no_backoff":   boolean("Always look every interval."),
			"once":         boolean("One look, then the artifact."),
			"stop":         boolean("End the watch; the run goes on."),
			"no_fix":       boolean("Observe only."),
			"out_dir":      text("Existing directory for babysit-training.json at the end."),
			"run_id":       text("run_id of the artifact (a new UUID)."),
		},
		run: runMonitor,
	}
}

func boolean(doc string) object { return object{"type": "boolean", "description": doc} }

func runMonitor(ctx context.Context, s *Server, a args) (any, error) {
	cursor, err := strconv.Atoi("0" + a.Cursor)
	if err != nil {
		return nil, &badArgument{"cursor: not one that monitor_run gave", "Pass the cursor of the last answer, or leave it out."}
	}
	id := a.MonitorID
	if id == "" {
		if err := folder(a.OutDir); err != nil {
			return nil, err
		}
		if id, err = s.cfg.Watches.Start(a.watch()); err != nil {
			return nil, err
		}
	}
	var st monitor.Status
	if a.Stop {
		st, err = s.cfg.Watches.Stop(id, cursor, "a client stopped the watch; the run goes on")
	} else {
		st, err = s.await(ctx, id, cursor, a)
	}
	if err != nil {
		return nil, err
	}
	return s.watchState(st, cursor, a)
}

// await waits for news in stretches, with progress after each where the client
// asked for it. A server that has to end answers with what is known.
func (s *Server) await(ctx context.Context, id string, cursor int, a args) (monitor.Status, error) {
	seconds := usualWait
	if a.WaitSeconds != nil {
		seconds = *a.WaitSeconds
	}
	stretch := time.Duration(min(seconds, longestWait)) * time.Second
	left := stretch
	if a.progress != nil {
		left, stretch = time.Duration(min(seconds, patientWait))*time.Second, progressEvery
	}
	waiting, stop := s.way.Waiting(ctx)
	defer stop()
	for told := 1; ; told++ {
		part, cancel := context.WithTimeout(waiting, min(stretch, left))
		st, err := s.cfg.Watches.Wait(part, id, cursor, a.Cursor == "")
		cancel()
		left -= stretch
		if err == nil && st.Line == "" && waiting.Err() != nil && ctx.Err() == nil { // before the first look nothing is known
			first, cancel := context.WithTimeout(ctx, firstLook)
			defer cancel()
			return s.cfg.Watches.Wait(first, id, cursor, true)
		}
		if err != nil || len(st.Events) > 0 || st.Artifact != nil || a.Cursor == "" && st.Line != "" || left <= 0 || waiting.Err() != nil {
			return st, err
		}
		s.tellProgress(ctx, a.progress, told, st.Line)
	}
}

// watchState bounds the answer: events that do not fit come with the next call.
func (s *Server) watchState(st monitor.Status, cursor int, a args) (*WatchState, error) {
	v := &WatchState{
		MonitorID: st.ID, Cursor: strconv.Itoa(st.Cursor), State: st.State, StatusLine: redact.Clip(st.Line, statusBytes),
		Events: st.Events, NextPollSeconds: st.Next.Seconds(), Artifact: st.Artifact,
	}
	if a.Cursor == "" {
		v.Anomalies = st.Open
	}
	redact.Value(v)
	if v.Artifact != nil {
		if err := s.keep(st.ID, "Watch of "+run.Name(redact.Clip(v.Artifact.Target, 80))+": "+string(v.State), v.Artifact); err != nil {
			return nil, err
		}
		whole := *v.Artifact
		whole.Bound(a.MaxBytes/2, runURI(st.ID))
		v.Artifact = &whole
	}
	all := len(v.Events)
	report.Fit(v, a.MaxBytes, runURI(st.ID), &v.Cut, report.First("anomalies", &v.Anomalies, 5), report.First("events", &v.Events, 1))
	if n := len(v.Events); n < all {
		v.Cursor = strconv.Itoa(max(cursor, st.Cursor-(all-n)))
	}
	return v, nil
}

// watch is the request of a watch.
func (a *args) watch() monitor.Request {
	return monitor.Request{
		Target: a.Target, Options: a.options(), Interval: time.Duration(a.Interval) * time.Second, MaxInterval: time.Duration(a.MaxInterval) * time.Second,
		NoBackoff: a.NoBackoff, Once: a.Once, NoFix: a.NoFix, RunID: a.RunID, OutDir: a.OutDir,
	}
}
