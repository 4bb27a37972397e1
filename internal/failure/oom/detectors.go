package oom

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var detectors = []failure.Detector{
	{
		Name: "library-on-full-gpu",
		Doc:  "A CUDA library could not create a handle or workspace while the GPU was nearly full, by any evidence: an out-of-memory failure in other words.",
		Run:  fullGPU,
	},
	{
		Name: "memory-grew-before-the-end",
		Doc:  "Host memory that the log reports grew towards the known limit, and the log ends without a word or a process was killed by SIGKILL.",
		Run:  grewThenKilled,
	},
	{
		Name: "killed-on-a-full-host",
		Doc:  "A process was killed by SIGKILL, and a listing shows that the host's memory was used up.",
		Run:  killedOnFullHost,
	},
	{
		Name: "service-says-out-of-memory",
		Doc:  "A container's, pod's or job's own record (exported as JSON or a table) says that memory ended it.",
		Run:  recorded,
	},
}

// handleSigns are lines that say "no memory" or "bad context" depending on how
// full the GPU was.
var handleSigns = map[string]bool{
	"cublas-alloc-failed": true, "cudnn-handle": true, "cudnn-no-engine": true, "cudnn-status": true,
	"cublas-execution-failed": true, "cublas-runtime-error-old": true, "cusolver-cusparse-cufft": true, "check-failed-cuda": true,
	"nccl-error-cuda": true,
}

func fullGPU(f *casefile.File) []failure.Sighting {
	for _, e := range f.Events {
		if !handleSigns[e.Sign.ID] || f.Recovered(e) {
			continue
		}
		full, ok := fullness(f)
		if !ok {
			return nil
		}
		return []failure.Sighting{{
			Type: report.AnomalyOOM, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.85, Cause: "handle-on-full-gpu",
			Rank: e.Rank, Step: e.Step, Ref: e.Ref, Text: e.Text, Also: []run.Ref{full.Ref},
			Says: "A CUDA library could not get memory: the GPU was full (" + strings.TrimSpace(full.Text) + ").",
		}}
	}
	return nil
}

var (
	smiPair = regexp.MustCompile(`(\d{3,6}) ?MiB ?[/,] *(\d{4,6}) ?MiB`)
	gbPair  = regexp.MustCompile(`(?i)(?:mem\w*|vram|gpu)[^0-9]{0,20}(\d+(?:\.\d+)?) ?/ ?(\d+(?:\.\d+)?) ?G(?:i?B)?\b`)
)

const nearlyFull = 0.94

// fullness is the line that shows the GPU nearly full: a driver's message, a
// framework that got almost nothing of the GPU, or a sample of nvidia-smi.
func fullness(f *casefile.File) (casefile.Evidence, bool) {
	if v, ok := f.Fact("gpu.driver_full"); ok {
		return casefile.Evidence{Ref: v.From, Rank: run.NoRank, Text: "the driver had refused memory before"}, true
	}
	if v, ok := f.Fact("gpu.tf_memory_mb"); ok && number(v.Value) < 1500 {
		return casefile.Evidence{Ref: v.From, Rank: run.NoRank, Text: "the framework got only " + v.Value + " MB of the GPU"}, true
	}
	for _, s := range f.Streams {
		for _, l := range s.Tail {
			if used, total, ok := pair(l.Text); ok && used >= nearlyFull*total {
				return casefile.Evidence{Ref: l.Ref, Rank: l.Rank, Text: l.Text}, true
			}
		}
	}
	return casefile.Evidence{}, false
}

func pair(text string) (used, total float64, ok bool) {
	m := smiPair.FindStringSubmatch(text)
	if m == nil {
		m = gbPair.FindStringSubmatch(text)
	}
	if m == nil {
		return 0, 0, false
	}
	used, _ = strconv.ParseFloat(m[1], 64)
	total, _ = strconv.ParseFloat(m[2], 64)
	return used, total, total > 0 && used <= total*1.02
}

// hostMemory is how programs write the host memory that they use.
var hostMemory = regexp.MustCompile(`(?i)\b((?:host|cpu|sys(?:tem)?|process|peak|node|container|vm)?[_ ]?(?:rss|ram|mem(?:ory)?)(?:[_ ]?(?:rss|used?|usage|percent|gb|gib))?)["']?\s*[=: ]\s*([0-9]+(?:\.[0-9]+)?) ?(%|[KMGT]?i?B?\b)`)

