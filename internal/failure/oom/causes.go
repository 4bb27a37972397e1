package oom

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var causes = []failure.Cause{
	{
		Name:  "gpu-memory",
		Root:  "The step needs more memory than the GPU has left: parameters, optimizer state and the activations of one micro-batch together exceed it.",
		Fixes: []report.Fix{smallerMicroBatch, checkpointing, shardStates, readMemory},
	},
	{
		Name:  "gpu-shared",
		Root:  "Another process holds much of this GPU's memory, so that the run does not get what it would need; the failed call is only where that showed.",
		When:  sharedGPU,
		Fixes: []report.Fix{whoHoldsGPU, freeGPU, otherGPU},
	},
	{
		Name:  "evaluation",
		Root:  "Training fitted, evaluation did not: the evaluation batch, or the outputs that are gathered and kept over the whole evaluation, need more memory than a training step.",
		When:  inFrames(evalFrames, 0.8),
		Fixes: []report.Fix{evalBatch, evalAccumulation},
	},
	{
		Name:  "resume",
		Root:  "On resume the saved optimizer or model state is loaded onto the GPU beside what is already there, so that a run that fitted when it was fresh no longer does.",
		When:  inFrames(resumeFrames, 0.85),
		Fixes: []report.Fix{loadOnCPU, freshOptimizer},
	},
	{
		Name:  "save-gathers",
		Root:  "Saving gathers the whole model or its state on one GPU, which has no room for it; what was saved then is not to be trusted.",
		When:  inFrames(saveFrames, 0.8),
		Fixes: []report.Fix{shardedSave, verifyCheckpoint},
	},
	{
		Name:  "fragmentation",
		Root:  "The allocator had reserved enough memory, but in pieces: much of it was reserved and unused when the request failed.",
		When:  fragmented,
		Fixes: []report.Fix{expandable, smallerMicroBatch},
	},
	{
		Name:  "compile",
		Root:  "The compiled program needs more device memory than a chip has: batch, sequence length and what the compiler keeps for the backward pass do not fit.",
		Fixes: []report.Fix{smallerMicroBatch, checkpointing, shardStates},
	},
	{
		Name:  "engine-shares-gpu",
		Root:  "The inference engine and the trainer share a GPU, and together they want more memory than it has: one still holds its part when the other takes its own.",
		When:  inFrames(engineFrames, 0.8),
		Fixes: []report.Fix{engineShare, smallerMicroBatch},
	},
	{
		Name:  "handle-on-full-gpu",
		Root:  "The GPU was full, so that a library could not create its handle or workspace: an out-of-memory failure in the words of another library.",
		Fixes: []report.Fix{smallerMicroBatch, whoHoldsGPU},
	},
	{
		Name:  "host-memory",
		Root:  "The host's memory, or the part that the job may use, was full.",
		Fixes: []report.Fix{fewerWorkers, moreHostMemory, streamData, watchHost},
	},
	{
		Name:  "container-limit",
		Root:  "The container reached its own memory limit and was killed; the node may have had memory left.",
		Fixes: []report.Fix{raiseLimit, fewerWorkers, streamData},
	},
}

var (
	evalFrames   = regexp.MustCompile(`(?i):(?:evaluat\w*|eval_\w+|validat\w*|run_eval\w*|_?evaluation_loop|prediction_(?:loop|step)|val_\w+|test_epoch|compute_metrics|nested_gather)\b|eval\w*\.py`)
	resumeFrames = regexp.MustCompile(`(?i):(?:_load_optimizer_and_scheduler|load_optimizer\w*|resume\w*|_?load_(?:from_)?checkpoint\w*|restore\w*|load_state_dict)\b`)
	saveFrames   = regexp.MustCompile(`(?i):(?:_?save_(?:checkpoint|model|pretrained|state\w*|to_checkpoint|weights)\w*|_full_state_dict\w*|get_(?:model_)?state_dict|consolidate\w*|_zero3_consolidated\w*|state_dict)\b`)
	engineFrames = regexp.MustCompile(`(?i)vllm/|sglang/|cumem|:wake_up|:resume_memory_occupation`)
)

// inFrames is a cause that shows in where the refused allocation was asked for.
func inFrames(re *regexp.Regexp, strength float64) func(*casefile.File) (float64, []casefile.Evidence) {
	return func(f *casefile.File) (float64, []casefile.Evidence) {
		for _, e := range f.Events {
			if e.Sign.Class != report.OOM || e.Sign.Role != report.RoleCause || e.Trace == nil || f.Recovered(e) {
				continue
			}
			for i, fr := range e.Trace.Frames {
				if re.MatchString(fr.String()) && i < len(e.Trace.Frames) {
					return strength, []casefile.Evidence{{Ref: e.Trace.First, Rank: e.Rank, Text: fr.String()}}
				}
			}
		}
		return 0, nil
	}
}

// muchMiB is what another process must hold of a GPU to count: more than the
// context of one that is idle, and than a desktop.
const muchMiB = 2048

// sharedGPU is the evidence that something else held the GPU.
func sharedGPU(f *casefile.File) (float64, []casefile.Evidence) {
	for _, v := range f.FactsUnder(run.GPU) {
		device, ok := strings.CutSuffix(v.Key, run.GPUForeign)
		if held := number(v.Value); ok && held >= muchMiB && f.Value(v.Key) == v.Value {
			text := fmt.Sprintf("Processes that are not of the run hold %.1f GB of GPU %s, most of it process %s", held/1024, strings.TrimPrefix(device, run.GPU), f.Value(device+run.GPUStranger))
			return 0.85, []casefile.Evidence{{Ref: v.From, Rank: run.NoRank, Text: text}}
		}
	}
	if v, ok := f.Fact("oom.other_memory"); ok && number(v.Value) >= 2 {
		return 0.75, []casefile.Evidence{{Ref: v.From, Rank: -1, Text: "process " + f.Value("oom.other_process") + " had " + v.Value + " in use"}}
	}
	if v, ok := f.Fact("gpu.tf_memory_mb"); ok && number(v.Value) < 1500 {
		return 0.8, []casefile.Evidence{{Ref: v.From, Rank: -1, Text: "the framework got only " + v.Value + " MB of the GPU"}}
	}
	return 0, nil
}

// fragmented is the evidence that reserved memory lay idle.
func fragmented(f *casefile.File) (float64, []casefile.Evidence) {
	v, ok := f.Fact("oom.reserved_unallocated")
	if !ok {
		return 0, nil
	}
	idle, want := bytes(v.Value), bytes(f.Value("oom.wanted"))
	if want > 0 && idle > 2*want && idle > 4<<30 {
		return 0.6, []casefile.Evidence{{Ref: v.From, Rank: -1, Text: v.Value + " reserved by the allocator but unused"}}
	}
	return 0, nil
}
