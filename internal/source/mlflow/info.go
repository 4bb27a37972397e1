package mlflow

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
)

// info is what MLflow says of a run beside its metrics.
type info struct {
	id, name, url string // url is the run's page, "" where no server has one
	status        string // in words: RUNNING, SCHEDULED, FINISHED, FAILED, KILLED
	start, end    time.Time
	params, tags  map[string]string
	latest        map[string]string // of a server: what tells whether a metric has new values
	from          string            // where it stands, as evidence names it
}

// told are the tags that say something of the run; the others are MLflow's own,
// or anybody's.
var told = map[string]string{
	"mlflow.source.name":       "launch.script",
	"mlflow.source.git.commit": "git.commit",
	"mlflow.note.content":      "tracker.note",
}

const maxValue = 500

// facts tells what changed since the last look. What a live store says of the
// run's state is a reading, which no file holds; in a copy it is a record.
func (i *info) facts(live bool, since run.Cursor, obs *run.Observation) {
	var all []run.Fact
	from := run.Ref{File: i.from}
	if live {
		from.File = ""
	}
	add := func(key, value string) {
		if len(value) > maxValue {
			value = value[:maxValue] + "…"
		}
		if value != "" {
			all = append(all, run.Fact{Key: key, Value: value, From: from})
		}
	}
	add(run.FactTracker, "MLflow")
	add(run.FactTrackerRun, named(i.name, i.id))
	add(run.FactTrackerState, i.status)
	add("tracker.url", i.url)
	for key, at := range map[string]time.Time{run.FactTrackerStart: i.start, run.FactTrackerEnd: i.end} {
		if !at.IsZero() {
			add(key, at.UTC().Format(time.RFC3339))
		}
	}
	from.File = i.from
	for _, tag := range slices.Sorted(maps.Keys(i.tags)) {
		if key := told[tag]; key != "" {
			add(key, i.tags[tag])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(i.params)) {
		add("config."+strings.ToLower(strings.ReplaceAll(key, "/", ".")), i.params[key])
	}
	for _, v := range all {
		h := fnv.New64a()
		fmt.Fprint(h, v.Value)
		key, sign := "mlflow.fact "+v.Key, fmt.Sprintf("%x", h.Sum64())
		if obs.Next[key] = sign; since[key] != sign {
			obs.Facts = append(obs.Facts, v)
		}
	}
}

// statuses are the numbers that a folder has instead of words.
var statuses = map[int]string{1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}

// milliseconds is a time as MLflow stores it.
func milliseconds(ms int64) time.Time {
	if ms <= 0 || ms > 1e14 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
