package vertex_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/all"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
	"github.com/trainmedic/trainmedic/internal/source/vertex"
	"github.com/trainmedic/trainmedic/internal/source/vertex/cloud"
	"github.com/trainmedic/trainmedic/internal/source/vertex/vertextest"
)

var begun = time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)

// serve starts a server that the program asks, without any setting of the user
// who runs the test.
func serve(t *testing.T, resources ...string) *vertextest.Server {
	t.Helper()
	s := vertextest.Start(t)
	t.Setenv(cloud.EndpointEnv, s.Addr)
	clean(t)
	if err := s.Put(resources...); err != nil {
		t.Fatal(err)
	}
	return s
}

func clean(t *testing.T) {
	t.Setenv("CLOUDSDK_CONFIG", t.TempDir())
	for _, k := range []string{"CLOUDSDK_CORE_PROJECT", "CLOUDSDK_AI_REGION", "GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_ACTIVE_CONFIG_NAME"} {
		t.Setenv(k, "")
	}
}

func write(t *testing.T, s *vertextest.Server, lines ...string) {
	t.Helper()
	if err := s.Write(strings.Join(lines, "")); err != nil {
		t.Fatal(err)
	}
}

// customJob is the JSON of a custom job.
func customJob(id, display, state string) string {
	return fmt.Sprintf(`{"name":"projects/9/locations/us-central1/customJobs/%s","displayName":%q,"state":"JOB_STATE_%s","createTime":%q,"startTime":%q,
"jobSpec":{"workerPoolSpecs":[{"machineSpec":{"machineType":"n1-standard-8","acceleratorType":"NVIDIA_TESLA_T4","acceleratorCount":4},"replicaCount":"1"}],"scheduling":{"timeout":"7200s"}}}`,
		id, display, state, begun.Format(time.RFC3339), begun.Format(time.RFC3339))
}

// pipeline is the JSON of a pipeline with tasks "name state job earlier…".
func pipeline(id, state string, tasks ...string) string {
	var rows []string
	for i, t := range tasks {
		f := strings.Fields(t)
		row := fmt.Sprintf(`{"taskId":"%d","parentTaskId":"99","taskName":%q,"state":%q,"startTime":%q`, i+1, f[0], f[1], begun.Add(time.Duration(i)*time.Minute).Format(time.RFC3339))
		if len(f) > 2 {
			earlier := ""
			for _, e := range f[3:] {
				earlier += fmt.Sprintf(`,"projects/9/locations/us-central1/customJobs/%s"`, e)
			}
			row += fmt.Sprintf(`,"executorDetail":{"containerDetail":{"mainJob":"projects/9/locations/us-central1/customJobs/%s","failedMainJobs":[%s]}}`, f[2], strings.TrimPrefix(earlier, ","))
		}
		if f[1] == "FAILED" {
			row += fmt.Sprintf(`,"endTime":%q,"error":{"code":9,"message":"the job failed"}`, begun.Add(time.Hour).Format(time.RFC3339))
		}
		rows = append(rows, row+"}")
	}
	return fmt.Sprintf(`{"name":"projects/9/locations/us-central1/pipelineJobs/%s","displayName":"nightly","state":"PIPELINE_STATE_%s","createTime":%q,"startTime":%q,"jobDetail":{"taskDetails":[{"taskId":"99","taskName":%q,"state":"RUNNING"},%s]}}`,
		id, state, begun.Format(time.RFC3339), begun.Format(time.RFC3339), id, strings.Join(rows, ","))
}

