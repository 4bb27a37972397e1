package vertex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
)

// Bounds of one look.
const (
	maxGets   = 4  // resources of jobs behind tasks
	maxFollow = 30 // jobs whose lines are asked for; a filter has at most 20,000 characters
)

// customJob looks at a custom job.
func (l *look) customJob(ctx context.Context) error {
	j, err := l.client.Job(ctx, l.job.resource)
	if err != nil {
		return err
	}
	f, err := l.resource(j, "custom_job.json")
	if err != nil {
		return err
	}
	l.tell(f)
	l.start, l.ended = j.GetCreateTime().AsTime(), j.GetEndTime() != nil
	l.account = cmp.Or(j.GetJobSpec().GetServiceAccount(), "the account that the job runs as")
	if limit := j.GetJobSpec().GetScheduling().GetTimeout(); limit != nil && j.GetStartTime() != nil && !l.ended && len(f.Facts) > 0 {
		end := j.GetStartTime().AsTime().Add(limit.AsDuration())
		l.obs.Facts = append(l.obs.Facts, run.Fact{Key: run.FactDeadline, Value: end.UTC().Format(time.RFC3339)})
	}
	l.logs = []followed{{id: lastPart(j.GetName()), start: l.start}}
	return nil
}

// pipelineJob looks at a pipeline job and at the jobs behind its failed tasks.
func (l *look) pipelineJob(ctx context.Context) error {
	p, err := l.client.Pipeline(ctx, l.job.resource)
	if err != nil {
		return err
	}
	f, err := l.resource(p, "pipeline_job.json")
	if err != nil {
		return err
	}
	l.id = lastPart(p.GetName())
	l.start, l.ended = p.GetCreateTime().AsTime(), p.GetEndTime() != nil
	l.account = cmp.Or(p.GetServiceAccount(), "the account that the pipeline runs as")
	tasks := slices.Clone(f.Pipeline.Tasks)
	slices.SortStableFunc(tasks, func(a, b run.Task) int {
		return cmp.Or(cmp.Compare(order(a.State), order(b.State)), a.End.Compare(b.End))
	})
	if err := l.behind(ctx, tasks); err != nil {
		return err
	}
	l.tell(f) // after the jobs': of a key that both have the pipeline's counts
	l.follow(tasks)
	return nil
}

// tell adds what a resource told; a pipeline or job that did not change is not
// told again.
func (l *look) tell(f export.Found) {
	if len(f.Facts) == 0 {
		return
	}
	l.obs.Facts = append(l.obs.Facts, f.Facts...)
	l.obs.Pipeline = f.Pipeline
}

// order is which tasks matter first: the failed ones, then those at work.
func order(state string) int {
	switch state {
	case "FAILED":
		return 0
	case "RUNNING", "CANCELLING", "CANCEL_PENDING":
		return 1
	case "CANCELLED":
		return 2
	}
	return ended
}

// ended is the order of tasks of which nothing more comes, or nothing yet.
const ended = 3

// behind gets the custom jobs behind failed tasks: those of the first one, its
// earlier attempts too, then those of others, each once.
func (l *look) behind(ctx context.Context, tasks []run.Task) error {
	asked := 0
	for _, t := range tasks {
		if t.State != "FAILED" {
			break
		}
		for i, name := range jobsOf(t) {
			id := lastPart(name)
			if asked == maxGets || l.since["job "+id] != "" {
				continue
			}
			asked++
			folder := l.folderOf(attempt(t, i), id)
			if err := l.child(ctx, name, folder); err != nil {
				return err
			}
			l.obs.Next["job "+id] = "read"
		}
	}
	return nil
}

// attempt is the folder of a job of a task, counted from the newest: the task's
// name, and which attempt it is if it is not the first. It stays the same when
// another attempt follows.
func attempt(t run.Task, i int) string {
	n := len(jobsOf(t)) - i
	if n == 1 {
		return t.Name
	}
	return fmt.Sprintf("%s-attempt-%d", t.Name, n)
}

// child reads the job behind a task. That one cannot be seen is a gap; only an
// end of the context is an error.
func (l *look) child(ctx context.Context, name, folder string) error {
	j, err := l.client.Job(ctx, l.local(name))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		l.blind("the job behind "+folder, err)
		return nil
	}
	f, err := l.resource(j, folder+"/custom_job.json")
	if err != nil {
		return err
	}
	l.obs.Facts = append(l.obs.Facts, f.Facts...)
	return nil
}

// local is a full name with the project as the target has it: that of a job
// behind a task has the project's number.
func (l *look) local(name string) string {
	return l.client.Parent() + "/" + customJobs + "/" + lastPart(name)
}

// blind tells what could not be seen.
func (l *look) blind(what string, err error) {
	g := run.Gap{What: what, Why: err.Error(), Ask: "try again in a minute"}
	if a, ok := errors.AsType[*source.Advice](err); ok {
		g.Ask = a.Ask
	}
	l.obs.Gaps = append(l.obs.Gaps, g)
}

// follow chooses the jobs whose lines are wanted: those of failed and running
// tasks with their earlier attempts, and what was followed before; where there
// is none, those of all tasks.
func (l *look) follow(tasks []run.Task) {
	known := l.since["known"]
	calm := known == "" && len(tasks) > 0 && order(tasks[0].State) == ended
	for _, t := range tasks {
		if t.Job == "" || order(t.State) == ended && !calm && !strings.Contains(known, " "+lastPart(t.Job)+" ") {
			continue
		}
		for i, name := range jobsOf(t) {
			if len(l.logs) == maxFollow {
				return
			}
			id := lastPart(name)
			l.logs = append(l.logs, followed{id: id, folder: l.folderOf(attempt(t, i), id), start: cmp.Or(t.Start, l.start)})
		}
	}
}

// jobsOf are the jobs behind a task, the newest first.
func jobsOf(t run.Task) []string {
	names := slices.Clone(t.Earlier)
	if t.Job != "" {
		names = append(names, t.Job)
	}
	slices.Reverse(names)
	return names
}
