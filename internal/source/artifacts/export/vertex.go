package export

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
)

func isPipelineJob(n *doc.Node) bool {
	return n.Get("jobDetail") != nil || strings.HasPrefix(n.Get("state").Str(), "PIPELINE_STATE_") ||
		strings.Contains(n.Get("name").Str(), "/pipelineJobs/") || (n.Get("pipelineSpec") != nil && n.Get("state") != nil)
}

// pipelineJob reads a Vertex PipelineJob, or a TrainingPipeline, which has the
// same states but no tasks.
func pipelineJob(r *resource) {
	p := r.vertex("pipeline")
	rows := r.n.Get("jobDetail", "taskDetails").List()
	parents := map[string]bool{}
	for _, td := range rows {
		parents[parentOf(td)] = true
	}
	for _, td := range rows {
		t := r.vertexTask(td)
		id := td.Get("taskId").Str()
		t.Group = id != "" && parents[id]
		if t.Group && parentOf(td) == "" {
			continue // the pipeline itself, as its own first task
		}
		p.Tasks = append(p.Tasks, t)
		r.retried(t, td.Get("pipelineTaskStatus").List())
	}
	r.put("vertex.service_account", r.n.Get("serviceAccount"))
	r.put("vertex.failure_policy", r.n.Get("runtimeConfig", "failurePolicy"))
	for _, e := range r.n.Get("pipelineSpec", "deploymentSpec", "executors").Members() {
		r.put("vertex.executor."+e.Key+".image", e.Get("container", "image"))
		res := e.Get("container", "resources")
		r.put("vertex.executor."+e.Key+".memory_limit", res.First("memoryLimit", "resourceMemoryLimit"))
		r.put("vertex.executor."+e.Key+".accelerator", res.Get("accelerator", "type"))
	}
	r.Pipeline = p
}

// retried tells the last error of a task that is still at it: the service tries
// again.
func (r *resource) retried(t run.Task, history []*doc.Node) {
	if t.State != "RUNNING" && t.State != "PENDING" {
		return
	}
	for _, h := range slices.Backward(history) {
		if msg := errorText(h.Get("error")); msg.Str() != "" {
			r.set(r.t, msg.At(), run.FactTaskError, t.Name+": "+cut(msg.Str(), 500))
			return
		}
	}
}

// parentOf is the id of the task that holds a task, "" for one at the top.
func parentOf(n *doc.Node) string {
	if id := n.Get("parentTaskId").Str(); id != "0" {
		return id
	}
	return ""
}

// vertex reads what all Vertex jobs have in common.
func (r *resource) vertex(kind string) *run.Pipeline {
	n := r.n
	state, msg := n.Get("state"), errorText(n.Get("error"))
	name := n.First("displayName", "name").Str()
	r.put("vertex.state", state)
	r.put("vertex.job", n.Get("name"))
	r.put("vertex.error.code", n.Get("error", "code"))
	r.put("vertex.error.message", msg)
	r.put("vertex.create_time", n.Get("createTime"))
	r.put("vertex.start_time", n.Get("startTime"))
	r.put("vertex.end_time", n.Get("endTime"))
	return &run.Pipeline{
		Name: name, State: state.Str(), Kind: kind, Error: msg.Str(), Ref: r.proof(msg, state), Resource: n.Get("name").Str(),
		Start: clock(n.First("startTime", "createTime")), End: clock(n.Get("endTime")),
	}
}

// vertexTask reads a task. The prefix TASK_STATE_ is written in places, though
// the API has none.
func (r *resource) vertexTask(n *doc.Node) run.Task {
	state, msg := n.Get("state"), errorText(n.Get("error"))
	how := n.Get("executorDetail")
	job := how.Get("containerDetail", "mainJob").Str()
	earlier := how.Get("containerDetail", "failedMainJobs").List()
	if job == "" {
		job = how.Get("customJobDetail", "job").Str()
		earlier = how.Get("customJobDetail", "failedJobs").List()
	}
	t := run.Task{
		Name: n.First("taskName", "taskId").Str(), State: strings.TrimPrefix(state.Str(), "TASK_STATE_"), Error: msg.Str(), Job: job,
		Start: clock(n.First("startTime", "createTime")), End: clock(n.Get("endTime")), Ref: r.proof(msg, state),
	}
	for _, e := range earlier {
		t.Earlier = append(t.Earlier, e.Str())
	}
	return t
}

