// Package export reads what people save beside a log: the output of df, free,
// ps, nvidia-smi, ls, sacct, squeue, scontrol and kubectl, and the JSON or YAML
// of Vertex, Kubeflow, Argo, SageMaker and Kubernetes resources. Each reader
// turns text into facts that know their line; what it does not understand it
// leaves out.
package export

import (
	"strings"

	"github.com/trainmedic/trainmedic/internal/checkpoint"
	"github.com/trainmedic/trainmedic/internal/run"
)

// Text is one file, whole and decoded.
type Text struct {
	Name  string
	Lines []string
	at    []int64
}

// NewText splits data at \n; a \r before it is taken off.
func NewText(name, data string) *Text {
	t := &Text{Name: name}
	at := int64(0)
	for l := range strings.SplitSeq(data, "\n") {
		t.at = append(t.at, at)
		at += int64(len(l)) + 1
		t.Lines = append(t.Lines, strings.TrimSuffix(l, "\r"))
	}
	return t
}

// Ref points at a line, counted from 1.
func (t *Text) Ref(line int) run.Ref {
	if line < 1 || line > len(t.at) {
		return run.Ref{File: t.Name}
	}
	return run.Ref{File: t.Name, Line: line, Offset: t.at[line-1]}
}

// Found is what an export tells.
type Found struct {
	Facts     []run.Fact
	Pipeline  *run.Pipeline
	Processes []run.Process
	Files     []checkpoint.File // of a listing
}

// maxFound is how many things of a kind one export may tell.
const maxFound = 20_000

func (f *Found) fact(t *Text, line int, key, value string) {
	if len(f.Facts) >= maxFound {
		return
	}
	f.Facts = append(f.Facts, run.Fact{Key: key, Value: value, From: t.Ref(line)})
}

// set adds a fact unless its value is empty.
func (f *Found) set(t *Text, line int, key, value string) {
	if value != "" {
		f.fact(t, line, key, value)
	}
}

// reader reads one kind of command output.
type reader struct {
	kind string
	read func(*Text) Found
}

// readers by the kinds that Sniff gives; a kind may have several.
var readers = []reader{
	{"df", df},
	{"free", free},
	{"ps", ps},
	{"nvidia-smi", gpuTable},
	{"nvidia-smi", gpuCSV},
	{"slurm", sacct},
	{"slurm", squeue},
	{"slurm", scontrol},
	{"slurm", seff},
	{"pod", describePod},
	{"pod", podTable},
	{"listing", listing},
	{"listing", sums},
	{"other", ulimit},
	{"other", histogram},
	{"other", packages},
	{"other", cgroup},
}

// Command reads the output of a command, by the kind that Sniff gave it.
func Command(kind string, t *Text) Found {
	var all Found
	for _, r := range readers {
		if r.kind != kind {
			continue
		}
		f := r.read(t)
		all.Facts = append(all.Facts, f.Facts...)
		all.Processes = append(all.Processes, f.Processes...)
		all.Files = append(all.Files, f.Files...)
		if all.Pipeline == nil {
			all.Pipeline = f.Pipeline
		}
	}
	return all
}
