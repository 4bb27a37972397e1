package export

import (
	"strconv"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
)

// pod reads kubectl get pod -o json (or yaml) into the same facts as describe.
func pod(r *resource) {
	st := r.n.Get("status")
	r.put("pod.name", r.n.Get("metadata", "name"))
	r.put("pod.phase", st.Get("phase"))
	r.put("pod.reason", st.Get("reason"))
	r.put("pod.message", st.Get("message"))
	r.put("pod.node", r.n.Get("spec", "nodeName"))
	for _, c := range st.Get("containerStatuses").List() {
		r.put("pod.image", c.Get("image"))
		r.put("pod.restart_count", c.Get("restartCount"))
		for _, when := range []string{"lastState", "state"} {
			end := c.Get(when, "terminated")
			r.put("pod.reason", end.Get("reason"))
			r.put("pod.exit_code", end.Get("exitCode"))
			r.put("pod.message", end.Get("message"))
			wait := c.Get(when, "waiting")
			r.put("pod.waiting_reason", wait.Get("reason"))
			r.put("pod.message", wait.Get("message"))
		}
	}
	for _, c := range r.n.Get("spec", "containers").List() {
		limit := c.Get("resources", "limits", "memory")
		r.put("pod.memory_limit", limit)
		if b, ok := bytesOf(limit.Str(), 1); ok {
			r.fact(r.t, limit.At(), "pod.memory_limit_bytes", strconv.FormatInt(b, 10))
		}
	}
	for _, c := range st.Get("conditions").List() {
		if c.Get("status").Str() == "False" && c.Get("type").Str() == "PodScheduled" {
			r.put("pod.waiting_reason", c.Get("reason"))
			r.put("pod.message", c.Get("message"))
		}
	}
	r.unwell()
}

// container reads docker inspect.
func container(r *resource) {
	r.put("container.state", r.n.Get("State", "Status"))
	r.put("container.oom_killed", r.n.Get("State", "OOMKilled"))
	r.put("container.exit_code", r.n.Get("State", "ExitCode"))
	r.put("container.error", r.n.Get("State", "Error"))
	r.put("container.image", r.n.Get("Config", "Image"))
	r.put("container.memory_limit_bytes", r.n.Get("HostConfig", "Memory"))
	r.put("shm.size_bytes", r.n.Get("HostConfig", "ShmSize"))
}

func isKubeJob(n *doc.Node) bool {
	switch n.Get("kind").Str() {
	case "Job", "PyTorchJob", "TFJob", "MPIJob", "TrainJob", "RayJob", "JobSet":
		return n.Get("status") != nil
	}
	return false
}

// kubeJob reads a Job or one of Kubeflow's: its state is the last condition
// that holds.
func kubeJob(r *resource) {
	p := &run.Pipeline{Name: r.n.Get("metadata", "name").Str(), Kind: "job"}
	for _, c := range r.n.Get("status", "conditions").List() {
		if c.Get("status").Str() == "True" {
			msg := c.Get("message")
			p.State, p.Error, p.Ref = c.Get("type").Str(), msg.Str(), r.proof(msg, c.Get("type"))
		}
	}
	for _, k := range r.n.Get("status", "replicaStatuses").Members() {
		r.put("job.replicas."+k.Key+".failed", k.Get("failed"))
		r.put("job.replicas."+k.Key+".active", k.Get("active"))
	}
	r.put("job.failed", r.n.Get("status", "failed"))
	r.Pipeline = p
}
