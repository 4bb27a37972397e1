package oom

import (
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/report"
)

var (
	readMemory = report.Fix{
		Action: "Look at what holds the memory now and at the peak: nvidia-smi, free -g, dmesg",
		Risk:   report.Safe, ExpectedImpact: "tells GPU from host memory and this run from others", Validate: "one process or one phase accounts for most of it",
		Command:          new("nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv"),
		TimeToTrySeconds: 60, Confidence: 0.6, Impact: 0.3, Reversible: true, LeavesCause: true,
	}
	smallerMicroBatch = report.Fix{
		Action: "Halve the batch per device and double the gradient accumulation steps (or halve the sequence length or resolution)",
		Risk:   report.NeedsApproval, ExpectedImpact: "halves the memory of the activations at the same effective batch", Validate: "the next 200 steps pass and the peak stays under 90 % of the GPU",
		TimeToTrySeconds: 300, Confidence: 0.85, Impact: 0.9, Reversible: true,
	}
	checkpointing = report.Fix{
		Action: "Turn activation (gradient) checkpointing on",
		Risk:   report.NeedsApproval, ExpectedImpact: "much less memory for activations, about a quarter slower", Validate: "the next 200 steps pass; the loss agrees with the run before",
		TimeToTrySeconds: 300, Confidence: 0.75, Impact: 0.85, Reversible: true,
	}
	shardStates = report.Fix{
		Action: "Shard or offload parameters and optimizer state over the devices (ZeRO, FSDP or tensor parallelism), or use an optimizer with smaller state",
		Risk:   report.NeedsApproval, ExpectedImpact: "divides the memory of weights and optimizer by the number of devices", Validate: "memory after the first optimizer step is below 80 % of the GPU",
		TimeToTrySeconds: 1800, Confidence: 0.65, Impact: 0.9, Reversible: true,
	}
	whoHoldsGPU = report.Fix{
		Action: "List which processes hold this GPU",
		Risk:   report.Safe, ExpectedImpact: "names what has to end or move", Validate: "the list explains the memory that is missing",
		Command:          new("nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv"),
		TimeToTrySeconds: 30, Confidence: 0.9, Impact: 0.4, Reversible: true, LeavesCause: true,
	}
	freeGPU = report.Fix{
		Action: "End the other process (a notebook kernel, a left-over of an earlier run) after asking whose it is",
		Risk:   report.NeedsApproval, ExpectedImpact: "gives the GPU's memory back", Validate: "nvidia-smi shows the memory free; the run passes 50 steps",
		TimeToTrySeconds: 120, Confidence: 0.85, Impact: 0.95,
	}
	otherGPU = report.Fix{
		Action: "Run on a GPU that is free (CUDA_VISIBLE_DEVICES)",
		Risk:   report.NeedsApproval, ExpectedImpact: "avoids the shared GPU", Validate: "the run passes 50 steps there",
		TimeToTrySeconds: 120, Confidence: 0.75, Impact: 0.9, Reversible: true,
	}
	evalBatch = report.Fix{
		Action: "Lower the evaluation batch size to that of training or below, and run the evaluation without gradients",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure; metrics do not change", Validate: "one whole evaluation passes, and 50 training steps after it",
		TimeToTrySeconds: 300, Confidence: 0.85, Impact: 0.95, Reversible: true,
	}
	evalAccumulation = report.Fix{
		Action: "Move predictions to the CPU every few batches (eval_accumulation_steps in transformers) and keep only what the metric needs",
		Risk:   report.NeedsApproval, ExpectedImpact: "memory no longer grows over the evaluation", Validate: "GPU memory stays level during one evaluation",
		TimeToTrySeconds: 600, Confidence: 0.75, Impact: 0.9, Reversible: true,
	}
	loadOnCPU = report.Fix{
		Action: "Load the saved state with map_location=\"cpu\" and free it before the first step",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the second copy of the state", Validate: "the run resumes, and memory after 50 steps equals that of the fresh run",
		TimeToTrySeconds: 900, Confidence: 0.8, Impact: 0.95, Reversible: true,
	}
	freshOptimizer = report.Fix{
		Action: "Start from the saved weights with a new optimizer state",
		Risk:   report.NeedsApproval, ExpectedImpact: "gets the run going; the loss may rise for some hundred steps", Validate: "200 steps pass and the loss returns to its level",
		TimeToTrySeconds: 300, Confidence: 0.6, Impact: 0.6, Reversible: true, LeavesCause: true,
	}
	shardedSave = report.Fix{
		Action: "Save sharded, or gather with offload to the CPU on rank 0 only",
		Risk:   report.NeedsApproval, ExpectedImpact: "saving needs no GPU memory for the whole model", Validate: "the next checkpoint is whole and loads",
		TimeToTrySeconds: 900, Confidence: 0.85, Impact: 0.95, Reversible: true,
	}
	verifyCheckpoint = report.Fix{
		Action: "Load the checkpoint that was written around the failure on a CPU and compare its tensors' shapes and norms",
		Risk:   report.Safe, ExpectedImpact: "tells which checkpoint can be used", Validate: "every tensor is there and finite",
		TimeToTrySeconds: 600, Confidence: 0.8, Impact: 0.5, Reversible: true, LeavesCause: true,
	}
	expandable = report.Fix{
		Action: "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
		Risk:   report.NeedsApproval, ExpectedImpact: "the allocator can use what it had reserved", Validate: "200 steps pass; reserved stays near allocated",
		TimeToTrySeconds: 120, Confidence: 0.7, Impact: 0.85, Reversible: true,
	}
	engineShare = report.Fix{
		Action: "Lower the engine's share of the GPU, and let the trainer offload its weights and optimizer while the engine generates",
		Risk:   report.NeedsApproval, ExpectedImpact: "both fit", Validate: "three rounds of generation and update pass",
		TimeToTrySeconds: 600, Confidence: 0.8, Impact: 0.95, Reversible: true,
	}
	fewerWorkers = report.Fix{
		Action: "Reduce loader workers, prefetching and the number of processes on the node that load the whole model or dataset at once",
		Risk:   report.NeedsApproval, ExpectedImpact: "host memory falls by what each process held", Validate: "host memory stays level below 85 % over 200 steps",
		TimeToTrySeconds: 300, Confidence: 0.75, Impact: 0.85, Reversible: true,
	}
	moreHostMemory = report.Fix{
		Action: "Ask for more host memory for the job (for SLURM --mem), or spread the processes over more nodes",
		Risk:   report.NeedsApproval, ExpectedImpact: "moves the limit", Validate: "peak memory of the next run stays below 85 % of the limit",
		TimeToTrySeconds: 600, Confidence: 0.7, Impact: 0.8, Reversible: true,
	}
	streamData = report.Fix{
		Action: "Stream or memory-map the data and load weights one process at a time (low_cpu_mem_usage) instead of holding everything in every process",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the copies", Validate: "memory per process stays level over an epoch",
		TimeToTrySeconds: 3600, Confidence: 0.7, Impact: 0.95, Reversible: true,
	}
	watchHost = report.Fix{
		Action: "Read the kernel log for which process was killed and how much each held",
		Risk:   report.Safe, ExpectedImpact: "tells a leak from a limit that is too low", Validate: "the table in the kernel log adds up to the limit",
		Command:          new("dmesg -T | grep -iE 'killed process|oom-kill' | tail -n 20"),
		TimeToTrySeconds: 60, Confidence: 0.6, Impact: 0.3, Reversible: true, LeavesCause: true,
	}
	raiseLimit = report.Fix{
		Action: "Raise the container's memory limit (resources.limits.memory) to the peak plus a fifth",
		Risk:   report.NeedsApproval, ExpectedImpact: "the container is no longer killed at that size", Validate: "the pod passes the step of its death and stays below 85 % of the limit",
		TimeToTrySeconds: 600, Confidence: 0.75, Impact: 0.85, Reversible: true,
	}
)

// number is the leading number of "37.20 GiB".
func number(s string) float64 {
	s, _, _ = strings.Cut(strings.TrimSpace(s), " ")
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return -1
	}
	return v
}

// bytes is a size as an allocator writes it, 0 when it is not one.
func bytes(s string) float64 {
	v := number(s)
	if v < 0 {
		return 0
	}
	_, unit, _ := strings.Cut(strings.TrimSpace(s), " ")
	switch strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "i") {
	case "K":
		return v * (1 << 10)
	case "M":
		return v * (1 << 20)
	case "G":
		return v * (1 << 30)
	case "T":
		return v * (1 << 40)
	}
	return v
}
