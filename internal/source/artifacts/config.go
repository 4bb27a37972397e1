package artifacts

import (
	"cmp"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
)

func drop(*look, entry, string) bool { return true }

// putWeights leaves saved tensors to the checkpoint package, and shows the text
// of a git-lfs pointer in their place.
func putWeights(l *look, e entry, head string) bool {
	if strings.HasPrefix(head, "version https://git-lfs") {
		l.stream(e, "other")
	}
	return true
}

// putTracker reads the files that name the newest checkpoint.
func putTracker(l *look, e entry, head string) bool {
	key := "deepspeed.latest"
	if strings.HasSuffix(e.name, ".txt") {
		key = "megatron.latest_iteration"
	}
	if v := strings.TrimSpace(head); l.fresh(e) && v != "" && len(v) < 200 {
		l.fact(key, v, export.NewText(e.name, head).Ref(1))
	}
	return true
}

func (l *look) fact(key, value string, from run.Ref) {
	l.obs.Facts = append(l.obs.Facts, run.Fact{Key: key, Value: value, From: from})
}

// putYAML reads configurations, and resources that gcloud and kubectl print.
func putYAML(l *look, e entry, _ string) bool {
	if !l.fresh(e) {
		return true
	}
	text, ok := l.text(e, maxConfig)
	if !ok {
		return true
	}
	n, err := doc.YAML([]byte(text))
	if err != nil {
		l.damaged(e, err)
		return true
	}
	l.document(e, text, n)
	return true
}

// damaged is a document that cannot be read; one that is being written is left
// to the next look.
func (l *look) damaged(e entry, err error) {
	if l.unsettled(e.mod) {
		delete(l.obs.Next, "file "+e.name)
		return
	}
	l.gap(e.name, err.Error(), "a copy of "+run.Name(e.name)+" as the run read it; if this is that file, the run may have failed on it too")
	l.fact("config.damaged", e.name+": "+err.Error(), run.Ref{File: e.name})
	l.stream(e, "json")
}

// document takes a tree as a resource if it is one, else as a configuration.
func (l *look) document(e entry, text string, n *doc.Node) {
	t := export.NewText(e.name, text)
	if f, shape := export.Resource(t, n); shape != "" {
		l.found(f)
		l.stream(e, "json")
		return
	}
	l.config(t, n)
}

// putPairs reads key = value files and argument lists.
func putPairs(l *look, e entry, _ string) bool {
	if e.size > maxConfig {
		return false
	}
	read := doc.Args
	if path.Ext(e.name) != ".txt" {
		read = doc.TOML
	}
	text, ok := l.text(e, maxConfig)
	if !ok {
		return true
	}
	n, err := read([]byte(text))
	if err != nil {
		return false
	}
	if l.fresh(e) {
		l.config(export.NewText(e.name, text), n)
	}
	return true
}

// config makes facts of a configuration, "config.<dotted.key>" in lower case,
// with the value as it is spelled. A string that holds a bare number has the
// fact "config.<key>#type" = "string" beside it: equal to look at, not to ==.
func (l *look) config(t *export.Text, n *doc.Node) {
	if n.Kind != doc.Map || isData(n) {
		return
	}
	n.Flatten(func(key string, v *doc.Node) bool {
		if l.configs++; l.configs > maxFacts {
			if l.configs == maxFacts+1 {
				l.gap(t.Name, "has more keys than are kept as facts ("+strconv.Itoa(maxFacts)+")", "the configuration of this run alone")
			}
			return false
		}
		key = "config." + strings.ToLower(key)
		value := v.Text
		if v.Kind == doc.Null && value == "" {
			value = "null"
		}
		if len(value) > 500 {
			value = value[:500] + "…"
		}
		l.fact(key, value, t.Ref(v.Line))
		if v.Quoted() {
			l.fact(key+"#type", "string", t.Ref(v.Line))
		}
		l.noteClasses(key, value)
		return true
	})
}

// isData tells rows of data in a JSON file from a configuration.
func isData(n *doc.Node) bool {
	for _, m := range n.Members() {
		if l := m.List(); len(l) > 50 && l[0].Kind == doc.Map {
			return true
		}
	}
	return false
}

var (
	sbatchLine = regexp.MustCompile(`^#SBATCH\s+(?:--([a-z-]+)|-([A-Za-z]))(?:[= ]\s*(\S+))?`)
	launchLine = regexp.MustCompile(`^\s*(?:[A-Z_]+=\S+ )*(?:exec |time |nohup )?(?:srun|torchrun|deepspeed|accelerate|python[\d.]*|mpirun|horovodrun|bash)\s`)
	exportLine = regexp.MustCompile(`^\s*export\s+((?:NCCL|CUDA|TORCH|PYTORCH|HF|OMP|MASTER|GLOO|XLA|TF|WANDB|UCX|FI)_?[A-Z0-9_]*)=(\S*)`)
	sbatchLong = map[string]string{
		"N": "nodes", "n": "ntasks", "t": "time", "c": "cpus-per-task", "p": "partition", "J": "job-name",
		"G": "gpus", "o": "output", "e": "error", "A": "account", "q": "qos",
	}
)

// putScript reads what a launch script asks for: sbatch.<option>, env.<NAME>
// and launch.command.
func putScript(l *look, e entry, _ string) bool {
	if e.size > maxConfig || !l.fresh(e) {
		return true
	}
	text, ok := l.text(e, maxConfig)
	if !ok {
		return true
	}
	t := export.NewText(e.name, text)
	for i, line := range t.Lines {
		if m := sbatchLine.FindStringSubmatch(line); m != nil {
			name := m[1]
			if name == "" {
				name = sbatchLong[m[2]]
			}
			if name != "" {
				l.fact("sbatch."+name, cmp.Or(m[3], "true"), t.Ref(i+1))
			}
		} else if m := exportLine.FindStringSubmatch(line); m != nil {
			l.fact("env."+m[1], strings.Trim(m[2], `"'`), t.Ref(i+1))
		} else if launchLine.MatchString(line) {
			l.fact("launch.command", strings.TrimSpace(line), t.Ref(i+1))
		}
	}
	return true
}
