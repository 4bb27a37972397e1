package cuda

import (
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var detectors = []failure.Detector{
	{
		Name: "exception-in-gpu-code",
		Doc:  "An exception that no signature knows and that names the GPU's runtime or a library of it.",
		Run:  gpuExceptions,
	},
	{
		Name: "went-on-without-gpu",
		Doc:  "CUDA could not be initialised on a host that has a GPU, and the run trained on the CPU.",
		Run:  wentOnWithoutGPU,
	},
	{
		Name: "application-fault-in-kernel-log",
		Doc:  "The kernel log holds an Xid of a program's fault and the run's own log ends without a word.",
		Run:  applicationXid,
	},
}

var (
	gpuWords = regexp.MustCompile(`(?i)\b(?:cuda|cublas|cudnn|cusolver|cusparse|cufft|curand|nvrtc|nvml|rocm|rocblas|hipblas\w*|miopen|HIP)\b.{0,80}(?:error|fail|fault|status|exception)|CUDA_ERROR_|cudaError[A-Z]|hipError[A-Z]`)
	notGPU   = regexp.MustCompile(`(?i)out of memory|not compiled with|is_available\(\) is False|invalid device ordinal|CUDA_HOME|No module named|cannot open shared object|expected .*device|nvcc`)
	notType  = regexp.MustCompile(`Import|ModuleNotFound|Assertion|Key|Attribute|Type|FileNotFound|OutOfMemory`)
)

func gpuExceptions(f *casefile.File) []failure.Sighting {
	for _, t := range f.Tracebacks {
		text := t.Type + ": " + t.Message
		if t.Known != nil || t.Later != nil || f.TracebackRecovered(t) || notType.MatchString(t.Type) || !gpuWords.MatchString(text) || notGPU.MatchString(text) {
			continue
		}
		line, _, _ := strings.Cut(text, "\n")
		return []failure.Sighting{{
			Type: report.AnomalyCUDAError, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.6, Cause: "cuda-call-failed",
			Rank: t.Rank, Step: t.Step, Ref: t.Ref, Text: line, Says: "An exception names a failed call of the GPU's runtime.",
			YieldsTo: []report.Class{report.OOM},
		}}
	}
	return nil
}

func applicationXid(f *casefile.File) []failure.Sighting {
	xid := f.EventsOf("xid-application")
	if len(xid) == 0 || len(f.Tracebacks) > 0 {
		return nil
	}
	for _, e := range f.Events {
		if e.Sign.Class != report.CUDA && e.Sign.Role == report.RoleCause && !f.Recovered(e) {
			return nil
		}
	}
	e := xid[0]
	return []failure.Sighting{{
		Type: report.AnomalyCUDAError, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.55, Cause: "illegal-access",
		Rank: e.Rank, Step: e.Step, Ref: e.Ref, Text: e.Text, Says: "The driver recorded a fault of a program on the GPU (Xid " + run.Name(f.Value("gpu.xid_app")) + ").",
	}}
}
