package cuda

import (
	"regexp"
	"slices"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
)

var memoryWords = regexp.MustCompile(`(?i)memory_allocated|max_memory|allocated [0-9.]+ ?G|MiB ?/ ?\d+ ?MiB`)

// memoryLines are the last lines that say how full the GPU was.
func memoryLines(f *casefile.File) []casefile.Evidence {
	for _, s := range f.Streams {
		for _, v := range slices.Backward(s.Tail) {
			if l := v; memoryWords.MatchString(l.Text) {
				return []casefile.Evidence{{Ref: l.Ref, Rank: l.Rank, Text: l.Text}}
			}
		}
	}
	return nil
}

var (
	blocking = report.Fix{
		Action: "Run the same command with CUDA_LAUNCH_BLOCKING=1, or the same batch on the CPU: then the Python line that is shown is the right one",
		Risk:   report.NeedsApproval, ExpectedImpact: "names the operation and the tensor; slower while it runs", Validate: "the traceback ends in the operation that failed",
		TimeToTrySeconds: 600, Confidence: 0.8, Impact: 0.45, Reversible: true, LeavesCause: true,
	}
	countLabels = report.Fix{
		Action: "Count the labels of the data set: minimum, maximum and any value outside 0..classes-1 (255 and -1 too, if they are not ignored)",
		Risk:   report.Safe, ExpectedImpact: "names the labels and files that are wrong", Validate: "the count shows at least one label out of range",
		TimeToTrySeconds: 300, Confidence: 0.85, Impact: 0.5, Reversible: true, LeavesCause: true,
	}
	fixLabels = report.Fix{
		Action: "Make labels and classes agree: correct or drop the labels out of range, set the number of classes, or mark the padding value as ignored",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "one epoch passes on the CPU or with CUDA_LAUNCH_BLOCKING=1",
		TimeToTrySeconds: 900, Confidence: 0.85, Impact: 0.95, Reversible: true,
	}
	checkIndices = report.Fix{
		Action: "Print the smallest and largest index of each integer input beside the size of the table that it indexes (embeddings, positions, classes)",
		Risk:   report.Safe, ExpectedImpact: "shows which input is out of range", Validate: "an index is at or above its table's size, or negative",
		TimeToTrySeconds: 300, Confidence: 0.8, Impact: 0.5, Reversible: true, LeavesCause: true,
	}
	fitTable = report.Fix{
		Action: "Resize the table to the indices (resize_token_embeddings(len(tokenizer))), or cut the input to the table's size",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the next 200 steps pass",
		TimeToTrySeconds: 600, Confidence: 0.75, Impact: 0.95, Reversible: true,
	}
	findNaN = report.Fix{
		Action: "Find the first step at which loss, logits or gradients are NaN or infinite, and treat that",
		Risk:   report.Safe, ExpectedImpact: "leads to the real failure", Validate: "a step before the assertion shows a non-finite value",
		TimeToTrySeconds: 600, Confidence: 0.75, Impact: 0.5, Reversible: true, LeavesCause: true,
	}
	withLogits = report.Fix{
		Action: "Use binary_cross_entropy_with_logits, or put a sigmoid before the loss",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the next 200 steps pass and the loss is finite",
		TimeToTrySeconds: 600, Confidence: 0.8, Impact: 0.95, Reversible: true,
	}
	driverState = report.Fix{
		Action: "Read the state of the GPUs and the kernel log for Xid records",
		Risk:   report.Safe, ExpectedImpact: "tells hardware from driver from program", Validate: "all GPUs answer, or one shows an error",
		Command:          new("nvidia-smi -q -d ECC,PAGE_RETIREMENT,PERFORMANCE | head -n 120; dmesg -T | grep -i 'NVRM' | tail -n 20"),
		TimeToTrySeconds: 60, Confidence: 0.75, Impact: 0.45, Reversible: true, LeavesCause: true,
	}
	otherNode = report.Fix{
		Action: "Run the unchanged command on another GPU or node, with this one excluded",
		Risk:   report.NeedsApproval, ExpectedImpact: "gets the run going if the machine is at fault", Validate: "the run passes the step of the failure by 200 steps",
		TimeToTrySeconds: 900, Confidence: 0.75, Impact: 0.85, Reversible: true,
	}
	reportGPU = report.Fix{
		Action: "Drain the node and report the GPU (serial number, Xid, dmesg) to whoever owns the machine; power and cooling belong to what they check",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the cause", Validate: "the GPU passes a diagnostic (dcgmi diag -r 3)",
		TimeToTrySeconds: 7200, Confidence: 0.8, Impact: 0.95,
	}
	plainKernels = report.Fix{
		Action: "Switch the fused or custom kernel off (flash attention, compiled graph, apex or xformers operators) for the operation that failed",
		Risk:   report.NeedsApproval, ExpectedImpact: "avoids the kernel, slower", Validate: "200 steps pass with the plain operator",
		TimeToTrySeconds: 600, Confidence: 0.6, Impact: 0.85, Reversible: true, LeavesCause: true,
	}
	versions = report.Fix{
		Action: "Print the versions that were built and that are loaded: framework, CUDA, cuDNN, driver",
		Risk:   report.Safe, ExpectedImpact: "shows whether they fit together", Validate: "two of them do not fit",
		Command:          new("python -m torch.utils.collect_env"),
		TimeToTrySeconds: 60, Confidence: 0.7, Impact: 0.4, Reversible: true, LeavesCause: true,
	}
	matchBuild = report.Fix{
		Action: "Install a build of the framework and of the extensions that supports this GPU and fits the host's driver",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "a matrix product on the GPU works; 50 steps pass",
		TimeToTrySeconds: 1800, Confidence: 0.85, Impact: 0.95, Reversible: true,
	}
	newDriver = report.Fix{
		Action: "Let the host's driver be brought to the version that the CUDA runtime needs",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "nvidia-smi shows the new version; 50 steps pass",
		TimeToTrySeconds: 3600, Confidence: 0.75, Impact: 0.9,
	}
	fabric = report.Fix{
		Action: "Start the fabric manager of the driver's version on the host",
		Risk:   report.NeedsApproval, ExpectedImpact: "the GPUs can be initialised", Validate: "nvidia-smi -q shows Fabric State: Completed; CUDA initialises",
		TimeToTrySeconds: 600, Confidence: 0.85, Impact: 0.95, Reversible: true,
	}
	giveGPU = report.Fix{
		Action: "Give the process a GPU: request it in the job or container, and check CUDA_VISIBLE_DEVICES",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "nvidia-smi inside the job lists the GPU; the run passes 50 steps",
		TimeToTrySeconds: 600, Confidence: 0.75, Impact: 0.95, Reversible: true,
	}
	matchCuDNN = report.Fix{
		Action: "Install the cuDNN with which the framework was built, and remove the other one from LD_LIBRARY_PATH",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the log names the same major and minor version; the first convolution runs",
		TimeToTrySeconds: 1200, Confidence: 0.9, Impact: 0.95, Reversible: true,
	}
	memoryFirst = report.Fix{
		Action: "Repeat with half the batch: if the failure goes, the GPU had been full",
		Risk:   report.NeedsApproval, ExpectedImpact: "tells memory from the library", Validate: "200 steps pass with the smaller batch",
		TimeToTrySeconds: 300, Confidence: 0.5, Impact: 0.6, Reversible: true,
	}
	spawn = report.Fix{
		Action: "Use the spawn start method (multiprocessing_context=\"spawn\"), or keep CUDA out of the parent and of the data set",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the loader gives its first 50 batches",
		TimeToTrySeconds: 600, Confidence: 0.9, Impact: 0.95, Reversible: true,
	}
	noPeer = report.Fix{
		Action: "Set NCCL_P2P_DISABLE=1 for this machine",
		Risk:   report.NeedsApproval, ExpectedImpact: "the GPUs exchange data through host memory, slower", Validate: "the first 50 steps pass",
		TimeToTrySeconds: 300, Confidence: 0.75, Impact: 0.85, Reversible: true,
	}
)
