package export_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
)

func TestTasksOfAPipelineJob(t *testing.T) {
	const text = `{"name":"projects/1/locations/r/pipelineJobs/p","displayName":"P","state":"PIPELINE_STATE_FAILED","startTime":"2026-01-02T03:04:05Z","jobDetail":{"taskDetails":[
{"taskId":"-1","taskName":"p","state":"FAILED"},
{"taskId":"-2","parentTaskId":"-1","taskName":"load","state":"SKIPPED"},
{"taskId":"-3","parentTaskId":"-1","taskName":"for-loop-1","state":"FAILED"},
{"taskId":"4","parentTaskId":"-3","taskName":"train","state":"TASK_STATE_FAILED","error":{"code":9,"message":"exited"},
 "executorDetail":{"containerDetail":{"mainJob":"projects/1/locations/r/customJobs/12","failedMainJobs":["projects/1/locations/r/customJobs/10","projects/1/locations/r/customJobs/11"]}}},
{"taskId":"5","parentTaskId":"0","taskName":"tune","state":"RUNNING","pipelineTaskStatus":[{"state":"RUNNING","error":{"code":13,"message":"busy"}},{"state":"RUNNING"}],"executorDetail":{"customJobDetail":{"job":"projects/1/locations/r/customJobs/20","failedJobs":["x"]}}},
{"taskName":"old","state":"NOT_TRIGGERED"}]}}`
	n, err := doc.JSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f, _ := export.Resource(export.NewText("p.json", text), n)
	got := fmt.Sprintln(f.Pipeline.Name, f.Pipeline.State, f.Pipeline.Resource, f.Pipeline.Start)
	for _, task := range f.Pipeline.Tasks {
		got += fmt.Sprintln(task.Name, task.State, task.Error, task.Job, task.Earlier, task.Group)
	}
	const want = `P PIPELINE_STATE_FAILED projects/1/locations/r/pipelineJobs/p 2026-01-02 03:04:05 +0000 UTC
load SKIPPED   [] false
for-loop-1 FAILED   [] true
train FAILED exited projects/1/locations/r/customJobs/12 [projects/1/locations/r/customJobs/10 projects/1/locations/r/customJobs/11] false
tune RUNNING  projects/1/locations/r/customJobs/20 [x] false
old NOT_TRIGGERED   [] false
task.log_error tune: busy
`
	for _, v := range f.Facts {
		if v.Key == run.FactTaskError {
			got += fmt.Sprintln(v.Key, v.Value)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMachineOfACustomJob(t *testing.T) {
	for spec, want := range map[string]string{
		`{"machineType":"n1-standard-8","acceleratorType":"NVIDIA_TESLA_T4","acceleratorCount":4}`:  "n1-standard-8 + 4x T4",
		`{"machineType":"a3-highgpu-8g","acceleratorType":"NVIDIA_H100_80GB","acceleratorCount":8}`: "a3-highgpu-8g + 8x H100_80GB",
		`{"machineType":"n1-standard-4"}`:                                                  "n1-standard-4",
		`{"machineType":"n1-standard-4","acceleratorType":"ACCELERATOR_TYPE_UNSPECIFIED"}`: "n1-standard-4",
	} {
		text := `{"state":"JOB_STATE_RUNNING","jobSpec":{"workerPoolSpecs":[{"machineSpec":` + spec + `}]}}`
		n, err := doc.JSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if f, _ := export.Resource(export.NewText("j.json", text), n); f.Pipeline.Machine != want {
			t.Errorf("want %q, got %q", want, f.Pipeline.Machine)
		}
	}
}
