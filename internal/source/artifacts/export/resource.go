package export

import (
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
)

// shape is one kind of resource that services export.
type shape struct {
	name string
	is   func(*doc.Node) bool
	read func(*resource)
}

// shapes in order: the most telling first.
var shapes = []shape{
	{"vertex-pipeline", isPipelineJob, pipelineJob},
	{"vertex-job", isCustomJob, customJob},
	{"kfp-run", isKFP, kfpRun},
	{"argo-workflow", func(n *doc.Node) bool {
		return n.Get("kind").Str() == "Workflow" && n.Get("status", "phase") != nil
	}, workflow},
	{"pod", func(n *doc.Node) bool { return n.Get("kind").Str() == "Pod" && n.Get("status") != nil }, pod},
	{"kube-job", isKubeJob, kubeJob},
	{"container", func(n *doc.Node) bool { return n.Get("State", "OOMKilled") != nil }, container},
	{"sagemaker-job", func(n *doc.Node) bool {
		return n.Get("TrainingJobStatus") != nil || n.Get("ProcessingJobStatus") != nil
	}, sagemakerJob},
	{"sagemaker-pipeline", isSageMakerPipeline, sagemakerPipeline},
	{"aws-batch", isBatch, batch},
	{"azureml-job", isAzureML, azureML},
}

// resource is one resource while it is read.
type resource struct {
	*Found
	t *Text
	n *doc.Node
}

// Resource reads what services export as JSON or YAML; the name of its shape is
// empty when it is none of those. A list (kubectl get -o json, gcloud list) is
// read item by item; the first pipeline in it counts.
func Resource(t *Text, n *doc.Node) (Found, string) {
	var f Found
	found := ""
	for _, item := range itemsOf(n) {
		for _, s := range shapes {
			if !s.is(item) {
				continue
			}
			one := Found{}
			s.read(&resource{Found: &one, t: t, n: item})
			f.Facts = append(f.Facts, one.Facts...)
			if f.Pipeline == nil {
				f.Pipeline = one.Pipeline
			}
			found = s.name
			break
		}
	}
	return f, found
}

func itemsOf(n *doc.Node) []*doc.Node {
	if n.Kind == doc.List {
		return n.Items
	}
	for _, k := range []string{"items", "pipelineJobs", "customJobs"} {
		if l := n.Get(k); l != nil && l.Kind == doc.List {
			return l.Items
		}
	}
	return []*doc.Node{n}
}

// put adds the fact of a node, where the node is.
func (r *resource) put(key string, n *doc.Node) {
	if n == nil {
		return
	}
	switch n.Kind {
	case doc.List:
		var words []string
		for _, c := range n.Items {
			words = append(words, c.Text)
		}
		r.set(r.t, n.Line, key, cut(strings.Join(words, " "), 500))
	case doc.Map:
	default:
		r.set(r.t, n.Line, key, cut(n.Str(), 500))
	}
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// proof is the line that shows how something ended: its message, else its state.
func (r *resource) proof(message, state *doc.Node) run.Ref {
	if message.Str() != "" {
		return r.t.Ref(message.At())
	}
	return r.t.Ref(state.At())
}

// clock reads a time of RFC 3339, or seconds or milliseconds since the epoch, as
// the AWS CLI prints them; the epoch itself stands for "not yet".
func clock(n *doc.Node) time.Time {
	if v, err := strconv.ParseFloat(n.Str(), 64); err == nil && v > 0 && v < 1e14 {
		if v < 1e11 {
			v *= 1000
		}
		return time.UnixMilli(int64(v)).UTC()
	}
	t, err := time.Parse(time.RFC3339Nano, n.Str())
	if err != nil || t.Unix() == 0 {
		return time.Time{}
	}
	return t.UTC()
}

// errorText is the text of an error: a string, or {code, message}.
func errorText(n *doc.Node) *doc.Node {
	if n == nil || n.Kind != doc.Map {
		return n
	}
	return n.First("message", "errorMessage")
}
