package slurm

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

const maxLogs = 64 // of the tasks of an array

// pathsOf are the logs of jobs: as the controller tells them, else as the
// accounting does, else by sbatch's own default.
func pathsOf(jobs []record) (paths []string) {
	for _, r := range jobs {
		found := false
		for _, p := range []string{r["stdout"], r["stderr"]} {
			if p = fill(p, r); p != "" && p != "/dev/null" {
				found = true
				if !slices.Contains(paths, p) && len(paths) < maxLogs {
					paths = append(paths, p)
				}
			}
		}
		if dir := r["workdir"]; !found && dir != "" && len(paths) < maxLogs {
			paths = append(paths, path.Join(dir, "slurm-"+r.id()+".out"))
		}
	}
	return paths
}

var pattern = regexp.MustCompile(`%(\d*)([%AaJjNux])`)

// fill puts a job's own values where its path has sbatch's patterns: the
// controller does that, the accounting does not.
func fill(p string, r record) string {
	if p == "" {
		return ""
	}
	array, task, isArray := strings.Cut(r.id(), "_")
	if !isArray {
		task = "4294967294" // as sbatch writes it where there is no array
	}
	p = pattern.ReplaceAllStringFunc(p, func(s string) string {
		v := map[byte]string{'%': "%", 'A': array, 'a': task, 'j': array, 'J': array, 'x': r["jobname"], 'u': r["user"], 'N': r["nodelist"]}[s[len(s)-1]]
		if v == "" {
			return s
		}
		width, _ := strconv.Atoi(s[1 : len(s)-1]) // 0 where there is none
		return strings.Repeat("0", max(0, min(width, 10)-len(v))) + v
	})
	if !strings.HasPrefix(p, "/") {
		p = path.Join(r["workdir"], p)
	}
	return p
}

// follow looks at the logs that the job writes, or wrote when it was seen last.
func (l *look) follow(ctx context.Context, jobs []record) error {
	paths := strings.Split(l.since[keyPaths], "\n")
	if l.since[keyPaths] == "" {
		paths = nil
	}
	for _, p := range pathsOf(jobs) {
		if !slices.Contains(paths, p) && !strings.Contains(p, "\n") {
			paths = append(paths, p)
		}
	}
	l.obs.Next[keyPaths] = strings.Join(paths, "\n")
	for i, p := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.log(ctx, i, p)
	}
	if len(paths) == 0 {
		l.obs.Gaps = append(l.obs.Gaps, run.Gap{What: "the log of job " + l.id, Why: "neither scontrol nor sacct tells where it is", Ask: "the job's log, or the folder that sbatch was called in"})
	}
	return nil
}

func (l *look) log(ctx context.Context, i int, p string) {
	prefix := fmt.Sprintf("log %d ", i)
	part := run.Cursor{}
	for k, v := range l.since {
		if name, ok := strings.CutPrefix(k, prefix); ok {
			part[name] = v
		}
	}
	if len(part) == 0 {
		part = nil
	}
	keep := func() {
		for k, v := range part {
			l.obs.Next[prefix+k] = v
		}
	}
	src, err := l.source(ctx, p)
	if err != nil {
		keep()
		l.unseen(p, err)
		return
	}
	obs, err := src.Observe(ctx, part)
	if err != nil {
		keep()
		l.unseen(p, err)
		return
	}
	for k, v := range obs.Next {
		l.obs.Next[prefix+k] = v
	}
	obs.Gaps = slices.DeleteFunc(obs.Gaps, func(g run.Gap) bool {
		if g.Why != source.NotYet {
			return false
		}
		l.unseen(p, source.ErrNotFound) // what the job does says more
		return true
	})
	l.take(obs, active[l.state])
}

// source opens a log at the first look that finds it.
func (l *look) source(ctx context.Context, p string) (source.Source, error) {
	if s := l.logs[p]; s != nil {
		return s, nil
	}
	s, err := l.open(ctx, p, source.Options{Last: l.opt.Last, Watch: l.opt.Watch, Framework: l.opt.Framework, Task: l.opt.Task})
	if err == nil {
		l.logs[p] = s
	}
	return s, err
}

func (l *look) unseen(p string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	why, ask := err.Error(), "a copy of "+run.Name(path.Base(p))+" that can be read from here"
	if errors.Is(err, source.ErrNotFound) {
		why = p + " is not there"
		switch {
		case l.state != "" && !active[l.state] && !over[l.state]:
			why += ": the job is " + l.state
			ask = "wait until the job runs"
		default:
			ask += "; it may be on the disk of the node that the job ran on"
		}
	}
	l.obs.Gaps = append(l.obs.Gaps, run.Gap{What: "the log " + run.Name(path.Base(p)), Why: why, Ask: ask})
}

// take adds what a log showed; of two logs with one name the later gets another.
func (l *look) take(obs run.Observation, live bool) {
	rename := map[string]string{}
	for _, s := range obs.Streams {
		s.Live = live
		name := s.Name
		if to, done := rename[name]; done {
			s.Name = to
		} else {
			for slices.ContainsFunc(l.obs.Streams, func(o run.Stream) bool { return o.Name == s.Name }) {
				s.Name = "other/" + s.Name
			}
			rename[name] = s.Name
		}
		l.obs.Streams = append(l.obs.Streams, s)
	}
	for _, f := range obs.Facts {
		if to, ok := rename[f.From.File]; ok {
			f.From.File = to
		}
		l.obs.Facts = append(l.obs.Facts, f)
	}
	l.obs.Samples = append(l.obs.Samples, obs.Samples...)
	l.obs.Checkpoints = append(l.obs.Checkpoints, obs.Checkpoints...)
	l.obs.Gaps = append(l.obs.Gaps, obs.Gaps...)
	l.obs.More = l.obs.More || obs.More
}
