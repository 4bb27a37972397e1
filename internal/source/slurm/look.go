package slurm

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/host"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
)

// look is one look at a job.
type look struct {
	*job
	since run.Cursor
	obs   run.Observation
	state string
}

const maxTasks = 200 // of an array, or steps of a job, that are told

// forgotten keeps what was told of a job that SLURM does not know any more: it is
// over, and only its log can say how.
func (l *look) forgotten(err error) {
	for _, k := range []string{keyText, keySteps, keyDeadline} {
		if v, ok := l.since[k]; ok {
			l.obs.Next[k] = v
		}
	}
	const state = "UNKNOWN"
	if l.obs.Next[keyState] = state; l.since[keyState] != state {
		l.obs.Pipeline = &run.Pipeline{Name: "job " + l.id, Kind: "job", State: state}
	}
	l.obs.Gaps = append(l.obs.Gaps, run.Gap{What: "how job " + l.id + " ended", Why: err.Error(), Ask: "sacct -j " + l.id + " --format=JobID,State,ExitCode,Reason, or the end of its log"})
}

// tell gives what changed of the job: its state as a line of a stream, which the
// facts point at, and as a job with its tasks and steps.
func (l *look) tell(jobs, rows []record) {
	l.state = together(jobs)
	var text strings.Builder
	for _, r := range jobs[:min(len(jobs), maxTasks)] {
		text.WriteString(r.line() + "\n")
	}
	l.deadline(jobs)
	lines := text.String()
	steps := stepLines(rows)
	l.obs.Next[keyState], l.obs.Next[keySteps] = lines, steps
	if steps == "" {
		l.obs.Next[keySteps] = l.since[keySteps]
	}
	if lines == l.since[keyState] && l.obs.Next[keySteps] == l.since[keySteps] {
		l.obs.Next[keyText] = l.since[keyText]
		return
	}
	if steps == l.since[keySteps] {
		steps = ""
	}
	l.stream(steps + lines) // the job comes last: its word is the one that counts
	l.obs.Pipeline = l.pipeline(jobs, rows)
	if over[l.state] && len(jobs) == 1 {
		l.exit(jobs[0])
	}
}

// line is a record in one line, as scontrol -o writes it; what changes by itself
// is left out.
func (r record) line() string {
	var b strings.Builder
	put := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, " %s=%s", name, strings.ReplaceAll(value, "\n", " "))
		}
	}
	fmt.Fprintf(&b, "JobId=%s", r.id())
	put("JobState", r.state())
	put("Reason", r["reason"])
	put("ExitCode", r["exitcode"])
	put("DerivedExitCode", r["derivedexitcode"])
	put("Restarts", r["restarts"])
	put("TimeLimit", r["timelimit"])
	if over[r.state()] {
		put("RunTime", cmp.Or(r["runtime"], r["elapsed"]))
	}
	put("NodeList", r["nodelist"])
	put("NumNodes", r["numnodes"])
	put("MaxRSS", r["maxrss"])
	put("ReqMem", cmp.Or(r["reqmem"], r["minmemorynode"]))
	put("StartTime", cmp.Or(r["starttime"], r["start"]))
	put("Partition", r["partition"])
	put("JobName", r["jobname"])
	return b.String()
}

func stepLines(rows []record) string {
	var b strings.Builder
	n := 0
	for _, r := range rows {
		if !r.step() || !over[r.state()] || n == maxTasks {
			continue
		}
		n++
		fmt.Fprintf(&b, "StepId=%s State=%s ExitCode=%s", r["jobid"], r.state(), r["exitcode"])
		if r["maxrss"] != "" {
			fmt.Fprintf(&b, " MaxRSS=%s", r["maxrss"])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// stream adds lines to the stream of states.
func (l *look) stream(text string) {
	var size, lines int64
	_, _ = fmt.Sscan(l.since[keyText], &size, &lines) // nothing before the first ones
	const name = "scontrol"
	l.obs.Streams = append(l.obs.Streams, host.Text(name, "slurm", text, size, int(lines)+1))
	for _, f := range export.Command("slurm", export.NewText(name, text)).Facts {
		f.From.Line += int(lines)
		f.From.Offset += size
		l.obs.Facts = append(l.obs.Facts, f)
	}
	l.obs.Next[keyText] = fmt.Sprint(size+int64(len(text)), " ", lines+int64(strings.Count(text, "\n")))
}

// pipeline is the job with its tasks, if it is an array, and its steps.
func (l *look) pipeline(jobs, rows []record) *run.Pipeline {
	p := &run.Pipeline{Name: "job " + l.id, Kind: "job", State: l.state}
	for _, r := range jobs {
		if s := r.state(); s == l.state && p.Error == "" && over[s] && s != "COMPLETED" {
			p.Error = r.why()
		}
	}
	if len(jobs) > 1 {
		for _, r := range jobs[:min(len(jobs), maxTasks)] {
			p.Tasks = append(p.Tasks, r.task(r.id()))
		}
		return p
	}
	for _, r := range rows {
		if r.step() && len(p.Tasks) < maxTasks {
			p.Tasks = append(p.Tasks, r.task("step "+r["jobid"]))
		}
	}
	return p
}

func (r record) task(name string) run.Task {
	t := run.Task{Name: name, State: r.state(), Job: r["jobid"]}
	if over[t.State] && t.State != "COMPLETED" {
		t.Error = r.why()
	}
	return t
}

// why are the words for how it ended.
func (r record) why() string {
	var out []string
	if code, signal, ok := r.exit(); ok && signal > 0 && signal <= 64 { // 125 is SLURM's own, for want of memory
		out = append(out, "signal "+strconv.Itoa(signal))
	} else if ok && code > 0 {
		out = append(out, "exit code "+strconv.Itoa(code))
	}
	if v := r["reason"]; v != "" && v != "NonZeroExitCode" {
		out = append(out, "reason "+v)
	}
	if v := r["nodelist"]; v != "" {
		out = append(out, "on "+v)
	}
	return strings.Join(out, ", ")
}

// exit tells how the batch script ended, where that is an end of its own: of
// other states the code is SLURM's.
func (l *look) exit(r record) {
	code, signal, ok := r.exit()
	if s := r.state(); !ok || s != "COMPLETED" && s != "FAILED" {
		return
	}
	if signal > 0 {
		code = 128 + signal
	}
	l.obs.Facts = append(l.obs.Facts, run.Fact{Key: run.FactExitCode, Value: strconv.Itoa(code)})
}

// deadline tells when the time of the job ends: once for each attempt, by this
// machine's clock.
func (l *look) deadline(jobs []record) {
	if len(jobs) != 1 || jobs[0].state() != "RUNNING" {
		return
	}
	r := jobs[0]
	limit, ok := span(r["timelimit"])
	ran, okRan := span(cmp.Or(r["runtime"], r["elapsed"]))
	if !ok || !okRan {
		return
	}
	which := r["timelimit"] + " " + cmp.Or(r["starttime"], r["start"])
	if was, end, _ := strings.Cut(l.since[keyDeadline], "|"); was == which {
		l.obs.Next[keyDeadline] = was + "|" + end
		return
	}
	end := l.obs.At.Add(limit - ran).UTC().Format(time.RFC3339)
	l.obs.Next[keyDeadline] = which + "|" + end
	l.obs.Facts = append(l.obs.Facts, run.Fact{Key: run.FactDeadline, Value: end})
}
