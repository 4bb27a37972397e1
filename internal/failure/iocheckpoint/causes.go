package iocheckpoint

import (
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

// change is a fix that needs approval.
func change(action, validate string, seconds int, confidence float64) report.Fix {
	return report.Fix{
		Action: action, Risk: report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: validate,
		TimeToTrySeconds: seconds, Confidence: confidence, Impact: 0.95, Reversible: true,
	}
}

var causes = []failure.Cause{
	{
		Name:  "disk-full",
		Root:  "The file system that the run writes to is full, or the quota on it is used up, so a file could not be written to its end. A checkpoint of that moment is cut off.",
		When:  fullDisk,
		Fixes: []report.Fix{showSpace, freeSpace, lastComplete, keepFewer},
	},
	{
		Name:  "write-failed",
		Root:  "A checkpoint could not be written to its end; most often the disk or quota is used up, else the storage failed during the write. The file of that moment is cut off.",
		Fixes: []report.Fix{showSpace, lastComplete, freeSpace},
	},
	{
		Name: "path-not-writable",
		Root: "The user of the run may not write at this path, or the file system takes no such file: wrong owner, a read-only mount, or a name or size beyond its limits.",
		Fixes: []report.Fix{
			checkPath,
			change("Write to a path that the user of the run owns and that is mounted writable, or correct owner and mount", "a file can be created there; the next save completes", 300, 0.88),
		},
	},
	{
		Name:  "storage-fault",
		Root:  "The storage below the run failed or was detached: the network file system dropped the file, is locked, or the device gave an error. The program is not the reason.",
		Fixes: []report.Fix{checkPath, restartSame, change("Have the storage or the node repaired (server, network, device), or move the output to another file system", "the kernel log shows no further error; two saves complete", 3600, 0.7)},
	},
	{
		Name:  "rename-race",
		Root:  "Several processes renamed, created or removed the same folder: one was first and the others found it gone or in the way. The checkpoint of the first one may be complete.",
		Fixes: []report.Fix{lastComplete, change("Let one process alone rename and remove (on a shared file system one of the whole job, not one per node), or update the library to a version that does", "three saves complete on all nodes", 900, 0.85)},
	},
	{
		Name:  "checkpoint-path-missing",
		Root:  "The checkpoint, weights or folder that the run wants to load or to write into is not at this path on this machine.",
		Fixes: []report.Fix{checkPath, lastComplete, rightPath},
	},
	{
		Name:  "torn-checkpoint",
		Root:  "The file exists but is not whole or not what its name says: it was cut off while it was written or fetched, or it is another thing than weights.",
		When:  tornByFullDisk,
		Fixes: []report.Fix{checkPath, lastComplete, fetchAgain},
	},
	{
		Name: "lfs-pointer",
		Root: "The file is a Git LFS pointer of some hundred bytes: the repository was cloned without git-lfs, and the weights were never fetched.",
		When: lfsPointer,
		Fixes: []report.Fix{
			{
				Action: "Fetch the real file with git-lfs in the clone", Risk: report.Safe, ExpectedImpact: "removes the failure",
				Validate: "the file has the size that the pointer names; the load passes", Command: new("git lfs install && git lfs pull"),
				TimeToTrySeconds: 1800, Confidence: 0.93, Impact: 0.98, Reversible: true,
			},
			checkPath,
		},
	},
	{
		Name:  "weights-only",
		Root:  "This PyTorch loads weights only unless told otherwise, and the file holds other objects too (optimizer state, NumPy values, the trainer's arguments).",
		Fixes: []report.Fix{change("Where the file is trusted: load with weights_only=False or allow the named types with torch.serialization.add_safe_globals", "the load passes and training goes on from the saved step", 300, 0.9)},
	},
	{
		Name:  "state-does-not-fit",
		Root:  "The saved state belongs to another model, optimizer or tree of parameters than the run has built now, so it cannot be laid over it.",
		Fixes: []report.Fix{checkPath, change("Build model and optimizer as they were when the state was saved (same parameter groups, frozen layers, sharding), or load the weights alone", "the load passes and the first loss is near the old one", 900, 0.8)},
	},
	{
		Name:  "keys-differ",
		Root:  "The names in the checkpoint are not those of the model: it was saved from another class, with or without a wrapper (module., model., _orig_mod.), or holds something else.",
		Fixes: []report.Fix{checkPath, change("Map the names (strip or add the wrapper's prefix) or load into the object that was saved", "no key is missing or left over; the first loss is near the old one", 600, 0.85)},
	},
	{
		Name:  "loaded-nothing",
		Root:  "The weights were loaded in a way that tolerates missing names, and the names in the file are not those of the model (often a wrapper's prefix such as module. or _orig_mod.), so the run went on from random weights without an error.",
		Fixes: []report.Fix{lastComplete, change("Stop the run before it overwrites the good checkpoint, map the names (strip or add the prefix) and load with strict=True", "no key is missing or left over; the first loss is near the last one before the restart", 600, 0.9)},
	},
	{
		Name:  "world-size-differs",
		Root:  "The checkpoint was saved by another number of ranks or with other parallel sizes than the run has now, and its sharded state cannot be laid out anew on loading.",
		Fixes: []report.Fix{change("Start on as many ranks, with the same parallel sizes, as the checkpoint was saved with", "all ranks load their shard; step 1 after the resume completes", 600, 0.88), change("Convert the checkpoint to one that does not depend on the number of ranks (DeepSpeed universal checkpoint, consolidated weights), or load the weights without the optimizer state", "the load passes on the new number of ranks", 3600, 0.75)},
	},
	{
		Name:  "started-from-scratch",
		Root:  "A restart found no checkpoint where it looked and silently began anew from random weights; what was trained before is not in this run any more.",
		Fixes: []report.Fix{lastComplete, change("Stop the run that began anew, and make a missing checkpoint an error on restart (Megatron: --exit-on-missing-checkpoint)", "the restart ends with an error instead of step 0, or goes on from the saved step", 300, 0.8)},
	},
	{
		Name:  "hub-access",
		Root:  "The model files could not be had from the hub: no access to a gated or private repository, no token in the job, a wrong name, or no network from the node.",
		Fixes: []report.Fix{checkPath, change("Give the job a token that has access (accept the model's terms first), correct the name, or fetch the files beforehand and point to the local folder", "the files are in the cache of the node; the load passes", 900, 0.88)},
	},
	{
		Name:  "object-store",
		Root:  "The object store did not give or take the object: the key or bucket does not exist, or the service failed.",
		Fixes: []report.Fix{checkPath, restartSame, rightPath},
	},
}
