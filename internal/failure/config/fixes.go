package config

import "github.com/trainmedic/trainmedic/internal/report"

// The fixes that several causes share.
var (
	compareConfig = report.Fix{
		Action: "Compare the resolved configuration that the run printed with that of the last run that worked, key by key",
		Risk:   report.Safe, ExpectedImpact: "shows the setting that differs", Validate: "the setting named by the error is among the differences",
		TimeToTrySeconds: 300, Confidence: 0.6, Impact: 0.4, Reversible: true, LeavesCause: true,
	}
	correctValue = report.Fix{
		Action: "Change the setting that the error names to one that the program accepts",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the run passes this check and its first 50 steps",
		TimeToTrySeconds: 300, Confidence: 0.8, Impact: 0.95, Reversible: true,
	}
	listVersions = report.Fix{
		Action: "List the installed versions beside the ones that the code and its packages ask for",
		Risk:   report.Safe, ExpectedImpact: "shows which package is missing or of the wrong version", Validate: "the list names the conflict",
		Command: new("python -m pip check"), TimeToTrySeconds: 60, Confidence: 0.7, Impact: 0.4, Reversible: true, LeavesCause: true,
	}
	pinVersions = report.Fix{
		Action: "Install the version that the code was written for (or move the code to the installed one) in the environment or image of the run",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the import or call passes on every node; 50 steps pass",
		TimeToTrySeconds: 900, Confidence: 0.85, Impact: 0.95, Reversible: true,
	}
	rebuild = report.Fix{
		Action: "Reinstall the compiled package against the installed PyTorch and CUDA (a matching wheel, or a build without the pip cache)",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "python imports the package alone without an error",
		TimeToTrySeconds: 1800, Confidence: 0.85, Impact: 0.95, Reversible: true,
	}
	torchEnvironment = report.Fix{
		Action: "Print PyTorch's version, the CUDA it was built with, the driver and the compilers",
		Risk:   report.Safe, ExpectedImpact: "shows which of them do not fit", Validate: "the report names the versions",
		Command: new("python -m torch.utils.collect_env"), TimeToTrySeconds: 60, Confidence: 0.75, Impact: 0.4, Reversible: true, LeavesCause: true,
	}
	readCode = report.Fix{
		Action: "Correct the code at the innermost frame of the traceback that is the project's own",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the same call passes in a short run on one process",
		TimeToTrySeconds: 1800, Confidence: 0.75, Impact: 0.9, Reversible: true,
	}
)