func isCustomJob(n *doc.Node) bool {
	return n.Get("jobSpec") != nil || n.Get("workerPoolSpecs") != nil || strings.HasPrefix(n.Get("state").Str(), "JOB_STATE_") ||
		n.Get("trainingTaskDefinition") != nil
}

// customJob reads a CustomJob (or a hyperparameter tuning job): its state, and
// what each worker pool runs.
func customJob(r *resource) {
	r.Pipeline = r.vertex("custom-job")
	spec := r.n.Get("jobSpec")
	if spec == nil {
		spec = r.n.Get("trialJobSpec")
	}
	if spec == nil {
		spec = r.n
	}
	for i, pool := range spec.Get("workerPoolSpecs").List() {
		key := fmt.Sprintf("vertex.pool.%d.", i)
		r.put(key+"machine_type", pool.Get("machineSpec", "machineType"))
		r.put(key+"accelerator", pool.Get("machineSpec", "acceleratorType"))
		r.put(key+"accelerator_count", pool.Get("machineSpec", "acceleratorCount"))
		r.put(key+"replicas", pool.Get("replicaCount"))
		c := pool.First("containerSpec", "pythonPackageSpec")
		r.put(key+"image", c.First("imageUri", "executorImageUri"))
		r.put(key+"command", c.First("command", "pythonModule"))
		r.put(key+"args", c.Get("args"))
		if i == 0 {
			r.Pipeline.Machine = machine(pool.Get("machineSpec"))
		}
	}
	r.put("vertex.timeout", spec.Get("scheduling", "timeout"))
	r.put("vertex.strategy", spec.Get("scheduling", "strategy"))
	r.put("vertex.max_wait", spec.Get("scheduling", "maxWaitDuration"))
	if sa := spec.Get("serviceAccount"); sa != nil {
		r.put("vertex.service_account", sa)
	} else if spec != r.n {
		// The job then runs as Vertex's own agent: that there is none is a fact.
		r.fact(r.t, spec.Line, "vertex.service_account", "none")
	}
}

// machine is what a worker runs on, in a few words: "n1-standard-8 + 4x T4".
func machine(n *doc.Node) string {
	s := n.Get("machineType").Str()
	if s != "" {
		s = run.Name(s)
	}
	gpu := n.Get("acceleratorType").Str()
	if gpu == "" || strings.HasSuffix(gpu, "UNSPECIFIED") {
		return s
	}
	gpu = strings.TrimPrefix(strings.TrimPrefix(gpu, "NVIDIA_"), "TESLA_")
	return fmt.Sprintf("%s + %sx %s", s, run.Name(cmp.Or(n.Get("acceleratorCount").Str(), "1")), run.Name(gpu))
}

// Tasks makes a pipeline of the task events in Cloud Logging entries, for when
// the pipeline itself was not exported: the last state of each task counts.
func Tasks(t *Text, rows []*doc.Node) *run.Pipeline {
	p := &run.Pipeline{Kind: "pipeline"}
	at := map[string]int{}
	for _, row := range rows {
		j := row.Get("jsonPayload")
		name, state := j.Get("taskName"), j.Get("state")
		if j.Get("pipelineName") == nil || state == nil {
			continue
		}
		p.Name = j.Get("pipelineName").Str()
		if name.Str() == "" {
			p.State, p.Ref = state.Str(), t.Ref(state.At())
			continue
		}
		i, ok := at[name.Str()]
		if !ok {
			i = len(p.Tasks)
			at[name.Str()] = i
			p.Tasks = append(p.Tasks, run.Task{Name: name.Str(), Start: clock(row.Get("timestamp"))})
		}
		msg := errorText(j.Get("error"))
		p.Tasks[i].State, p.Tasks[i].Error, p.Tasks[i].End = state.Str(), msg.Str(), clock(row.Get("timestamp"))
		p.Tasks[i].Ref = t.Ref(state.At())
	}
	if len(p.Tasks) == 0 {
		return nil
	}
	return p
}