// gpuMemory keeps columns of the GPU's memory out.
var gpuMemory = regexp.MustCompile(`(?i)gpu|cuda|vram|max_mem|hbm`)

type reading struct {
	value float64
	unit  string
	line  casefile.Line
}

// readings are the first value of each host memory column at the head of a
// stream and its last one at the tail.
func readings(s *casefile.Stream) (first, last map[string]reading) {
	first, last = map[string]reading{}, map[string]reading{}
	take := func(l casefile.Line, to map[string]reading, keep bool) {
		if gpuMemory.MatchString(l.Text) && !strings.Contains(l.Text, "rss") {
			return
		}
		m := hostMemory.FindStringSubmatch(l.Text)
		if m == nil {
			return
		}
		key := fmt.Sprint(strings.ToLower(m[1]), l.Rank)
		if _, there := to[key]; there && keep {
			return
		}
		v, _ := strconv.ParseFloat(m[2], 64)
		to[key] = reading{v, m[3], l}
	}
	for _, l := range s.Head {
		take(l, first, true)
	}
	for _, l := range s.Tail {
		take(l, last, false)
	}
	return first, last
}

func grewThenKilled(f *casefile.File) []failure.Sighting {
	var killed *casefile.Event
	for _, e := range f.Events {
		kill := e.Sign.Sets["exit.signal"] == "SIGKILL" || e.Sign.ID == "loader-worker-killed" || e.Sign.ID == "slurm-task-signal"
		if kill && e.Sign.Class == report.Crash && !f.Recovered(e) {
			killed = e
		}
	}
	for _, s := range f.Logs() {
		ref, text, step, rank := ending(s, killed)
		if ref.File == "" {
			continue
		}
		first, last := readings(s)
		for _, key := range slices.Sorted(maps.Keys(last)) {
			b := last[key]
			a, ok := first[key]
			if !ok || a.unit != b.unit || a.line.Ref.Line == b.line.Ref.Line || a.value <= 0 {
				continue
			}
			if grown := b.unit != "%" && b.value >= 1.5*a.value || b.unit == "%" && b.value >= 90 && b.value > a.value+5; !grown {
				continue
			}
			return []failure.Sighting{{
				Type: report.AnomalyOOM, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.86, Cause: "host-memory",
				Rank: rank, Step: step, Ref: ref, Text: text, Also: []run.Ref{b.line.Ref, a.line.Ref},
				Says: fmt.Sprintf("The process was killed by SIGKILL after its host memory had grown from %g%s to %g%s.", a.value, a.unit, b.value, b.unit),
			}}
		}
	}
	return nil
}

// ending is the line that shows the kill: an event, or the shell's bare word as
// the last line of the stream.
func ending(s *casefile.Stream, killed *casefile.Event) (run.Ref, string, int64, int) {
	if killed != nil {
		return killed.Ref, killed.Text, killed.Step, killed.Rank
	}
	if n := len(s.Tail); n > 0 && strings.HasSuffix(strings.TrimSpace(s.Tail[n-1].Text), "Killed") {
		l := s.Tail[n-1]
		return l.Ref, l.Text, -1, l.Rank
	}
	return run.Ref{}, "", -1, run.NoRank
}

// records are facts of exports that say out of memory by themselves.
var records = []struct{ key, value, cause string }{
	{"container.oom_killed", "true", "container-limit"},
	{"pod.reason", "OOMKilled", "container-limit"},
	{"slurm.state", "OUT_OF_MEMORY", "host-memory"},
	{"slurm.reason", "OutOfMemory", "host-memory"},
}

func recorded(f *casefile.File) []failure.Sighting {
	for _, r := range records {
		for _, v := range f.FactsUnder(r.key) {
			if v.Key != r.key || !strings.EqualFold(v.Value, r.value) || strings.HasPrefix(r.key, "pod.") && restarted(f) {
				continue
			}
			return []failure.Sighting{{
				Type: report.AnomalyOOM, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.94, Cause: r.cause,
				Rank: run.NoRank, Step: -1, Ref: v.From, Text: v.Key + ": " + v.Value, Says: "The record of the job says that memory ended it (" + run.Quote(v.Value) + ").",
			}}
		}
	}
	return nil
}
