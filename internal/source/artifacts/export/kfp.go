package export

import (
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
)

func isKFP(n *doc.Node) bool {
	return n.Get("run_details") != nil || n.Get("pipeline_runtime") != nil ||
		(n.Get("run_id") != nil && n.Get("state") != nil) || n.Get("run", "status") != nil && n.Get("run", "id") != nil
}

// kfpRun reads a run of Kubeflow Pipelines, version 2 (state, run_details) or 1
// (run.status, and an Argo workflow as a string).
func kfpRun(r *resource) {
	n := r.n
	if old := n.Get("run"); old != nil && n.Get("run_details") == nil {
		n = old
	}
	state, msg := n.First("state", "status"), errorText(n.Get("error"))
	p := &run.Pipeline{
		Name: n.First("display_name", "name", "run_id").Str(), State: state.Str(), Kind: "pipeline",
		Error: msg.Str(), Ref: r.proof(msg, state),
	}
	r.put("kfp.state", state)
	r.put("kfp.run_id", n.First("run_id", "id"))
	r.put("kfp.created_at", n.Get("created_at"))
	r.put("kfp.finished_at", n.Get("finished_at"))
	r.put("kfp.service_account", n.Get("service_account"))
	for _, td := range n.Get("run_details", "task_details").List() {
		state, msg := td.Get("state"), errorText(td.Get("error"))
		p.Tasks = append(p.Tasks, run.Task{
			Name: td.First("display_name", "task_id").Str(), State: state.Str(), Error: msg.Str(),
			Job: td.First("pod_name").Str(), Start: clock(td.First("start_time", "create_time")), End: clock(td.Get("end_time")),
			Ref: r.proof(msg, state),
		})
	}
	if m := r.n.Get("pipeline_runtime", "workflow_manifest"); m.Str() != "" {
		if w, err := doc.JSON([]byte(m.Str())); err == nil {
			p.Tasks = append(p.Tasks, r.nodes(w, m.Line)...)
		}
	}
	r.Pipeline = p
}

// workflow reads an Argo workflow with its status.
func workflow(r *resource) {
	state, msg := r.n.Get("status", "phase"), r.n.Get("status", "message")
	r.Pipeline = &run.Pipeline{
		Name: r.n.Get("metadata").First("name", "generateName").Str(), State: state.Str(), Kind: "pipeline",
		Error: msg.Str(), Ref: r.proof(msg, state), Tasks: r.nodes(r.n, 0),
	}
	r.put("argo.phase", state)
	r.put("argo.message", msg)
}

// nodes are the pods of an Argo workflow. A manifest that is a string in another
// file has only the line of that string.
func (r *resource) nodes(w *doc.Node, line int) (tasks []run.Task) {
	for _, n := range w.Get("status", "nodes").Members() {
		if t := n.Get("type").Str(); t != "Pod" && n.Get("message").Str() == "" {
			continue
		}
		state, msg := n.Get("phase"), n.Get("message")
		task := run.Task{
			Name: n.First("displayName", "name").Str(), State: state.Str(), Error: msg.Str(),
			Start: clock(n.Get("startedAt")), End: clock(n.Get("finishedAt")), Job: n.Get("id").Str(),
			Ref: r.proof(msg, state),
		}
		if line > 0 {
			task.Ref = r.t.Ref(line)
		}
		tasks = append(tasks, task)
	}
	return tasks
}
