package monitor_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
	sourceall "github.com/trainmedic/trainmedic/internal/source/all"
	"github.com/trainmedic/trainmedic/internal/source/vertex/cloud"
	"github.com/trainmedic/trainmedic/internal/source/vertex/vertextest"
)

var update = flag.Bool("update", false, "write the golden texts anew")

// scripted is a pipeline of twenty tasks as it stands after some of them.
type scripted struct {
	state  string
	begun  time.Time
	done   int    // tasks that succeeded, in order
	next   string // the state of the one after them
	jobs   string // of that one: the attempt at work, then those before it
	others string // the state of the rest
}

func (p scripted) json() string {
	at := func(d time.Duration) string { return p.begun.Add(d).UTC().Format(time.RFC3339) }
	var rows []string
	for i := range 20 {
		row := fmt.Sprintf(`{"taskId":"%d","parentTaskId":"100","taskName":"task-%02d"`, i+1, i+1)
		start := time.Duration(i) * 10 * time.Minute
		switch {
		case i < p.done:
			row += fmt.Sprintf(`,"state":"SUCCEEDED","startTime":%q,"endTime":%q,"executorDetail":{"containerDetail":{"mainJob":"projects/9/locations/us-central1/customJobs/%d"}}`, at(start), at(start+9*time.Minute), 100+i)
		case i == p.done:
			jobs := strings.Fields(p.jobs)
			row += fmt.Sprintf(`,"state":%q,"startTime":%q,"executorDetail":{"containerDetail":{"mainJob":"projects/9/locations/us-central1/customJobs/%s"`, p.next, at(start), jobs[0])
			if len(jobs) > 1 {
				row += fmt.Sprintf(`,"failedMainJobs":["projects/9/locations/us-central1/customJobs/%s"]`, jobs[1])
			}
			row += "}}"
			if p.next == "FAILED" {
				row += fmt.Sprintf(`,"endTime":%q,"error":{"code":9,"message":"The DAG task failed: custom job %s failed"}`, at(start+9*time.Minute), jobs[0])
			}
		default:
			row += fmt.Sprintf(`,"state":%q`, p.others)
		}
		rows = append(rows, row+"}")
	}
	end := ""
	if p.state == "FAILED" {
		end = fmt.Sprintf(`,"endTime":%q,"error":{"code":9,"message":"The DAG failed because some tasks failed. The failed tasks are: [task-08]."}`, at(83*time.Minute))
	}
	return fmt.Sprintf(`{"name":"projects/proj/locations/us-central1/pipelineJobs/nightly-7","displayName":"nightly","state":"PIPELINE_STATE_%s","createTime":%q,"startTime":%q%s,
"jobDetail":{"taskDetails":[{"taskId":"100","taskName":"nightly-7","state":"RUNNING"},%s]}}`, p.state, at(0), at(0), end, strings.Join(rows, ","))
}

