package wandb

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/wandblog"
)

// service is a run as the service knows it.
type service struct {
	*client
	path
	watch bool
	most  int64 // pages that a history may take before it is sampled
}

func openService(ctx context.Context, ref string, opt source.Options, dir *source.Kind) (source.Source, error) {
	p, err := parsePath(ref)
	if err != nil {
		return nil, err
	}
	set, err := readSettings(p.server)
	if err != nil {
		return nil, err
	}
	s := &service{client: newClient(set), path: p, watch: opt.Watch, most: maxPages}
	if s.project == "" {
		s.project = opt.Project
	}
	return beside(ctx, s, opt, dir)
}

// complete fills in what the ref did not say: the settings' project and entity,
// else the entity of whoever asks.
func (s *service) complete(ctx context.Context) error {
	if s.project == "" {
		s.project = s.settings.project
	}
	if s.project == "" {
		return fmt.Errorf("wandb: which project is the run %s of? Say entity/project/run, or set WANDB_PROJECT: %w", s.id, source.ErrBadTarget)
	}
	if s.entity == "" {
		s.entity = s.settings.entity
	}
	if s.entity != "" {
		return nil
	}
	var v struct {
		Viewer *struct {
			Entity string `json:"entity"`
		} `json:"viewer"`
	}
	if err := s.ask(ctx, `query Viewer { viewer { entity } }`, nil, &v); err != nil {
		return s.told(err)
	}
	if v.Viewer == nil || v.Viewer.Entity == "" {
		return fmt.Errorf("wandb: which entity is the run %s/%s of? Say entity/project/run, or set WANDB_ENTITY: %w", s.project, s.id, source.ErrBadTarget)
	}
	s.entity = v.Viewer.Entity
	return nil
}

const runQuery = `query Run($entity: String, $project: String!, $run: String!) {
  project(name: $project, entityName: $entity) { run(name: $run) {
    name displayName state createdAt heartbeatAt host historyLineCount historyKeys summaryMetrics config systemMetrics logLineCount
  } }
}`

// record is what the service says of a run. Documents come as texts.
type record struct {
	Name             string          `json:"name"`
	DisplayName      string          `json:"displayName"`
	State            string          `json:"state"`
	CreatedAt        string          `json:"createdAt"`
	HeartbeatAt      string          `json:"heartbeatAt"`
	Host             string          `json:"host"`
	HistoryLineCount int64           `json:"historyLineCount"`
	HistoryKeys      json.RawMessage `json:"historyKeys"`
	SummaryMetrics   string          `json:"summaryMetrics"`
	Config           string          `json:"config"`
	SystemMetrics    string          `json:"systemMetrics"`
	LogLineCount     int64           `json:"logLineCount"`
}

// within is the part of an answer that is of the run.
type within[T any] struct {
	Project *struct {
		Run *T `json:"run"`
	} `json:"project"`
}

// of asks a query about the run.
func of[T any](ctx context.Context, s *service, query string, vars map[string]any) (*T, error) {
	all := map[string]any{"entity": s.entity, "project": s.project, "run": s.id}
	maps.Copy(all, vars)
	var a within[T]
	if err := s.ask(ctx, query, all, &a); err != nil {
		return nil, err
	}
	if a.Project == nil || a.Project.Run == nil {
		what := "run " + s.id
		if a.Project == nil {
			what = "project " + s.entity + "/" + s.project
		}
		return nil, fmt.Errorf("wandb: %s: no %s, or the API key of %s may not see it; check the name in the URL of the run's page: %w", s.host(), what, s.keyFrom, source.ErrNotFound)
	}
	return a.Project.Run, nil
}

// told makes an error of the source of an answer that was an error.
func (s *service) told(err error) error {
	if q, ok := err.(*queryError); ok { //nolint:errorlint // ask wraps none
		return fmt.Errorf("wandb: %s says: %s: %w", s.host(), q.message, source.ErrUnreachable)
	}
	return err
}

// Observe implements source.Source.
func (s *service) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	obs := run.Observation{At: time.Now(), Next: run.Cursor{}}
	if err := ctx.Err(); err != nil {
		return obs, err
	}
	if err := s.complete(ctx); err != nil {
		return obs, err
	}
	r, err := of[record](ctx, s, runQuery, nil)
	if err != nil {
		return obs, s.told(err)
	}
	l := &look{service: s, since: since, obs: &obs, run: r}
	l.say()
	if err := l.history(ctx); err != nil {
		return obs, err
	}
	if err := l.console(ctx); err != nil {
		return obs, err
	}
	if s.throttled > 0 {
		l.fact("tracker.throttled", fmt.Sprintf("%d times", s.throttled))
	}
	source.Once(&obs, since)
	return obs, nil
}

// Close implements source.Source.
func (s *service) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

// look is one look at a run.
type look struct {
	*service
	since run.Cursor
	obs   *run.Observation
	run   *record
}

func (l *look) gap(what, why, ask string) {
	l.obs.Gaps = append(l.obs.Gaps, run.Gap{What: what, Why: why, Ask: ask})
}

// fact tells a reading if it is another one than at the last look.
func (l *look) fact(key, value string) { l.tell(run.Fact{Key: key, Value: value}) }

func (l *look) tell(f run.Fact) {
	if f.Value == "" {
		return
	}
	h := fnv.New64a()
	h.Write([]byte(f.Value))
	key, sum := "fact "+f.Key, fmt.Sprintf("%x", h.Sum64())
	if l.obs.Next[key] = sum; l.since[key] != sum {
		l.obs.Facts = append(l.obs.Facts, f)
	}
}

// say tells what the service claims, and what the run told it.
func (l *look) say() {
	r := l.run
	l.fact(run.FactTracker, wandblog.Kind)
	l.fact(run.FactTrackerRun, l.path.String())
	l.fact("tracker.name", r.DisplayName)
	l.fact(run.FactTrackerState, strings.ToLower(r.State))
	l.fact(run.FactTrackerStart, clock(r.CreatedAt))
	l.fact(run.FactTrackerBeat, clock(r.HeartbeatAt))
	l.fact("tracker.host", r.Host)
	if l.base == publicServer {
		l.fact("tracker.url", "https://wandb.ai/"+l.entity+"/"+l.project+"/runs/"+l.id)
	} else {
		l.fact("tracker.url", l.base+"/"+l.entity+"/"+l.project+"/runs/"+l.id)
	}
	if n, err := doc.JSON([]byte(r.Config)); err == nil && r.Config != "" {
		for _, f := range wandblog.Config(n, run.Ref{File: configName}) {
			l.tell(f)
		}
	}
	if n, err := doc.JSON([]byte(r.SystemMetrics)); err == nil && r.SystemMetrics != "" {
		for _, m := range n.Members() {
			if key := wandblog.Reading(m.Key); key != "" {
				l.fact(key, m.Text)
			}
		}
	}
}

// Names of what the service holds, as W&B calls the files of a run.
const (
	configName  = "config.yaml"
	historyName = "history"
	consoleName = "output.log"
)

// clock is a time of the service, which is UTC and may not say so.
func clock(text string) string {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC().Format(time.RFC3339)
		}
	}
	return ""
}