func open(t *testing.T, kind *source.Kind, ref string, opt source.Options) source.Source {
	t.Helper()
	if opt.Project == "" && !strings.Contains(ref, "/") {
		opt.Project = "proj"
	}
	s, err := kind.Open(t.Context(), ref, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func observe(t *testing.T, s source.Source, since run.Cursor) run.Observation {
	t.Helper()
	o, err := s.Observe(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// logs are the lines of an observation's logs, without their times.
func logs(t *testing.T, o run.Observation) string {
	t.Helper()
	out := ""
	for _, s := range o.Streams {
		if s.Kind != "log" {
			continue
		}
		for l := range strings.Lines(sourcetest.Text(t, s)) {
			_, text, _ := strings.Cut(l, "Z ")
			out += s.Name + ": " + text
		}
	}
	return out
}

func TestConformance(t *testing.T) {
	s := serve(t, customJob("456", "fine-tune", "RUNNING"), pipeline("nightly-1", "FAILED", "load SUCCEEDED 1", "fit FAILED 3 2", "eval NOT_TRIGGERED"))
	if err := s.Put(customJob("3", "fit", "FAILED"), customJob("2", "fit", "FAILED")); err != nil {
		t.Fatal(err)
	}
	write(t, s, vertextest.Line("456", "workerpool0-0", begun, "step 1 loss 2"), vertextest.Line("3", "workerpool0-0", begun, "ValueError: x"))
	t.Run("custom job", func(t *testing.T) {
		sourcetest.Run(t, func(t *testing.T) source.Source {
			return open(t, vertex.Training(nil), "456", source.Options{Watch: true})
		})
	})
	t.Run("pipeline", func(t *testing.T) {
		sourcetest.Run(t, func(t *testing.T) source.Source {
			return open(t, vertex.Pipeline(nil), "nightly-1", source.Options{Watch: true})
		})
	})
}

func TestWhatOneLookAtAFailedPipelineSees(t *testing.T) {
	s := serve(t, pipeline("nightly-1", "FAILED", "load SUCCEEDED 1", "fit FAILED 3 2", "eval NOT_TRIGGERED"), customJob("3", "fit", "FAILED"), customJob("2", "fit", "FAILED"))
	write(t, s,
		vertextest.Line("1", "workerpool0-0", begun, "loaded"),
		vertextest.Line("2", "workerpool0-0", begun.Add(time.Minute), "the first attempt"),
		vertextest.Line("3", "workerpool1-0", begun.Add(2*time.Minute), "two\nlines"),
		vertextest.Line("3", "workerpool0-0", begun.Add(time.Minute), "earlier"),
		`{"insertId":"e","timestamp":"2026-03-04T05:03:00Z","severity":"ERROR","resource":{"type":"aiplatform.googleapis.com/PipelineJob","labels":{"pipeline_job_id":"nightly-1"}},"jsonPayload":{"pipelineName":"nightly","taskName":"fit","state":"FAILED","error":{"message":"busy"}}}`+"\n",
	)
	o := observe(t, open(t, vertex.Pipeline(nil), "projects/9/locations/us-central1/pipelineJobs/nightly-1", source.Options{}), nil)
	var names []string
	for _, st := range o.Streams {
		names = append(names, st.Name)
	}
	if diff := cmp.Diff("pipeline_job.json fit-attempt-2/custom_job.json fit/custom_job.json fit-attempt-2/workerpool0-0.log fit-attempt-2/workerpool1-0.log fit/workerpool0-0.log pipeline_events.jsonl", strings.Join(names, " ")); diff != "" {
		t.Error(diff)
	}
	if got := logs(t, o); !strings.Contains(got, "fit-attempt-2/workerpool1-0.log: two\nfit-attempt-2/workerpool1-0.log: lines\n") || strings.Contains(got, "loaded") {
		t.Errorf("got %s", got)
	}
	if i := slices.IndexFunc(o.Facts, func(f run.Fact) bool { return f.Key == run.FactTaskError }); i < 0 || o.Facts[i].Value != "fit: busy" || o.Facts[i].From.Line != 1 {
		t.Errorf("facts %+v", o.Facts)
	}
	if diff := cmp.Diff("GetPipelineJob GetCustomJob GetCustomJob ListLogEntries", strings.Join(s.Calls(), " ")); diff != "" {
		t.Error(diff)
	}
	if p := o.Pipeline; len(p.Tasks) != 3 || p.Failed()[0].Name != "fit" {
		t.Errorf("pipeline %+v", p)
	}
}

func TestNamesOfAJob(t *testing.T) {
	older := strings.Replace(customJob("1", "fine tune", "FAILED"), "05:00", "04:00", 1)
	s := serve(t, older, customJob("2", "fine tune", "RUNNING"), customJob("77", "123", "RUNNING"), pipeline("run-1", "RUNNING", "a RUNNING"))
	for _, c := range []struct {
		kind            *source.Kind
		ref, job, calls string
		gap             string
	}{
		{vertex.Training(nil), "1", "customJobs/1", "GetCustomJob ListLogEntries", ""},
		{vertex.Training(nil), "fine tune", "customJobs/2", "ListCustomJobs GetCustomJob ListLogEntries", "2 jobs have this display name; the newest was taken"},
		{vertex.Training(nil), "123", "customJobs/77", "GetCustomJob ListCustomJobs GetCustomJob ListLogEntries", ""},
		{vertex.Pipeline(nil), "nightly", "pipelineJobs/run-1", "GetPipelineJob ListPipelineJobs GetPipelineJob ListLogEntries", ""},
		{vertex.Pipeline(nil), "https://console.cloud.google.com/vertex-ai/pipelines/locations/us-central1/runs/run-1?project=proj", "pipelineJobs/run-1", "GetPipelineJob ListLogEntries", ""},
	} {
		t.Run(c.ref, func(t *testing.T) {
			s.Calls()
			o := observe(t, open(t, c.kind, c.ref, source.Options{}), nil)
			if o.Pipeline == nil || !strings.HasSuffix(o.Pipeline.Resource, c.job) {
				t.Errorf("got %+v", o.Pipeline)
			}
			if diff := cmp.Diff(c.calls, strings.Join(s.Calls(), " ")); diff != "" {
				t.Error(diff)
			}
			if c.gap != "" && (len(o.Gaps) != 1 || !strings.Contains(o.Gaps[0].Why, c.gap)) {
				t.Errorf("gaps %+v", o.Gaps)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	disabled, err := status.New(codes.PermissionDenied, "Vertex AI API has not been used in project 9 before or it is disabled.").WithDetails(&errdetails.ErrorInfo{Reason: "SERVICE_DISABLED"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		answer error
		kind   error
		ask    string
	}{
		{"expired", status.Error(codes.Unauthenticated, "Request had invalid authentication credentials."), source.ErrDenied, "gcloud auth application-default login"},
		{"no role", status.Error(codes.PermissionDenied, "Permission 'aiplatform.customJobs.get' denied on resource"), source.ErrDenied, "gcloud projects add-iam-policy-binding proj --member=user:$(gcloud config get-value account) --role=roles/aiplatform.viewer"},
		{"API disabled", disabled.Err(), source.ErrDenied, "gcloud services enable aiplatform.googleapis.com --project=proj"},
		{"narrow scope", status.Error(codes.PermissionDenied, "Request had insufficient authentication scopes."), source.ErrDenied, "--scopes=https://www.googleapis.com/auth/cloud-platform"},
		{"not there", status.Error(codes.NotFound, "The CustomJob does not exist."), source.ErrNotFound, "gcloud ai custom-jobs list --project=proj --region=us-central1"},
		{"throttled", status.Error(codes.ResourceExhausted, "Quota exceeded for quota metric"), source.ErrUnreachable, "try again in a minute"},
		{"away", status.Error(codes.Unavailable, "connection refused"), source.ErrUnreachable, "try again in a minute"},
		{"no such region", status.Error(codes.Unavailable, "name resolver error: produced zero addresses"), source.ErrUnreachable, "--region"},
		{"odd", status.Error(codes.DataLoss, "?"), nil, "console"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t)
			s.Refuse(func(string, int) error { return c.answer })
			_, err := open(t, vertex.Training(nil), "projects/proj/locations/us-central1/customJobs/1", source.Options{}).Observe(t.Context(), nil)
			a, ok := errors.AsType[*source.Advice](err)
			if !ok || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(a.Ask, c.ask) {
				t.Errorf("got %v, %+v", err, a)
			}
		})
	}
}

func TestABusyServiceIsAskedAgain(t *testing.T) {
	s := serve(t, customJob("1", "x", "RUNNING"))
	s.Refuse(func(_ string, n int) error {
		if n == 1 {
			return status.Error(codes.Unavailable, "try again")
		}
		return nil
	})
	observe(t, open(t, vertex.Training(nil), "1", source.Options{}), nil)
	if n := len(s.Calls()); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
}

func TestACallThatIsNotAnsweredEndsWithTheContext(t *testing.T) {
	s := serve(t, customJob("1", "x", "RUNNING"))
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	ctx, cancel := context.WithCancel(t.Context())
	s.Refuse(func(string, int) error { cancel(); <-done; return nil })
	if _, err := open(t, vertex.Training(nil), "1", source.Options{}).Observe(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWhatATargetMustSay(t *testing.T) {
	clean(t)
	for ref, opt := range map[string]source.Options{
		"": {Project: "p"}, "x": {}, "projects/p/locations/r/pipelineJobs/x": {Project: "q"},
		"projects/p/locations/r/customJobs/1": {}, "projects/p/locations/r/pipelineJobs/y": {Region: "s"},
	} {
		if _, err := vertex.Pipeline(nil).Open(t.Context(), ref, opt); !errors.Is(err, source.ErrBadTarget) {
			t.Errorf("%q %+v: got %v", ref, opt, err)
		}
	}
	t.Setenv(cloud.EndpointEnv, "192.0.2.1:80")
	if _, err := open(t, vertex.Training(nil), "1", source.Options{}).Observe(t.Context(), nil); !errors.Is(err, source.ErrBadTarget) {
		t.Errorf("an endpoint that is not this machine: %v", err)
	}
}

func TestAFailedJobWithoutALine(t *testing.T) {
	s := serve(t, customJob("1", "x", "FAILED"))
	write(t, s, vertextest.Line("1", "service", begun, "Job failed."))
	o := observe(t, open(t, vertex.Training(nil), "1", source.Options{}), nil)
	if len(o.Gaps) != 1 || !strings.Contains(o.Gaps[0].Ask, "roles/logging.logWriter") {
		t.Errorf("gaps %+v", o.Gaps)
	}
}

func TestAFolderBesideAJob(t *testing.T) {
	s := serve(t, customJob("1", "x", "RUNNING"))
	write(t, s, vertextest.Line("1", "workerpool0-0", begun, "step 1 loss 2"))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"lr": 0.1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, k := range all.Kinds() {
		if k.Scheme != "vertex-training" {
			continue
		}
		o := observe(t, open(t, k, "1", source.Options{Artifacts: dir}), nil)
		if !slices.ContainsFunc(o.Facts, func(f run.Fact) bool { return f.Key == "config.lr" }) || o.Pipeline == nil || logs(t, o) == "" {
			t.Errorf("facts %+v", o.Facts)
		}
	}
}
