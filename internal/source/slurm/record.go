package slurm

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// record is a job, a task of an array or a step, as a program tells it: the
// fields by their names in small letters.
type record map[string]string

// wide are the fields of scontrol that take the rest of their line, whatever is
// in it.
var (
	wide      = regexp.MustCompile(`^ {3}(Command|WorkDir|StdErr|StdIn|StdOut|Comment|AdminComment|SubmitLine|MailUser|TresPerNode|Power)=(.*)$`)
	jobName   = regexp.MustCompile(` JobName=(.*)$`)
	smallPair = regexp.MustCompile(`(?:^|\s)([A-Z][A-Za-z/:]*)=(\S+)`)
)

// readControl reads scontrol show job: one record a job, or a task of an array.
func readControl(text string) (all []record) {
	var r record
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "JobId=") {
			r = record{}
			all = append(all, r)
			if m := jobName.FindStringSubmatch(line); m != nil {
				r["jobname"] = m[1]
				line = strings.TrimSuffix(line, m[0])
			}
		}
		if r == nil {
			continue
		}
		if m := wide.FindStringSubmatch(line); m != nil {
			r.set(m[1], m[2])
			continue
		}
		for _, m := range smallPair.FindAllStringSubmatch(line, -1) {
			r.set(m[1], m[2])
		}
	}
	return all
}

// readAccount reads sacct -P with its heading: jobs, tasks and steps.
func readAccount(text string) (all []record) {
	var names []string
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimRight(line, "\r\n"), "|")
		switch {
		case names == nil && cells[0] == "JobID":
			names = cells
		case names != nil && len(cells) == len(names):
			r := record{}
			for i, c := range cells {
				r.set(names[i], c)
			}
			all = append(all, r)
		}
	}
	return all
}

func (r record) set(name, value string) {
	if value != "" && value != "(null)" && value != "None" && value != "Unknown" && value != "N/A" {
		r[strings.ToLower(name)] = value
	}
}

// id is the job as a person names it: 12, or 12_3 for a task of an array.
func (r record) id() string {
	if task, ok := r["arraytaskid"]; ok && r["arrayjobid"] != "" {
		return r["arrayjobid"] + "_" + task
	}
	return r["jobid"]
}

// state is its state in one word: sacct says "CANCELLED by 1000".
func (r record) state() string {
	s := r["jobstate"]
	if s == "" {
		s = r["state"]
	}
	s, _, _ = strings.Cut(s, " ")
	return strings.TrimSuffix(s, "+")
}

// step reports whether it is a step of a job: sacct names it after a dot.
func (r record) step() bool { return strings.Contains(r["jobid"], ".") }

// exit is the exit code and the signal that ended it.
func (r record) exit() (code, signal int, ok bool) {
	c, s, cut := strings.Cut(r["exitcode"], ":")
	code, errCode := strconv.Atoi(c)
	signal, errSignal := strconv.Atoi(s)
	return code, signal, cut && errCode == nil && errSignal == nil
}

// States in which a job is over for good; a requeued one is PENDING again.
var over = map[string]bool{
	"COMPLETED": true, "FAILED": true, "TIMEOUT": true, "DEADLINE": true, "CANCELLED": true, "NODE_FAIL": true, "BOOT_FAIL": true,
	"OUT_OF_MEMORY": true, "PREEMPTED": true, "REVOKED": true, "LAUNCH_FAILED": true,
}

// active are the states in which it has its nodes.
var active = map[string]bool{"RUNNING": true, "COMPLETING": true, "CONFIGURING": true, "STAGE_OUT": true, "SIGNALING": true, "RESIZING": true, "STOPPED": true}

// together is the state of an array: it runs while a task does, and failed as
// the first of its tasks that did not complete.
func together(all []record) string {
	first := ""
	for _, r := range all {
		if s := r.state(); active[s] {
			return s
		}
	}
	for _, r := range all {
		if s := r.state(); !over[s] {
			return s
		} else if first == "" || first == "COMPLETED" {
			first = s
		}
	}
	return first
}

// span reads a duration of SLURM: [days-]hours:minutes:seconds, minutes:seconds,
// or minutes; a limit that is none is not one.
func span(s string) (time.Duration, bool) {
	days, rest, ok := strings.Cut(s, "-")
	if !ok {
		days, rest = "0", s
	}
	parts := strings.Split(rest, ":")
	units := []time.Duration{time.Hour, time.Minute, time.Second}
	switch {
	case len(parts) > 3:
		return 0, false
	case len(parts) == 2 && !ok:
		units = units[1:]
	case len(parts) == 1 && !ok:
		units = units[1:]
	}
	n, err := strconv.Atoi(days)
	if err != nil || n < 0 || n > 10000 {
		return 0, false
	}
	d := time.Duration(n) * 24 * time.Hour
	for i, p := range parts {
		p, _, _ = strings.Cut(p, ".")
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || n > 1e6 {
			return 0, false
		}
		d += time.Duration(n) * units[i]
	}
	return d, true
}
