package cuda

import (
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var (
	// initFailed are refusals that only a host with a GPU gives.
	initFailed = regexp.MustCompile(`Error 80[2-4]|system not yet initialized|forward compatibility was attempted|system has unsupported display driver|CUDA unknown error|unknown error|driver/library version mismatch|CUDA_ERROR_(?:UNKNOWN|SYSTEM_\w+|COMPAT_\w+|SYSTEM_DRIVER_MISMATCH)|cudaGetDeviceCount\(\).{0,160}Error (?:[2-9]|\d{2,3}):`)
	gpuListed  = regexp.MustCompile(`NVIDIA-SMI \d|\d+MiB ?/ ?\d+MiB|^GPU \d+: |NVIDIA (?:A|H|B|L|V|T|RTX|GeForce)\S*`)
)

// wentOnWithoutGPU finds a run for which the GPU of its host could not be
// initialised and which trains on the CPU instead.
func wentOnWithoutGPU(f *casefile.File) []failure.Sighting {
	if s := mismatched(f); s != nil {
		return s
	}
	warned, onCPU, m := f.EventsOf("cuda-initialization-warning"), f.EventsOf("runs-on-cpu"), f.Main()
	if len(warned) == 0 || len(onCPU) == 0 || m == nil || m.Advances < 2 {
		return nil
	}
	e := warned[0]
	if !initFailed.MatchString(e.Text) && !hasGPU(f) {
		return nil
	}
	return []failure.Sighting{{
		Type: report.AnomalyCUDAError, Severity: report.High, Role: report.RoleCause, Weight: 0.9, Cause: "driver-state", Rank: e.Rank, Step: -1,
		Ref: e.Ref, Text: e.Text, Also: []run.Ref{onCPU[0].Ref}, Status: report.Degraded,
		Says: "CUDA could not be initialised on a host that has a GPU, and the run went on on the CPU.",
	}}
}

// mismatched finds a driver that does not fit its library, and training that goes
// on all the same: without a GPU. A run that has ended well is not called failed.
func mismatched(f *casefile.File) []failure.Sighting {
	bad, m := f.EventsOf("driver-library-mismatch"), f.Main()
	if len(bad) == 0 || m == nil || m.Advances < 2 || m.Progress().Completed || m.LastRef.File != bad[0].Ref.File || m.LastRef.Line < bad[0].Ref.Line {
		return nil
	}
	e := bad[0]
	return []failure.Sighting{{
		Type: report.AnomalyCUDAError, Severity: report.High, Role: report.RoleCause, Weight: 0.74, Cause: "driver-state", Rank: e.Rank, Step: -1,
		Ref: e.Ref, Text: e.Text, Status: report.Degraded,
		Says: "The driver in the kernel does not fit its library, no GPU can be used, and the run trains on the CPU.",
	}}
}

// hasGPU reports whether a listing of the host's GPUs shows one.
func hasGPU(f *casefile.File) bool {
	for _, s := range f.Streams {
		if s.Kind == "" || s.Kind == casefile.KindLog || strings.HasPrefix(s.Kind, "config") {
			continue
		}
		for _, l := range s.Head {
			if gpuListed.MatchString(l.Text) {
				return true
			}
		}
	}
	return false
}
