package export

import (
	"regexp"
	"strings"
)

// slurmKeys are the columns and fields that become facts.
var slurmKeys = map[string]string{
	"jobid": "slurm.job_id", "jobname": "slurm.job_name", "state": "slurm.state", "jobstate": "slurm.state",
	"exitcode": "slurm.exit_code", "derivedexitcode": "slurm.derived_exit_code", "reason": "slurm.reason",
	"timelimit": "slurm.time_limit", "elapsed": "slurm.elapsed", "runtime": "slurm.elapsed",
	"maxrss": "slurm.max_rss", "reqmem": "slurm.req_mem", "nodelist": "slurm.nodes", "restarts": "slurm.restarts",
	"start": "slurm.start", "starttime": "slurm.start", "end": "slurm.end", "endtime": "slurm.end",
	"numnodes": "slurm.num_nodes", "numtasks": "slurm.num_tasks", "ntasks": "slurm.num_tasks",
	"mincpusnode": "slurm.min_cpus", "minmemorynode": "slurm.req_mem", "partition": "slurm.partition",
}

// sacct reads sacct as a table or with -P. Later rows of the same job (a
// requeue) and its steps follow in order; the last one is how it stands.
func sacct(t *Text) (f Found) {
	var cols []string
	var span [][2]int
	for i, l := range t.Lines {
		low := strings.ToLower(l)
		if strings.Contains(low, "jobid") && strings.Contains(low, "state") && !strings.Contains(l, "=") {
			cols = strings.Split(low, "|")
			span = nil
			if len(cols) == 1 {
				cols = strings.Fields(low)
			}
			continue
		}
		if cols == nil || strings.TrimSpace(l) == "" {
			continue
		}
		if strings.HasPrefix(l, "---") {
			span = rulers(l)
			continue
		}
		f.slurmRow(t, i+1, cols, cells(l, span))
	}
	return f
}

// rulers are where the columns of a table under a ----- line stand.
func rulers(l string) (out [][2]int) {
	for i := 0; i < len(l); {
		j := i
		for j < len(l) && l[j] == '-' {
			j++
		}
		if j > i {
			out = append(out, [2]int{i, j})
		}
		i = j + 1
	}
	return out
}

func cells(l string, span [][2]int) []string {
	if strings.Contains(l, "|") {
		return strings.Split(l, "|")
	}
	if span == nil {
		return strings.Fields(l)
	}
	var out []string
	for _, s := range span {
		from, to := min(s[0], len(l)), min(s[1], len(l))
		out = append(out, strings.TrimSpace(l[from:to]))
	}
	return out
}

func (f *Found) slurmRow(t *Text, line int, cols, row []string) {
	for j, c := range cols {
		if key := slurmKeys[strings.TrimSpace(c)]; key != "" && j < len(row) {
			f.set(t, line, key, strings.TrimSpace(row[j]))
		}
	}
}

// squeueState spells out the short states.
var squeueState = map[string]string{
	"PD": "PENDING", "R": "RUNNING", "CG": "COMPLETING", "CD": "COMPLETED", "F": "FAILED", "TO": "TIMEOUT",
	"CA": "CANCELLED", "NF": "NODE_FAIL", "PR": "PREEMPTED", "S": "SUSPENDED", "OOM": "OUT_OF_MEMORY", "CF": "CONFIGURING",
}

var bracketed = regexp.MustCompile(`\(([^)]+)\)\s*$`)

// squeue reads the queue: slurm.state, slurm.elapsed, slurm.nodes, slurm.reason.
func squeue(t *Text) (f Found) {
	var cols []string
	for i, l := range t.Lines {
		w := strings.Fields(l)
		if len(w) > 3 && w[0] == "JOBID" {
			cols = w
			continue
		}
		if cols == nil || len(w) < len(cols) {
			continue
		}
		for j, c := range cols {
			switch c {
			case "JOBID":
				f.fact(t, i+1, "slurm.job_id", w[j])
			case "ST", "STATE":
				state := w[j]
				if s := squeueState[state]; s != "" {
					state = s
				}
				f.fact(t, i+1, "slurm.state", state)
			case "TIME":
				f.fact(t, i+1, "slurm.elapsed", w[j])
			case "NODES":
				f.fact(t, i+1, "slurm.num_nodes", w[j])
			case "NODELIST", "NODELIST(REASON)":
				if !strings.HasPrefix(w[j], "(") {
					f.fact(t, i+1, "slurm.nodes", w[j])
				}
			}
		}
		if m := bracketed.FindStringSubmatch(l); m != nil {
			f.fact(t, i+1, "slurm.reason", m[1])
		}
	}
	return f
}

var scontrolField = regexp.MustCompile(`(?:^|\s)([A-Z][A-Za-z/:]+)=(\S+)`)

// scontrol reads scontrol show job.
func scontrol(t *Text) (f Found) {
	for i, l := range t.Lines {
		for _, m := range scontrolField.FindAllStringSubmatch(l, -1) {
			if key := slurmKeys[strings.ToLower(m[1])]; key != "" && m[2] != "(null)" {
				f.fact(t, i+1, key, m[2])
			}
		}
	}
	return f
}

var seffField = regexp.MustCompile(`^(State|Memory Utilized|Memory Efficiency|CPU Efficiency|Nodes): +(.+?)\s*$`)

// seff reads the summary of a job that has ended.
func seff(t *Text) (f Found) {
	for i, l := range t.Lines {
		m := seffField.FindStringSubmatch(l)
		switch {
		case m == nil:
		case m[1] == "State":
			state, code, _ := strings.Cut(m[2], " (exit code ")
			f.fact(t, i+1, "slurm.state", state)
			f.set(t, i+1, "slurm.exit_code", strings.TrimSuffix(code, ")"))
		default:
			f.fact(t, i+1, "slurm."+strings.ReplaceAll(strings.ToLower(m[1]), " ", "_"), m[2])
		}
	}
	return f
}
