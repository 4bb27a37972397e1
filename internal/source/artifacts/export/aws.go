package export

import (
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
)

// sagemakerJob reads describe-training-job and describe-processing-job.
func sagemakerJob(r *resource) {
	n := r.n
	state := n.First("TrainingJobStatus", "ProcessingJobStatus")
	msg := n.First("FailureReason", "ExitMessage")
	r.Pipeline = &run.Pipeline{
		Name: n.First("TrainingJobName", "ProcessingJobName").Str(), State: state.Str(), Kind: "job",
		Error: msg.Str(), Ref: r.proof(msg, state),
	}
	r.put("sagemaker.state", state)
	r.put("sagemaker.secondary_status", n.Get("SecondaryStatus"))
	if last := n.Get("SecondaryStatusTransitions").List(); len(last) > 0 {
		r.put("sagemaker.status_message", last[len(last)-1].Get("StatusMessage"))
	}
	r.put("sagemaker.failure_reason", msg)
	r.put("sagemaker.instance_type", n.Get("ResourceConfig", "InstanceType"))
	r.put("sagemaker.instance_count", n.Get("ResourceConfig", "InstanceCount"))
	r.put("sagemaker.volume_gb", n.Get("ResourceConfig", "VolumeSizeInGB"))
	r.put("sagemaker.role", n.Get("RoleArn"))
	r.put("sagemaker.image", n.Get("AlgorithmSpecification", "TrainingImage"))
	r.put("sagemaker.max_runtime_seconds", n.Get("StoppingCondition", "MaxRuntimeInSeconds"))
	r.put("sagemaker.start_time", n.Get("TrainingStartTime"))
	r.put("sagemaker.end_time", n.Get("TrainingEndTime"))
	r.put("sagemaker.output", n.Get("OutputDataConfig", "S3OutputPath"))
	r.put("sagemaker.checkpoints", n.Get("CheckpointConfig", "S3Uri"))
	r.put("sagemaker.model", n.Get("ModelArtifacts", "S3ModelArtifacts"))
	r.put("sagemaker.spot", n.Get("EnableManagedSpotTraining"))
	for _, p := range n.Get("HyperParameters").Members() {
		r.set(r.t, p.Line, "config."+strings.ToLower(p.Key), cut(strings.Trim(p.Str(), `"`), 500))
	}
}

func isSageMakerPipeline(n *doc.Node) bool {
	return n.Get("PipelineExecutionStatus") != nil || n.Get("PipelineExecutionSteps").List() != nil
}

// sagemakerPipeline reads describe-pipeline-execution, and
// list-pipeline-execution-steps, whose steps stand newest first.
func sagemakerPipeline(r *resource) {
	n := r.n
	state, msg := n.Get("PipelineExecutionStatus"), n.Get("FailureReason")
	name := n.Get("PipelineArn").Str()
	if name == "" {
		name, _, _ = strings.Cut(n.Get("PipelineExecutionArn").Str(), "/execution/")
	}
	p := &run.Pipeline{
		Name: name[strings.LastIndexByte(name, '/')+1:], State: state.Str(), Kind: "pipeline",
		Error: msg.Str(), Ref: r.proof(msg, state),
	}
	r.put("sagemaker.pipeline.state", state)
	r.put("sagemaker.pipeline.execution", n.First("PipelineExecutionDisplayName", "PipelineExecutionArn"))
	steps := n.Get("PipelineExecutionSteps").List()
	for _, step := range slices.Backward(steps) {
		p.Tasks = append(p.Tasks, r.sagemakerStep(step))
	}
	if p.State == "" {
		p.State, p.Ref = together(p.Tasks)
	}
	r.Pipeline = p
}

func (r *resource) sagemakerStep(n *doc.Node) run.Task {
	state, msg := n.Get("StepStatus"), n.Get("FailureReason")
	t := run.Task{
		Name: n.First("StepName", "StepDisplayName").Str(), State: state.Str(), Error: msg.Str(),
		Start: clock(n.Get("StartTime")), End: clock(n.Get("EndTime")), Ref: r.proof(msg, state),
	}
	for _, m := range n.Get("Metadata").Members() {
		if arn := m.Get("Arn"); arn != nil {
			t.Job = arn.Str()
			break
		}
	}
	r.put("sagemaker.step."+t.Name+".failure_reason", msg)
	return t
}

// together is the state of a pipeline of which only the tasks are known.
func together(tasks []run.Task) (string, run.Ref) {
	for _, want := range []string{"FAILED", "EXECUTING", "RUNNING"} {
		for _, t := range tasks {
			if strings.EqualFold(t.State, want) {
				return t.State, t.Ref
			}
		}
	}
	for _, t := range tasks {
		if !strings.EqualFold(t.State, "SUCCEEDED") {
			return "", t.Ref
		}
	}
	if len(tasks) == 0 {
		return "", run.Ref{}
	}
	return tasks[0].State, tasks[0].Ref
}

func isBatch(n *doc.Node) bool {
	jobs := n.Get("jobs").List()
	return len(jobs) > 0 && jobs[0].Get("jobQueue") != nil && jobs[0].Get("status") != nil
}

// batch reads aws batch describe-jobs; each job is a task.
func batch(r *resource) {
	p := &run.Pipeline{Kind: "job"}
	for _, n := range r.n.Get("jobs").List() {
		state, msg := n.Get("status"), n.Get("statusReason")
		if why := n.Get("container", "reason"); why.Str() != "" {
			msg = why
		}
		p.Tasks = append(p.Tasks, run.Task{
			Name: n.First("jobName", "jobId").Str(), State: state.Str(), Error: msg.Str(), Job: n.Get("jobId").Str(),
			Start: clock(n.Get("startedAt")), End: clock(n.Get("stoppedAt")), Ref: r.proof(msg, state),
		})
		r.put("batch.state", state)
		r.put("batch.status_reason", n.Get("statusReason"))
		r.put("batch.queue", n.Get("jobQueue"))
		r.put("batch.timeout_seconds", n.Get("timeout", "attemptDurationSeconds"))
		c := n.Get("container")
		r.put("container.exit_code", c.Get("exitCode"))
		r.put("container.error", c.Get("reason"))
		r.put("container.image", c.Get("image"))
		r.put("container.command", c.Get("command"))
		r.put("container.memory_limit_mib", c.Get("memory"))
		r.put("container.log_stream", c.Get("logStreamName"))
		if strings.Contains(c.Get("reason").Str(), "OutOfMemory") {
			r.fact(r.t, c.Get("reason").At(), "container.oom_killed", "true")
		}
	}
	p.State, p.Ref = together(p.Tasks)
	if len(p.Tasks) == 1 {
		t := p.Tasks[0]
		p.Name, p.State, p.Error, p.Ref, p.Tasks = t.Name, t.State, t.Error, t.Ref, nil
	}
	r.Pipeline = p
}
