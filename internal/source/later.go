package source

import (
	"regexp"
	"strings"
)

// Later are the schemes of the targets that the skills know and that may have
// no kind yet. An entry stops to count as soon as a registry has its scheme.
var Later = []string{"pid", "proc", "wandb", "mlflow", "vertex-pipeline", "vertex-training", "tensorboard", "slurm", "ssh"}

var remote = regexp.MustCompile(`^[\w.-]+@[\w.-]+:`)

// NotBuilt names the form of a target that this version has no kind for, so
// that nobody takes it for a file that is missing; "" if there is none.
func (r Registry) NotBuilt(target string) string {
	scheme, _, ok := strings.Cut(target, ":")
	if remote.MatchString(target) {
		scheme, ok = "ssh", true
	}
	for _, k := range r {
		if k.Scheme == scheme {
			return ""
		}
	}
	for _, l := range Later {
		if ok && l == scheme {
			if l == "ssh" {
				return "a remote target (user@host:/path)"
			}
			return "--" + l
		}
	}
	return ""
}
