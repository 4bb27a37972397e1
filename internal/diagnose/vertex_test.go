package diagnose_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/vertex/cloud"
	"github.com/trainmedic/trainmedic/internal/source/vertex/vertextest"
)

// Every case of Vertex AI and Kubeflow Pipelines is judged alike whether its
// files are read or the services are asked. Where a case has no resource, its log
// is that of the one task of a pipeline.
func TestCasesThroughTheService(t *testing.T) {
	doctor := newDoctor(t)
	wants, err := filepath.Glob("testdata/cases/*/want.json")
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := filepath.Glob("testdata/fresh/*/*/want.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(wants, fresh...) {
		dir := filepath.Dir(file)
		if !ofVertex(t, file) {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			s := vertextest.Start(t)
			t.Setenv(cloud.EndpointEnv, s.Addr)
			_, saved := judge(t, doctor, dir)
			t.Setenv("CLOUDSDK_CONFIG", t.TempDir())
			target := serve(t, s, dir)
			res, err := doctor.Diagnose(t.Context(), diagnose.Request{Target: target, Options: source.Options{Project: project(target)}})
			if err != nil {
				t.Fatal(err)
			}
			before, after := verdictOf(saved), verdictOf(res.Diagnosis)
			if strings.HasSuffix(target, invented) { // the files say nothing of tasks and of the state
				before.Failed, before.First, before.Status = after.Failed, after.First, after.Status
				if strings.HasPrefix(after.Root, strings.TrimSuffix(before.Root, ".")) {
					before.Root = after.Root // nor of the region
				}
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("files -, service +:\n%s", diff)
			}
			if n := len(s.Calls()); n > 8 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// project is what a user without a full name has to say.
func project(target string) string {
	if strings.HasSuffix(target, invented) {
		return "proj"
	}
	return ""
}

// verdict is what has to be the same; where the lines stand has not.
type verdict struct {
	Class, Root string
	Status      report.RunStatus
	Fixes       []string
	Decision    report.Decision
	Failed      []string
	First       string
}

func verdictOf(d *report.Diagnosis) verdict {
	v := verdict{Class: string(d.PrimaryCause), Root: d.RootCause, Status: d.RunStatus, Decision: d.Decision}
	for _, f := range d.Fixes {
		v.Fixes = append(v.Fixes, f.Action)
	}
	if p := d.Pipeline; p != nil {
		v.Failed = p.FailedTasks
		if p.FirstFailedTask != nil {
			v.First = *p.FirstFailedTask
		}
	}
	return v
}

func ofVertex(t *testing.T, file string) bool {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var w struct{ Framework string }
	if err := json.Unmarshal(b, &w); err != nil {
		t.Fatal(err)
	}
	f := strings.NewReplacer(" ", "-").Replace(strings.ToLower(w.Framework))
	pipelines := strings.Contains(f, "vertex") || strings.Contains(f, "kfp") || strings.Contains(f, "kubeflow-pipelines")
	return pipelines && !strings.Contains(f, "argo") // whose own workflow says why; Vertex has none
}

var (
	resourceName = regexp.MustCompile(`"name": "(projects/[^"]*/(pipelineJobs|customJobs)/([^"/]+))"`)
	loggedJob    = regexp.MustCompile(`"job_id": ?"(\d+)"`)
)

// serve gives a case's files to the server and returns the target.
func serve(t *testing.T, s *vertextest.Server, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	target, job := "", "1234567890"
	var logs []string
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		m := resourceName.FindStringSubmatch(text)
		switch {
		case f.Name() == "want.json":
		case path.Ext(f.Name()) == ".json" && m != nil && strings.Contains(text, `"state"`):
			if err := s.Put(text); err != nil {
				t.Fatal(err)
			}
			if m[2] == "customJobs" {
				job = m[3]
			}
			if target == "" || m[2] == "pipelineJobs" {
				target = map[string]string{"pipelineJobs": "vertex-pipeline:", "customJobs": "vertex-training:"}[m[2]] + m[1]
			}
		case path.Ext(f.Name()) == ".jsonl":
			if j := loggedJob.FindStringSubmatch(text); j != nil && target == "" {
				job = j[1]
			}
			if err := s.Write(text); err != nil {
				t.Fatal(err)
			}
		default:
			logs = append(logs, text)
		}
	}
	if target == "" {
		target = invent(t, s, dir, job)
	}
	slices.SortFunc(logs, func(a, b string) int { return len(a) - len(b) })
	at := begun
	for _, text := range logs {
		for l := range strings.Lines(text) {
			at = at.Add(time.Millisecond)
			if err := s.Write(vertextest.Line(job, "workerpool0-0", at, l)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return target
}

var begun = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

const invented = "the-case"

// invent makes the pipeline that a case without a resource may have been.
func invent(t *testing.T, s *vertextest.Server, dir, job string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "want.json"))
	if err != nil {
		t.Fatal(err)
	}
	var w want
	if err := json.Unmarshal(b, &w); err != nil {
		t.Fatal(err)
	}
	state, task := "FAILED", "train"
	if w.Primary == report.None {
		state = "SUCCEEDED"
	} else if w.Status == report.Hung {
		state = "RUNNING"
	}
	if len(w.Tasks) > 0 {
		task = w.Tasks[0]
	}
	const at = "2021-01-04T05:06:07Z"
	err = s.Put(fmt.Sprintf(`{"name":"projects/proj/locations/us-central1/pipelineJobs/the-case","displayName":"the case","createTime":%q,"state":"PIPELINE_STATE_%s",
"jobDetail":{"taskDetails":[{"taskId":"1","taskName":%q,"createTime":%q,"startTime":%q,"state":%q,"executorDetail":{"containerDetail":{"mainJob":"projects/1/locations/us-central1/customJobs/%s"}}}]}}`,
		at, state, task, at, at, state, job),
		fmt.Sprintf(`{"name":"projects/1/locations/us-central1/customJobs/%s","displayName":"a task","createTime":%q,"state":"JOB_STATE_%s","jobSpec":{"serviceAccount":"runner@proj.iam.gserviceaccount.com"}}`, job, at, state))
	if err != nil {
		t.Fatal(err)
	}
	return "vertex-pipeline:" + invented
}
