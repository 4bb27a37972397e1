package cuda

import (
	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

var causes = []failure.Cause{
	{
		Name:  "label-out-of-range",
		Root:  "A class label lies outside 0..classes-1, so that the loss kernel stops at its assertion. The Python line that is shown is only where the error was noticed.",
		When:  seen("kernel-assertion-label", 0.9),
		Fixes: []report.Fix{countLabels, fixLabels, blocking},
	},
	{
		Name:  "index-out-of-range",
		Root:  "A kernel met an index outside its table: a token id at or above the embedding's size, a position beyond the maximum, or a class id equal to the number of classes.",
		When:  seen("kernel-assertion-index", 0.85),
		Fixes: []report.Fix{checkIndices, fitTable, blocking},
	},
	{
		Name:  "device-assertion",
		Root:  "A kernel stopped at an assertion of its own. That is nearly always an index or label outside its range; the log does not show which, and the Python line is only where it was noticed.",
		Fixes: []report.Fix{blocking, countLabels, checkIndices},
	},
	{
		Name:  "nan-probabilities",
		Root:  "Sampling or a distribution met NaN or infinite probabilities: the model's outputs were already non-finite before the kernel failed.",
		When:  seen("kernel-assertion-probability", 0.8),
		Fixes: []report.Fix{findNaN, blocking},
	},
	{
		Name:  "bce-input-range",
		Root:  "Binary cross entropy was given values outside 0..1: the sigmoid is missing before it, or the outputs are NaN.",
		When:  seen("kernel-assertion-bce", 0.85),
		Fixes: []report.Fix{withLogits, findNaN},
	},
	{
		Name:  "gpu-hardware",
		Root:  "The GPU or its link failed (the driver's Xid or ECC record says so); no change of the program repairs that.",
		When:  hardware,
		Fixes: []report.Fix{driverState, otherNode, reportGPU},
	},
	{
		Name:  "handle-not-created",
		Root:  "A library handle could not be created although nothing shows a full GPU: an earlier asynchronous error broke the context, most often an index out of range.",
		When:  handleWithRoom,
		Fixes: []report.Fix{blocking, checkIndices, memoryFirst},
	},
	{Name: "illegal-access", Root: "A kernel accessed memory outside its tensors: a bug of a custom or fused kernel, or an index that nothing checked.", Fixes: []report.Fix{blocking, plainKernels}},
	{Name: "launch-failure", Root: "A kernel ended abnormally: a bad access that nothing named, or a GPU that is unstable (power, heat, memory).", Fixes: []report.Fix{driverState, blocking, otherNode}},
	{Name: "launch-timeout", Root: "The GPU also drives a display, whose watchdog ends kernels that run for seconds.", Fixes: []report.Fix{otherNode, plainKernels}},
	{Name: "arch-not-built", Root: "The installed build has no kernels for this GPU's architecture.", Fixes: []report.Fix{matchBuild, versions}},
	{Name: "driver-too-old", Root: "The driver of the host is older than the CUDA version of the program needs.", Fixes: []report.Fix{matchBuild, newDriver, driverState}},
	{Name: "driver-state", Root: "The driver is in a state in which programs cannot use the GPU: changed without a reboot, reset, or taken from the container.", Fixes: []report.Fix{driverState, otherNode}},
	{Name: "fabric-manager", Root: "The GPUs of this machine are joined by NVSwitch and need the fabric manager, which does not run or has another version than the driver.", Fixes: []report.Fix{fabric, otherNode}},
	{Name: "no-gpu", Root: "The process saw no usable GPU: none was given to it, it is held exclusively, or the driver is missing.", Fixes: []report.Fix{driverState, giveGPU}},
	{Name: "cudnn-version", Root: "The cuDNN found at run time is not the version that the framework was built with.", Fixes: []report.Fix{versions, matchCuDNN}},
	{Name: "cudnn-failed", Root: "cuDNN could not run the operation: an unsupported shape or type, a library that does not fit, or no room for its workspace.", Fixes: []report.Fix{blocking, memoryFirst, versions}},
	{Name: "blas-failed", Root: "A matrix product failed: a shape or type that the library does not take, a library that does not fit this GPU, or an earlier error that only showed here.", Fixes: []report.Fix{blocking, versions, checkIndices}},
	{Name: "library-failed", Root: "A library for the accelerator failed: it does not support this GPU, shape or type, or does not fit the framework's version.", Fixes: []report.Fix{versions, plainKernels, blocking}},
	{Name: "kernel-resources", Root: "A kernel needs more shared memory, registers or threads than this GPU has.", Fixes: []report.Fix{plainKernels, versions}},
	{Name: "fork-after-cuda", Root: "The parent had used CUDA before it forked a worker, and a forked process cannot use CUDA again.", Fixes: []report.Fix{spawn}},
	{Name: "peer-access", Root: "The GPUs cannot map each other's memory on this machine or in this container.", Fixes: []report.Fix{noPeer, driverState}},
	{Name: "cuda-call-failed", Root: "A call of the GPU's runtime failed with the reason that it names; the Python line shown may be later than the real place.", Fixes: []report.Fix{blocking, versions}},
}

// seen is a cause that a signature's lines prove.
func seen(sign string, strength float64) func(*casefile.File) (float64, []casefile.Evidence) {
	return func(f *casefile.File) (float64, []casefile.Evidence) {
		if e := f.EventsOf(sign); len(e) > 0 {
			return strength, []casefile.Evidence{e[0].Cite()}
		}
		return 0, nil
	}
}

// hardware is the record of a broken GPU beside whatever the program said.
func hardware(f *casefile.File) (float64, []casefile.Evidence) {
	for _, id := range []string{"xid-hardware", "gpu-off-the-bus", "uncorrectable-ecc", "nvlink-error"} {
		if e := f.EventsOf(id); len(e) > 0 {
			return 0.95, []casefile.Evidence{e[0].Cite()}
		}
	}
	return 0, nil
}

// handleWithRoom backs "bad index in disguise" by what shows free memory.
func handleWithRoom(f *casefile.File) (float64, []casefile.Evidence) {
	if e := f.EventsOf("cublas-alloc-failed"); len(e) > 0 {
		return 0.55, memoryLines(f)
	}
	return 0, nil
}
