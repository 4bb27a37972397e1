package process

import (
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/shell"
)

var (
	plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)
	// telling are the variables that matter for a run.
	telling = regexp.MustCompile(`^(?:CUDA_|NCCL_|TORCH|PYTORCH_|GLOO_|NVIDIA_VISIBLE|HIP_|ROCR_|XLA_|JAX_|TF_|OMP_NUM|MKL_NUM|MASTER_|WORLD_SIZE$|RANK$|LOCAL_RANK$|LOCAL_WORLD_SIZE$|NODE_RANK$|SLURM_(?:JOB_ID|NNODES|NTASKS|PROCID|NODEID)$|CONDA_DEFAULT_ENV$|VIRTUAL_ENV$|PYTHONUNBUFFERED$|HF_HUB_OFFLINE$|TRANSFORMERS_OFFLINE$|HF_DATASETS_OFFLINE$|UCX_|FI_)`)
	secret  = regexp.MustCompile(`(?i)key|token|secret|passw|credential|auth`)
)

const maxEnv = 60

// environment tells the variables that matter: "env.NAME".
func (l *look) environment(pid int) {
	env := environ(pid)
	n := 0
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !telling.MatchString(name) || secret.MatchString(name) || n == maxEnv {
			continue
		}
		n++
		_, value, _ := strings.Cut(redact.Clip(name+"="+env[name], 300), "=")
		l.fact("env."+name, value)
	}
}

// Quote writes a command line as a shell takes it.
func Quote(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		if out[i] = a; !plainWord.MatchString(a) {
			out[i] = shell.Quote(a)
		}
	}
	return strings.Join(out, " ")
}

func digest(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return fmt.Sprintf("%x", h.Sum64())
}
