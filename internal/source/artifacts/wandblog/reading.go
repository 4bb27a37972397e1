package wandblog

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
)

// reading is what one look at a log takes out of its records.
type reading struct {
	name    string
	s       *state
	rows    Rows
	facts   []run.Fact
	bytes   int64 // of console output
	lines   int
	system  map[string]string // the last reading of each quantity
	summary map[string]string // the last value of what is no metric of the history
	key     [256]byte
}

func newReading(l Log, s *state) *reading {
	return &reading{name: l.Name, s: s, rows: Rows{Tracker: Tracker(strings.TrimSuffix(strings.TrimPrefix(path.Base(l.Name), "run-"), ".wandb")), Place: s.Place}, system: map[string]string{}, summary: map[string]string{}}
}

// record takes one record; at is where it begins in the file. Of a damaged one
// what comes before the damage is taken.
func (r *reading) record(b []byte, at int64) {
	for len(b) > 0 {
		f, rest, ok := one(b)
		if !ok {
			return
		}
		b = rest
		switch f.num {
		case recHistory:
			r.history(f.b, at)
		case recSummary:
			r.takeSummary(f.b)
		case recOutputRaw, recOutput:
			line := outputLine(f.b)
			r.bytes += int64(len(line))
			r.lines += bytes.Count(line, []byte{'\n'})
		case recStats:
			r.stats(f.b)
		case recConfig, recAlert, recMetric, recRun, recExit, recHeader, recPreempting, recEnvironment:
			r.rare(f, run.Ref{File: r.name, Offset: at})
		}
	}
}

func (r *reading) rare(f field, ref run.Ref) {
	switch f.num {
	case recConfig:
		r.config(f.b, ref)
	case recAlert:
		t := texts(f.b)
		r.s.Alerts++
		r.fact(fmt.Sprintf("tracker.alert.%d.message", r.s.Alerts), strings.TrimSpace(t[1]+": "+t[2]), ref)
	case recMetric:
		t := texts(f.b)
		if t[2] == "*" && t[4] != "" && !strings.Contains(strings.ToLower(t[4]), "epoch") {
			r.rows.Place.Said = t[4]
			delete(r.rows.columns, t[4])
			r.rows.order = nil
		}
	case recRun:
		r.run(f.b, ref)
	case recExit:
		r.exit(f.b, ref)
	case recHeader:
		fields(f.b, func(f field) bool {
			if f.num == 1 {
				producer, _, _ := strings.Cut(texts(f.b)[1], "+")
				r.fact("tracker.version", producer, ref)
			}
			return true
		})
	case recPreempting:
		r.s.Preempting = true
	case recEnvironment:
		r.environment(f.b, ref)
	}
}

func (r *reading) fact(key, value string, ref run.Ref) {
	if value != "" {
		r.facts = append(r.facts, run.Fact{Key: key, Value: clip(value), From: ref})
	}
}

const maxValue = 500 // bytes of a fact

func clip(s string) string {
	if len(s) <= maxValue {
		return s
	}
	return strings.ToValidUTF8(s[:maxValue], "") + "…"
}

// history takes a row. A value stands where its item does.
func (r *reading) history(b []byte, at int64) {
	at += chunkHeader + int64(len(b))
	for len(b) > 0 {
		f, rest, ok := one(b)
		if !ok {
			break
		}
		switch f.num {
		case 1:
			ref := run.Ref{File: r.name, Offset: at - int64(len(b))}
			if key, json, ok := usual(f.b); ok {
				r.rows.value(key, json, ref)
			} else if it, ok := readItem(f.b, r.key[:0]); ok && it.key != nil {
				r.rows.item(it, ref)
			}
		case 2:
			if n, _, ok := one(f.b); ok && n.num == 1 {
				r.rows.Calls(int64(n.n))
			}
		}
		b = rest
	}
	r.rows.End()
}

// takeSummary keeps what the summary has beyond the history: most of it repeats
// the last row.
func (r *reading) takeSummary(b []byte) {
	for len(b) > 0 {
		f, rest, ok := one(b)
		if !ok {
			return
		}
		b = rest
		it, ok := readItem(f.b, r.key[:0])
		if f.num != 1 || !ok || len(it.key) == 0 || it.key[0] == '_' || r.rows.columns[string(it.key)] != nil {
			continue
		}
		if n := len(it.json); n == 0 || n > maxValue || it.json[0] == '{' || it.json[0] == '[' {
			continue
		}
		if _, known := r.summary[string(it.key)]; known || len(r.summary) < maxColumns {
			r.summary[string(it.key)] = string(it.json)
		}
	}
}

// outputLine is the text of an OutputRecord or an OutputRawRecord.
func outputLine(b []byte) (line []byte) {
	fields(b, func(f field) bool {
		if f.num == 3 {
			line = f.b
		}
		return true
	})
	return line
}

func (r *reading) stats(b []byte) {
	fields(b, func(f field) bool {
		if f.num != 3 {
			return true
		}
		t := texts(f.b)
		if key := Reading(t[1]); key != "" {
			r.system[key] = t[16]
		}
		return true
	})
}

var gpuReading = regexp.MustCompile(`^gpu\.(?:process\.)?(\d+)\.(\w+)$`)

// readings are the facts of the system's quantities, by W&B's names.
var readings = map[string]string{
	"gpu": "utilization", "memoryAllocated": "memory_percent", "memoryAllocatedBytes": "memory_used_bytes", "temp": "temperature", "powerWatts": "power_w",
	"cpu": "host.cpu_percent", "memory_percent": "host.memory_percent", "memory": "host.memory_percent", "proc.memory.rssMB": "host.process_rss_mb",
}