// A pipeline of twenty tasks of which the eighth fails after a retry, so that
// twelve never start, watched to its end: what is said, who failed first, and how
// often the services are asked.
func TestAScriptedPipeline(t *testing.T) {
	s := vertextest.Start(t)
	t.Setenv(cloud.EndpointEnv, s.Addr)
	t.Setenv("CLOUDSDK_CONFIG", t.TempDir())
	begun := time.Now().Add(-83 * time.Minute)
	stage := func(p scripted, lines ...string) func(*vertextest.Server) {
		p.begun = begun
		return func(s *vertextest.Server) {
			if err := errors.Join(s.Put(p.json()), s.Write(strings.Join(lines, ""))); err != nil {
				t.Error(err)
			}
		}
	}
	n := 0
	line := func(job, text string) string {
		n++
		return vertextest.Line(job, "workerpool0-0", begun.Add(80*time.Minute+time.Duration(n)*time.Second), text)
	}
	retry := fmt.Sprintf(`{"insertId":"e1","timestamp":%q,"severity":"ERROR","resource":{"type":"aiplatform.googleapis.com/PipelineJob","labels":{"pipeline_job_id":"nightly-7"}},"jsonPayload":{"pipelineName":"nightly","taskName":"task-08","state":"RUNNING","error":{"message":"Internal error occurred for the current attempt."}}}`+"\n", begun.Add(80*time.Minute+3500*time.Millisecond).UTC().Format(time.RFC3339Nano))
	failed := `{"name":"projects/9/locations/us-central1/customJobs/%s","displayName":"task-08","state":"JOB_STATE_FAILED","createTime":"2026-01-02T03:04:05Z","error":{"code":3,"message":"The replica workerpool0-0 exited with a non-zero status of 1."}}`
	s.Stages(
		stage(scripted{state: "RUNNING", done: 5, next: "RUNNING", jobs: "105", others: "PENDING"}, line("105", "preparing features")),
		func(*vertextest.Server) {}, // a quiet look
		stage(scripted{state: "RUNNING", done: 7, next: "RUNNING", jobs: "107", others: "PENDING"}, line("107", "Step 1/500 | loss=2.31 | lr=3e-4"), line("107", "Step 2/500 | loss=2.30 | lr=3e-4")),
		stage(scripted{state: "RUNNING", done: 7, next: "RUNNING", jobs: "207 107", others: "PENDING"}, retry, line("207", "Step 1/500 | loss=2.31 | lr=3e-4"), line("207", "Step 2/500 | loss=2.30 | lr=3e-4")),
		func(*vertextest.Server) {}, // a quiet look
		stage(scripted{state: "FAILED", done: 7, next: "FAILED", jobs: "207 107", others: "NOT_TRIGGERED"},
			line("207", "Traceback (most recent call last):"), line("207", `  File "train.py", line 7, in <module>`), line("207", "    loss.backward()"),
			line("207", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.00 GiB is free."),
			line("207", "Command '['python3', 'train.py']' returned non-zero exit status 1.")),
	)
	if err := s.Put(fmt.Sprintf(failed, "207"), fmt.Sprintf(failed, "107")); err != nil {
		t.Fatal(err)
	}
	w, err := newMonitor(t, sourceall.Kinds()).Open(t.Context(), monitor.Request{
		Target: "vertex-pipeline:nightly-7", Interval: time.Millisecond, MaxInterval: time.Millisecond, Options: source.Options{Project: "proj"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var out strings.Builder
	var last *report.Update
	for {
		u, err := w.Next(t.Context())
		if errors.Is(err, monitor.ErrEnded) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = u
		calls, most := s.Calls(), 10
		if len(u.Events) == 0 && u.Poll > 1 {
			most = 3
		}
		if len(calls) > most {
			t.Errorf("look %d: %d calls: %v", u.Poll, len(calls), calls)
		}
		fmt.Fprintf(&out, "look %d: %s\n%s\n", u.Poll, strings.Join(calls, " "), strings.Join(u.Lines, "\n"))
	}
	got := regexp.MustCompile(`\[\d\d:\d\d:\d\d\]`).ReplaceAllString(out.String(), "[HH:MM:SS]")
	got = regexp.MustCompile(`no new line for \d+s`).ReplaceAllString(got, "no new line for 0s")
	got = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`).ReplaceAllString(got, "TIME")
	golden(t, "testdata/vertex_pipeline.txt", got)
	if last.State != report.StateFailed || last.End.Decision != report.NoGo {
		t.Errorf("ended %s, %s", last.State, last.End.Decision)
	}
	d := w.Diagnosis()
	if d.PrimaryCause != report.OOM || *d.Pipeline.FirstFailedTask != "task-08" || *d.Pipeline.LastSucceededTask != "task-07" || d.Pipeline.Tasks["NOT_TRIGGERED"] != 12 {
		t.Errorf("%s, %+v", d.PrimaryCause, d.Pipeline)
	}
	want := []string{"curl -s ", "gcloud ai custom-jobs describe 207 ", "gcloud logging read "}
	for i, c := range last.End.NextCommands {
		if i < len(want) && !strings.HasPrefix(c, want[i]) {
			t.Errorf("next command %q", c)
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s; if it should be so, run the test with -update", diff)
	}
}

// A throttled look sees nothing or says what it did not see, and the watch goes on.
func TestAWatchSurvivesAServiceThatIsAway(t *testing.T) {
	s := vertextest.Start(t)
	t.Setenv(cloud.EndpointEnv, s.Addr)
	t.Setenv("CLOUDSDK_CONFIG", t.TempDir())
	const job = `{"name":"projects/9/locations/us-central1/customJobs/1","displayName":"fine-tune","state":"JOB_STATE_%s","createTime":"2026-01-02T03:04:05Z","startTime":"2026-01-02T03:04:05Z"}`
	if err := s.Put(fmt.Sprintf(job, "RUNNING")); err != nil {
		t.Fatal(err)
	}
	w, err := newMonitor(t, sourceall.Kinds()).Open(t.Context(), monitor.Request{
		Target: "vertex-training:1", Interval: time.Millisecond, MaxInterval: time.Millisecond, Options: source.Options{Project: "proj"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i, answer := range []error{nil, status.Error(codes.ResourceExhausted, "quota"), status.Error(codes.Unavailable, "away"), nil} {
		s.Refuse(func(string, int) error { return answer })
		u, err := w.Next(t.Context())
		if err != nil {
			t.Fatalf("look %d: %v", i+1, err)
		}
		blind := slices.ContainsFunc(u.Lines, func(l string) bool { return strings.Contains(l, "this look saw nothing") })
		if u.State != report.StateRunning || blind != (answer != nil) {
			t.Errorf("look %d: %s %q", i+1, u.State, u.Lines)
		}
	}
	if err := s.Put(fmt.Sprintf(job, "SUCCEEDED")); err != nil {
		t.Fatal(err)
	}
	if u, err := w.Next(t.Context()); err != nil || u.State != report.StateSucceeded {
		t.Errorf("%+v, %v", u, err)
	}
}
