package report

import (
	"fmt"
	"strings"
)

// frameworkTitles are the names as their makers write them.
var frameworkTitles = map[string]string{
	"pytorch": "PyTorch", "lightning": "PyTorch Lightning", "deepspeed": "DeepSpeed", "fsdp": "PyTorch FSDP",
	"transformers": "Transformers", "accelerate": "Accelerate", "megatron": "Megatron-LM", "nemo": "NeMo",
	"tensorflow": "TensorFlow", "keras": "Keras", "jax": "JAX",
}

// FrameworkTitle is the framework's name as people write it.
func FrameworkTitle(id string) string {
	if id == "" {
		return "unknown"
	}
	if t, ok := frameworkTitles[strings.ToLower(id)]; ok {
		return t
	}
	return id
}

// SeverityTitle is the severity as text says it: blocker is "Critical".
func SeverityTitle(s Severity) string {
	if s == Blocker {
		return "Critical"
	}
	return strings.ToUpper(string(s)[:1]) + string(s)[1:]
}

// duration writes seconds the way people say them.
func duration(seconds int) string {
	switch {
	case seconds < 90:
		return fmt.Sprintf("%d s", seconds)
	case seconds < 90*60:
		return fmt.Sprintf("%d min", (seconds+30)/60)
	}
	return fmt.Sprintf("%.3g h", float64(seconds)/3600)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// clip cuts a text to n characters and says so.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// oneLine keeps a text on its line, so that none that comes from a run stands
// where only ours do. The artifact has it as it is.
func oneLine(s string) string { return strings.ReplaceAll(s, "\n", "↵") }

// shown are the first n items of a list, or all of it.
func shown[T any](s []T, n int) []T { return s[:min(len(s), n)] }

// The colours of a terminal.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (p *page) bold(s string) string { return p.paint("1", s) }

func (p *page) paint(code, s string) string {
	if !p.color || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func statusColor(s RunStatus) string {
	switch s {
	case Healthy, Recovered, Running:
		return green
	case Degraded:
		return yellow
	}
	return red
}

func decisionColor(d Decision) string {
	switch d {
	case Go:
		return green
	case Conditional:
		return yellow
	}
	return red
}
