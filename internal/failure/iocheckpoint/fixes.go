package iocheckpoint

import "github.com/trainmedic/trainmedic/internal/report"

// The fixes that several causes share.
var (
	lastComplete = report.Fix{
		Action: "Point the resume path at the newest checkpoint that is complete",
		Risk:   report.Safe, ExpectedImpact: "the run goes on from the last whole state; the steps since are done again", Validate: "the resume log names that step, and the first loss is near the one before the failure",
		TimeToTrySeconds: 300, Confidence: 0.75, Impact: 0.8, Reversible: true, Operation: new("repoint_checkpoint"),
	}
	freeSpace = report.Fix{
		Action: "Free space on the full file system (old runs, caches, surplus checkpoints: a person decides which) or write to another one",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "df shows room for at least two checkpoints; the next save completes",
		TimeToTrySeconds: 900, Confidence: 0.92, Impact: 0.95, Reversible: false,
	}
	showSpace = report.Fix{
		Action: "Look at the free space, the inodes and the quota of the file system that the run writes to",
		Risk:   report.Safe, ExpectedImpact: "shows which file system is full, and by how much", Validate: "a mount with 100 % used, or a quota without rest",
		Command: new("df -h"), TimeToTrySeconds: 30, Confidence: 0.8, Impact: 0.4, Reversible: true, LeavesCause: true,
	}
	keepFewer = report.Fix{
		Action: "Keep fewer checkpoints (save_total_limit, save_top_k or their like) and save more seldom",
		Risk:   report.NeedsApproval, ExpectedImpact: "the disk does not fill again", Validate: "the number of checkpoint folders stays at the limit over three saves",
		TimeToTrySeconds: 120, Confidence: 0.8, Impact: 0.6, Reversible: true,
	}
	checkPath = report.Fix{
		Action: "List the folder of the path that the error names, on the machine where the run runs",
		Risk:   report.Safe, ExpectedImpact: "shows whether the file is missing, elsewhere, empty or not readable", Validate: "the listing shows the file with its size and owner, or that it is not there",
		TimeToTrySeconds: 60, Confidence: 0.75, Impact: 0.4, Reversible: true, LeavesCause: true,
	}
	rightPath = report.Fix{
		Action: "Correct the path, mount the volume that holds it, or create the folder before the save",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the load or the next save passes",
		TimeToTrySeconds: 300, Confidence: 0.85, Impact: 0.95, Reversible: true,
	}
	fetchAgain = report.Fix{
		Action: "Fetch or copy the file again from where it is whole, and compare size or checksum",
		Risk:   report.Safe, ExpectedImpact: "removes the failure where the copy was cut off", Validate: "the size equals the source's; the load passes",
		TimeToTrySeconds: 900, Confidence: 0.8, Impact: 0.85, Reversible: true,
	}
	restartSame = report.Fix{
		Action: "Start again unchanged from the last complete checkpoint once the storage answers",
		Risk:   report.Safe, ExpectedImpact: "the run goes on; the storage may fail again", Validate: "the next two saves complete",
		TimeToTrySeconds: 600, Confidence: 0.6, Impact: 0.7, Reversible: true, LeavesCause: true, Operation: new("restart"),
	}
)
