package export

import (
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
)

func isAzureML(n *doc.Node) bool {
	if n.Get("status") == nil && n.Get("properties", "status") == nil {
		return false
	}
	return strings.Contains(n.Get("id").Str(), "Microsoft.MachineLearningServices") ||
		n.Get("runId") != nil && (n.Get("startTimeUtc") != nil || n.Get("experimentId") != nil || n.Get("error", "error") != nil)
}

// azureML reads az ml job show, the REST resource that it comes from, and the
// details of a run as the Python SDK prints them.
func azureML(r *resource) {
	n := r.n
	in := n
	if n.Get("status") == nil {
		in = n.Get("properties")
	}
	state := in.Get("status")
	fault := in.Get("error")
	if inner := fault.Get("error"); inner != nil {
		fault = inner
	}
	msg := errorText(fault)
	r.Pipeline = &run.Pipeline{
		Name: firstText(in.First("display_name", "displayName"), n.First("name", "runId")), State: state.Str(), Kind: "job",
		Error: msg.Str(), Ref: r.proof(msg, state),
	}
	r.put("azureml.state", state)
	r.put("azureml.name", n.First("name", "runId"))
	r.put("azureml.error.code", fault.Get("code"))
	r.put("azureml.error.message", msg)
	r.put("azureml.compute", in.First("compute", "computeId", "target"))
	r.put("azureml.command", in.Get("command"))
	r.put("azureml.environment", in.First("environment", "environmentId"))
	r.put("azureml.instance_type", in.Get("resources", "instance_type"))
	r.put("azureml.instance_count", in.First("resources").First("instance_count", "instanceCount"))
	r.put("azureml.timeout", in.Get("limits", "timeout"))
	for _, w := range in.Get("warnings").List() {
		r.put("azureml.warning", errorText(w))
	}
	for _, c := range in.First("child_jobs", "children").List() {
		state, msg := c.Get("status"), errorText(c.Get("error"))
		r.Pipeline.Kind = "pipeline"
		r.Pipeline.Tasks = append(r.Pipeline.Tasks, run.Task{
			Name: firstText(c.First("display_name", "displayName"), c.First("name", "runId")), State: state.Str(), Error: msg.Str(),
			Start: clock(c.Get("startTimeUtc")), End: clock(c.Get("endTimeUtc")), Ref: r.proof(msg, state),
		})
	}
}

func firstText(nodes ...*doc.Node) string {
	for _, n := range nodes {
		if n.Str() != "" {
			return n.Str()
		}
	}
	return ""
}
