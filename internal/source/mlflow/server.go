package mlflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// number is a number that a server may send as a string: NaN has no other form,
// and 64 bits are safer so.
type number float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	s := strings.Trim(string(b), `"`)
	if s == "null" {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return fmt.Errorf("mlflow: %.20q is no number", s)
	}
	*n = number(f)
	return nil
}

type pair struct{ Key, Value string }

type wireMetric struct {
	Key       string
	Value     number
	Timestamp number
	Step      number
}

type wireRun struct {
	Info struct {
		RunID     string `json:"run_id"`
		RunName   string `json:"run_name"`
		Group     string `json:"experiment_id"`
		Status    string `json:"status"`
		StartTime number `json:"start_time"`
		EndTime   number `json:"end_time"`
	}
	Data struct {
		Metrics      []wireMetric
		Params, Tags []pair
	}
}

// find implements store: a run that is no id is looked for by its name.
func (s *server) find(ctx context.Context, want string) (string, []other, error) {
	if runID.MatchString(want) {
		i, err := s.info(ctx, want)
		if err != nil {
			return "", nil, err
		}
		return i.id, nil, nil
	}
	experiments, err := s.experiments(ctx)
	if err != nil {
		return "", nil, err
	}
	ask := map[string]any{"experiment_ids": experiments, "max_results": source.MaxOthers + 1, "order_by": []string{"attributes.start_time DESC"}}
	if want != "" {
		ask["filter"] = "attributes.run_name = '" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(want) + "'"
	}
	var found struct{ Runs []wireRun }
	if len(experiments) > 0 {
		if err := s.call(ctx, "runs/search", nil, ask, &found); err != nil {
			return "", nil, err
		}
	}
	switch {
	case len(found.Runs) == 0 && want != "":
		return "", nil, fmt.Errorf("mlflow: %s has no run %s that this user may see; check the name, and the READ permission on its experiment: %w", s.base, want, source.ErrNotFound)
	case len(found.Runs) == 0:
		return "", nil, fmt.Errorf("mlflow: %s has no run that this user may see; has the user READ permission on an experiment? %w", s.base, source.ErrNotFound)
	}
	var others []other
	for _, r := range found.Runs[1:] {
		others = append(others, other{named(r.Info.RunName, r.Info.RunID), s.base + "#" + r.Info.RunID})
	}
	return found.Runs[0].Info.RunID, others, nil
}

// maxExperiments is how many are searched, the newest first.
const maxExperiments = 1000

func (s *server) experiments(ctx context.Context) ([]string, error) {
	var ids []string
	for token := ""; ; {
		var page struct {
			Experiments []struct {
				ID string `json:"experiment_id"`
			}
			Token string `json:"next_page_token"`
		}
		ask := map[string]any{"max_results": 500, "order_by": []string{"last_update_time DESC"}}
		if token != "" {
			ask["page_token"] = token
		}
		if err := s.call(ctx, "experiments/search", nil, ask, &page); err != nil {
			return nil, err
		}
		for _, e := range page.Experiments {
			ids = append(ids, e.ID)
		}
		if token = page.Token; token == "" || len(ids) >= maxExperiments {
			return ids, nil
		}
	}
}

// info implements store.
func (s *server) info(ctx context.Context, id string) (*info, error) {
	var answer struct{ Run wireRun }
	if err := s.call(ctx, "runs/get", url.Values{"run_id": {id}}, nil, &answer); err != nil {
		return nil, err
	}
	r := &answer.Run
	i := &info{
		id: id, name: r.Info.RunName, status: r.Info.Status, start: milliseconds(int64(r.Info.StartTime)), end: milliseconds(int64(r.Info.EndTime)),
		params: map[string]string{}, tags: map[string]string{}, latest: map[string]string{}, from: "runs/" + id,
	}
	if r.Info.Group != "" {
		i.url = s.base + "/#/experiments/" + r.Info.Group + "/runs/" + id
	}
	for _, p := range r.Data.Params {
		i.params[p.Key] = p.Value
	}
	for _, p := range r.Data.Tags {
		i.tags[p.Key] = p.Value
	}
	for _, m := range r.Data.Metrics {
		i.latest[m.Key] = fmt.Sprint(int64(m.Timestamp), " ", int64(m.Step), " ", m.Value)
	}
	return i, nil
}

// page is where the reading of a metric stands: how many values of the page
// behind a token were taken, and what the run said of the metric then.
type page struct {
	Token  string `json:"t,omitempty"`
	Taken  int    `json:"n"`
	All    int    `json:"a"`
	Latest string `json:"l"`
}

const (
	pageSize = 25_000 // the most that a server gives
	fewKeys  = 20     // so many metrics are asked for at every look, whatever is said of them
)

// history implements store. The last page is read again from where it was left,
// for tokens are the server's own.
func (s *server) history(ctx context.Context, i *info, since run.Cursor, obs *run.Observation) error {
	for _, key := range slices.Sorted(maps.Keys(i.latest)) {
		var p page
		cursor := "mlflow.metric " + key
		if json.Unmarshal([]byte(since[cursor]), &p) != nil {
			p = page{}
		}
		var err error
		if len(obs.Samples) >= maxSamples {
			obs.More = true
		} else if p.Latest != i.latest[key] || len(i.latest) <= fewKeys && i.status == "RUNNING" {
			err = s.metric(ctx, i, key, &p, obs)
		}
		if b, jsonErr := json.Marshal(p); jsonErr == nil {
			obs.Next[cursor] = string(b)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			obs.Gaps = append(obs.Gaps, run.Gap{What: "metric " + run.Name(key), Why: err.Error(), Ask: "try again later; what was read before is kept"})
			if errors.Is(err, source.ErrUnreachable) || errors.Is(err, source.ErrDenied) {
				break // the others would not fare better
			}
		}
	}
	s.patience(obs)
	return nil
}

// patience says how long a busy server let us wait.
func (s *server) patience(obs *run.Observation) {
	if s.waited > 0 {
		obs.Gaps = append(obs.Gaps, run.Gap{What: "the speed of " + s.base, Why: fmt.Sprintf("it is busy and let us wait for %s", s.waited.Round(1e9)), Ask: "nothing; a longer --interval asks it less often"})
	}
	s.waited = 0
}

func (s *server) metric(ctx context.Context, i *info, key string, p *page, obs *run.Observation) error {
	for {
		query := url.Values{"run_id": {i.id}, "metric_key": {key}, "max_results": {strconv.Itoa(pageSize)}}
		if p.Token != "" {
			query.Set("page_token", p.Token)
		}
		var answer struct {
			Metrics []wireMetric
			Token   string `json:"next_page_token"`
		}
		if err := s.call(ctx, "metrics/get-history", query, nil, &answer); err != nil {
			return err
		}
		for _, m := range answer.Metrics[min(p.Taken, len(answer.Metrics)):] {
			p.All++
			obs.Samples = append(obs.Samples, run.Sample{
				Name: key, Step: int64(m.Step), Value: float64(m.Value), At: milliseconds(int64(m.Timestamp)),
				Ref: run.Ref{File: i.from + "/metrics/" + key, Line: p.All}, Tracker: "mlflow",
			})
		}
		p.Taken = max(p.Taken, len(answer.Metrics))
		if answer.Token == "" || answer.Token == p.Token {
			p.Latest = i.latest[key]
			return nil
		}
		p.Token, p.Taken = answer.Token, 0
		if len(obs.Samples) >= maxSamples {
			obs.More = true
			return nil
		}
	}
}
