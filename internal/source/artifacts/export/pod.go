package export

import (
	"regexp"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

var (
	podField = regexp.MustCompile(`^( *)([A-Z][A-Za-z .-]*|cpu|memory|nvidia\.com/gpu):\s*(.*?)\s*$`)
	podEvent = regexp.MustCompile(`^\s+Warning\s+(\S+)\s+(?:\d|<)`)
)

// describePod reads kubectl describe pod: pod.phase, pod.node, pod.reason,
// pod.exit_code, pod.waiting_reason, pod.image, pod.restart_count,
// pod.memory_limit, and pod.event of each warning. Of several containers those
// that are not well count.
func describePod(t *Text) (f Found) {
	section, sub, state, init := "", "", "", false
	for i, l := range t.Lines {
		line := i + 1
		if m := podEvent.FindStringSubmatch(l); m != nil && section == "Events" {
			f.fact(t, line, "pod.event", m[1])
			continue
		}
		m := podField.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		indent, key, val := len(m[1]), m[2], m[3]
		if indent == 0 {
			section, init = key, key == "Init Containers"
			f.podTop(t, line, key, val)
			continue
		}
		switch key {
		case "State", "Last State":
			state = val
		case "Limits", "Requests":
			sub = key
		case "memory":
			if sub == "Limits" && !init {
				f.fact(t, line, "pod.memory_limit", val)
				f.size(t, line, "pod.memory_limit_bytes", val, 1)
			}
		default:
			f.podContainer(t, line, key, val, state, init)
		}
	}
	f.unwell()
	return f
}

// unwell drops how a container ended well if another one did not.
func (f *Found) unwell() {
	well := func(x run.Fact) bool {
		return (x.Key == "pod.reason" && x.Value == "Completed") || (x.Key == "pod.exit_code" && x.Value == "0")
	}
	for _, x := range f.Facts {
		if (x.Key == "pod.reason" || x.Key == "pod.exit_code") && !well(x) {
			f.Facts = slices.DeleteFunc(f.Facts, well)
			return
		}
	}
}

// podTable reads kubectl get pods: the state of each pod that is not well.
func podTable(t *Text) (f Found) {
	at := -1
	for i, l := range t.Lines {
		w := strings.Fields(l)
		if slices.Contains(w, "READY") && slices.Contains(w, "STATUS") {
			at = slices.Index(w, "STATUS")
			continue
		}
		if at < 0 || len(w) <= at {
			continue
		}
		switch s := w[at]; {
		case s == "Running" || s == "Completed" || s == "Succeeded":
		case s == "OOMKilled" || s == "Error" || s == "Evicted" || s == "Failed" || s == "StartError" || s == "ContainerCannotRun":
			f.fact(t, i+1, "pod.reason", s)
		default:
			f.fact(t, i+1, "pod.waiting_reason", s)
		}
	}
	return f
}

func (f *Found) podTop(t *Text, line int, key, val string) {
	switch key {
	case "Name":
		f.set(t, line, "pod.name", val)
	case "Status":
		f.set(t, line, "pod.phase", val)
	case "Reason":
		f.set(t, line, "pod.reason", val)
	case "Message":
		f.set(t, line, "pod.message", val)
	case "Node":
		f.set(t, line, "pod.node", val)
	}
}

func (f *Found) podContainer(t *Text, line int, key, val, state string, init bool) {
	ok := init && (val == "Completed" || val == "0")
	switch {
	case ok:
	case key == "Reason" && state == "Waiting":
		f.set(t, line, "pod.waiting_reason", val)
	case key == "Reason" && state == "Terminated":
		f.set(t, line, "pod.reason", val)
	case key == "Exit Code" && state == "Terminated":
		f.set(t, line, "pod.exit_code", val)
	case key == "Image":
		f.set(t, line, "pod.image", val)
	case key == "Restart Count":
		f.set(t, line, "pod.restart_count", val)
	}
}