// Reading is the key of the fact for a quantity of the system as W&B names it, ""
// for one that no fact is made of.
func Reading(name string) string {
	name = strings.TrimPrefix(name, "system.")
	if m := gpuReading.FindStringSubmatch(name); m != nil {
		if what := readings[m[2]]; what != "" && !strings.HasPrefix(name, "gpu.process.") {
			return "gpu." + m[1] + "." + what
		}
		return ""
	}
	if v := readings[name]; strings.HasPrefix(v, "host.") {
		return v
	}
	return ""
}

// last are the facts of which only the newest value counts. The system's readings
// have no place: the next one takes theirs.
func (r *reading) last() []run.Fact {
	var out []run.Fact
	for key, v := range r.system {
		out = append(out, run.Fact{Key: key, Value: v})
	}
	for key, v := range r.summary {
		if r.rows.columns[key] == nil {
			out = append(out, run.Fact{Key: "summary." + key, Value: clip(strings.Trim(v, `"`)), From: run.Ref{File: r.name}})
		}
	}
	if p := r.s.Preempting; p && (r.s.Exit == nil || *r.s.Exit != 0) {
		r.s.Preempting = false
		out = append(out, run.Fact{Key: "tracker.preempting.message", Value: "the run told W&B that its instance is being preempted", From: run.Ref{File: r.name}})
	}
	slices.SortFunc(out, func(a, b run.Fact) int { return strings.Compare(a.Key, b.Key) })
	return out
}

func (r *reading) run(b []byte, ref run.Ref) {
	t := map[int]string{}
	fields(b, func(f field) bool {
		switch f.num {
		case 1, 2, 3, 8, 13:
			t[int(f.num)] = string(f.b)
		case 4:
			r.config(f.b, ref)
		case 14:
			if f.n > 0 {
				r.fact("run.resumed_step", strconv.FormatUint(f.n, 10), ref)
			}
		case 17:
			if at := stamp(f.b); !at.IsZero() {
				r.fact(run.FactTrackerStart, at.Format("2006-01-02T15:04:05Z"), ref)
			}
		case 18:
			if f.n > 0 {
				r.fact("run.resumed", "true", ref)
			}
		case 21:
			r.fact("git.commit", texts(f.b)[2], ref)
		}
		return true
	})
	r.fact(run.FactTracker, Kind, ref)
	r.fact(run.FactTrackerRun, strings.Join(slices.DeleteFunc([]string{t[2], t[3], t[1]}, func(s string) bool { return s == "" }), "/"), ref)
	r.fact("tracker.name", t[8], ref)
	r.fact("tracker.host", t[13], ref)
}

// config makes facts of a ConfigRecord's updates.
func (r *reading) config(b []byte, ref run.Ref) {
	fields(b, func(f field) bool {
		it, ok := readItem(f.b, r.key[:0])
		if f.num != 1 || !ok || len(it.key) == 0 || it.json == nil {
			return true
		}
		if key, err := string(it.key), error(nil); key != "_wandb" && !strings.HasPrefix(key, "_wandb.") {
			var n *doc.Node
			if n, err = doc.JSON(it.json); err == nil {
				r.facts = append(r.facts, Config(&doc.Node{Kind: doc.Map, Items: []*doc.Node{named(n, key)}}, ref)...)
			}
		}
		return true
	})
}

func named(n *doc.Node, key string) *doc.Node {
	n.Key = key
	return n
}

const maxConfig = 2000

// Config are the facts of a configuration, "config.<dotted.key>" in lower case
// with the value as it is spelled; all of them stand at ref.
func Config(n *doc.Node, ref run.Ref) (out []run.Fact) {
	n.Flatten(func(key string, v *doc.Node) bool {
		f := run.Fact{Key: "config." + strings.ToLower(key), Value: clip(v.Text), From: ref}
		if v.Kind == doc.Null && v.Text == "" {
			f.Value = "null"
		}
		if out = append(out, f); v.Quoted() {
			out = append(out, run.Fact{Key: f.Key + "#type", Value: "string", From: ref})
		}
		return len(out) < maxConfig
	})
	return out
}

func (r *reading) exit(b []byte, ref run.Ref) {
	var code int32
	done := true
	fields(b, func(f field) bool {
		switch f.num {
		case 1:
			code = int32(f.n)
		case 3:
			done = f.n == 0
		}
		return true
	})
	if !done {
		return
	}
	r.s.Exit = &code
	state := "finished"
	if code != 0 {
		state = "failed"
	}
	r.fact(run.FactTrackerState, state, ref)
	r.fact(run.FactExitCode, strconv.Itoa(int(code)), ref)
}

// environment says where and how the program runs.
func (r *reading) environment(b []byte, ref run.Ref) {
	var args []string
	t := texts(b)
	fields(b, func(f field) bool {
		switch f.num {
		case 5:
			args = append(args, string(f.b))
		case 19:
			r.fact("gpu.count", strconv.FormatUint(f.n, 10), ref)
		case 27:
			kv := texts(f.b)
			r.fact("slurm."+strings.ToLower(kv[1]), kv[2], ref)
		}
		return true
	})
	if t[6] != "" {
		r.fact("launch.command", strings.Join(append([]string{"python", t[6]}, args...), " "), ref)
	}
	r.fact("gpu.0.name", t[18], ref)
	r.fact("gpu.cuda", t[25], ref)
}
