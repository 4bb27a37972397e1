package tools

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// Listing is the result of fetch_target.
type Listing struct {
	Target          string                   `json:"target"`
	TargetType      string                   `json:"target_type"`
	Logs            []LogFile                `json:"logs"`
	Configs         []ConfigFile             `json:"configs"`
	Checkpoints     []report.Checkpoint      `json:"checkpoints"`
	Processes       []Process                `json:"processes"`
	GPUs            []GPU                    `json:"gpus"`
	Tracker         *Tracker                 `json:"tracker" jsonschema:"nullable"`
	Pipeline        *report.PipelineState    `json:"pipeline" jsonschema:"nullable"`
	MissingEvidence []report.MissingEvidence `json:"missing_evidence"`
	Cut             []report.Cut             `json:"cut"`
}

// LogFile is one log or exported text of the target.
type LogFile struct {
	File       string  `json:"file"`
	Kind       string  `json:"kind"`
	Rank       *int    `json:"rank" jsonschema:"nullable"`
	Lines      int     `json:"lines" jsonschema:"minimum=0"`
	Bytes      int64   `json:"bytes" jsonschema:"minimum=0"`
	FirstAt    *string `json:"first_at" jsonschema:"nullable"`
	LastAt     *string `json:"last_at" jsonschema:"nullable"`
	ModifiedAt *string `json:"modified_at" jsonschema:"nullable"`
}

// ConfigFile is a file that settings were read from.
type ConfigFile struct {
	File     string `json:"file"`
	Settings int    `json:"settings" jsonschema:"minimum=0"`
}

// Process is one process of the run.
type Process struct {
	PID        int     `json:"pid"`
	State      string  `json:"state"`
	Command    string  `json:"command"`
	CPUPercent float64 `json:"cpu_percent"`
	RSSBytes   int64   `json:"rss_bytes"`
}

// GPU is what is known of one GPU: readings by name, as they were spelled.
type GPU struct {
	Index    int               `json:"index"`
	Readings map[string]string `json:"readings"`
}

// Tracker is the experiment tracker's view of the run.
type Tracker struct {
	Kind  string `json:"kind"`
	Run   string `json:"run"`
	State string `json:"state"`
	URL   string `json:"url"`
}

func fetchTarget() *tool {
	return &tool{
		name: "fetch_target", title: "List what a target holds", result: "fetch_target",
		doc: "Resolves a target and lists what there is to look at: logs, configs, checkpoints (complete or torn), processes, GPUs, tracker, pipeline tasks, and what could not be seen.",
		run: runFetch,
	}
}

func runFetch(ctx context.Context, s *Server, a args) (any, error) {
	a.partial = true // what is missing is told
	res, err := s.look(ctx, a)
	if err != nil {
		return nil, err
	}
	d, f := res.Diagnosis, res.File
	l := &Listing{
		Target: d.Target, TargetType: d.TargetType, Checkpoints: d.Checkpoints, Pipeline: d.Pipeline,
		MissingEvidence: d.MissingEvidence, Logs: []LogFile{}, Configs: configs(f.Facts),
		Processes: []Process{}, GPUs: gpus(f), Tracker: tracker(f), Cut: noCut(),
	}
	for _, st := range f.Streams {
		if st.Kind != casefile.KindConfig {
			l.Logs = append(l.Logs, logFile(st))
		}
	}
	for _, p := range f.Processes {
		l.Processes = append(l.Processes, Process{PID: p.PID, State: p.State, Command: p.Command, CPUPercent: p.CPU, RSSBytes: p.RSS})
	}
	redact.Value(l)
	return l, s.fit(l, "Listing of "+run.Name(redact.Clip(d.Target, 80)), a, &l.Cut,
		report.First("processes", &l.Processes, 10), report.First("configs", &l.Configs, 10), report.Last("checkpoints", &l.Checkpoints, 10),
		report.First("logs", &l.Logs, 20), report.First("gpus", &l.GPUs, 8), report.First("missing_evidence", &l.MissingEvidence, 5))
}

func logFile(st *casefile.Stream) LogFile {
	l := LogFile{
		File: st.Name, Kind: st.Kind, Lines: st.Lines, Bytes: st.Bytes,
		FirstAt: rfc3339(st.First), LastAt: rfc3339(st.Last), ModifiedAt: rfc3339(st.ModTime),
	}
	if l.Kind == "" {
		l.Kind = casefile.KindLog
	}
	if st.Rank != run.NoRank {
		rank := st.Rank
		l.Rank = &rank
	}
	return l
}

func rfc3339(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(time.RFC3339)
	return &s
}

// configs counts the settings by the file they came from.
func configs(facts []run.Fact) []ConfigFile {
	count := map[string]int{}
	for _, f := range facts {
		if strings.HasPrefix(f.Key, "config.") && f.From.File != "" && f.From.Line == 0 {
			count[f.From.File]++
		}
	}
	out := []ConfigFile{}
	for _, file := range slices.Sorted(maps.Keys(count)) {
		out = append(out, ConfigFile{File: file, Settings: count[file]})
	}
	return out
}

// gpus gathers the facts "gpu.0.memory_used_mib" and their like.
func gpus(f *casefile.File) []GPU {
	by := map[int]map[string]string{}
	for _, v := range f.FactsUnder(run.GPU) {
		head, name, ok := strings.Cut(strings.TrimPrefix(v.Key, run.GPU), ".")
		index, err := strconv.Atoi(head)
		if !ok || err != nil {
			continue
		}
		if by[index] == nil {
			by[index] = map[string]string{}
		}
		by[index][name] = v.Value
	}
	out := []GPU{}
	for _, i := range slices.Sorted(maps.Keys(by)) {
		out = append(out, GPU{Index: i, Readings: by[i]})
	}
	return out
}

func tracker(f *casefile.File) *Tracker {
	t := &Tracker{Kind: f.Value("tracker.kind"), Run: f.Value("tracker.run"), State: f.Value("tracker.state"), URL: f.Value("tracker.url")}
	if *t == (Tracker{}) {
		return nil
	}
	return t
}
