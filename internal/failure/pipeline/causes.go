package pipeline

import (
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

// The fixes that several causes share.
var (
	fetchTaskLog = report.Fix{
		Action: "Fetch the log of the first task or container that failed: the reason stands there, not in the orchestrator's message",
		Risk:   report.Safe, ExpectedImpact: "shows the exception or signal that ended the task", Validate: "the log ends with an exception, a signal or a refusal of a service",
		TimeToTrySeconds: 120, Confidence: 0.85, Impact: 0.5, Reversible: true, LeavesCause: true, Operation: new("fetch_evidence"),
	}
	describeTask = report.Fix{
		Action: "Describe the failed task, pod or job and read its events and the specification that was really submitted",
		Risk:   report.Safe, ExpectedImpact: "shows the field, image or object that is wrong", Validate: "an event or field names what the message complains of",
		TimeToTrySeconds: 120, Confidence: 0.75, Impact: 0.4, Reversible: true, LeavesCause: true, Operation: new("fetch_evidence"),
	}
)

// resubmit is a change of the specification; a person approves it.
func resubmit(action, validate string, seconds int, confidence float64) report.Fix {
	return report.Fix{
		Action: action, Risk: report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: validate,
		TimeToTrySeconds: seconds, Confidence: confidence, Impact: 0.95, Reversible: true,
	}
}

var causes = []failure.Cause{
	{
		Name: "container-cannot-start",
		Root: "The container of the task could not be started, so not one line of the training program ran: its command is no executable of the image, or the image does not fit the machine.",
		Fixes: []report.Fix{
			describeTask,
			resubmit("Correct command and args of the container (for a Python module: command [\"python\", \"-m\", \"module\"]) or leave them out so that the image's entrypoint runs, and submit again", "the container starts and the program's first line appears in its log", 600, 0.9),
		},
	},
	{
		Name: "missing-cluster-object",
		Root: "The pod names a secret, config map, volume claim or service account that does not exist in its namespace, so its container cannot be made.",
		Fixes: []report.Fix{
			describeTask,
			resubmit("Create the named object in the namespace of the pod, or correct its name in the specification", "the pod leaves ContainerCreating and runs", 600, 0.92),
		},
	},
	{
		Name: "image-not-found",
		Root: "The image that the step names could not be had: the tag was never pushed or built, the name is wrong, or the registry refuses this puller. The program never started.",
		Fixes: []report.Fix{
			describeTask,
			resubmit("Push or build the named tag, or point the step to one that exists, and submit again", "the pod leaves ImagePullBackOff and its log begins", 900, 0.9),
		},
	},
	{
		Name:  "task-program-failed",
		Root:  "The program in the task's container ended with an error, and the orchestrator only passes on its exit code. The reason stands in the container's own log.",
		Fixes: []report.Fix{fetchTaskLog, describeTask},
	},
	{
		Name:  "upstream-task-failed",
		Root:  "One task failed and everything behind it was not started; the first failed task is the only one to repair.",
		Fixes: []report.Fix{fetchTaskLog, describeTask},
	},
	{
		Name:  "service-refused",
		Root:  "The service refused or failed the task itself, before or outside of the training program.",
		Fixes: []report.Fix{describeTask, resubmit("Correct what the service's message names and submit the task again", "the task enters RUNNING and stays there for 10 minutes", 900, 0.75)},
	},
	{
		Name:  "missing-input",
		Root:  "An input of the task is not there: an artifact, object or parameter that an earlier step should have left, or a path that does not exist.",
		Fixes: []report.Fix{describeTask, resubmit("Bring the named input to the path that the task reads, or run the step that makes it without the cache, and submit again", "the task reads its input and goes on", 900, 0.82)},
	},
	{
		Name: "output-not-seen",
		Root: "The program of the step may have done its work, but the orchestrator does not see the files that the step declares: they were written elsewhere or under another name, or the file system shows them late.",
		Fixes: []report.Fix{
			{
				Action: "List the declared paths now and compare them with what the program's log says that it saved", Risk: report.Safe,
				ExpectedImpact: "shows whether the files are late, elsewhere or were never written", Validate: "the files are there now (late), or lie at another path",
				TimeToTrySeconds: 120, Confidence: 0.8, Impact: 0.5, Reversible: true, LeavesCause: true, Operation: new("fetch_evidence"),
			},
			resubmit("Where the file system is slow let the orchestrator wait longer for outputs (Snakemake: --latency-wait 60), else correct the declared or the written path, and run the step again", "the step counts as finished and the next one starts", 600, 0.85),
		},
	},
	{
		Name:  "artifact-conflict",
		Root:  "Parallel branches left different values under one name, and the step that joins them refuses to choose. The training in the branches is not the reason.",
		Fixes: []report.Fix{describeTask, resubmit("Set the named artifacts explicitly in the joining step before merging, or leave them out of the merge, and resume the run", "the joining step ends and the finished branches are not run again", 600, 0.9)},
	},
	{
		Name:  "metric-not-collected",
		Root:  "The trial itself ended well, but the value of its objective was not found in its output: the name or the form that is printed is not the one that the collector looks for.",
		Fixes: []report.Fix{describeTask, resubmit("Print the objective under the very name and in the form that the collector parses (Katib: name=value on a line), or give the collector a filter that fits what is printed, and start again", "the first trial shows a value of the objective", 600, 0.9)},
	},
	{
		Name:  "bad-spec",
		Root:  "The specification of the pipeline or job is not valid: a parameter, type, machine or placement in it does not exist or does not fit.",
		Fixes: []report.Fix{describeTask, resubmit("Correct the named field or parameter in the specification, compile anew and submit", "the service accepts the specification and the first task runs", 900, 0.85)},
	},
	{
		Name:  "component-compiled-otherwise",
		Root:  "The component was compiled for another mode or version of KFP than the one that runs it: placeholders stay unresolved and the executor cannot parse what it is given. The data play no part.",
		Fixes: []report.Fix{describeTask, resubmit("Compile the pipeline with the compiler of the components' mode (the KFP 2 compiler for @dsl.component) and run it on a backend of that version", "the executor starts the component's own function", 1800, 0.88)},
	},
	{
		Name:  "time-limit",
		Root:  "The job or step ran into a time limit of the orchestrator, not into an error of its own.",
		Fixes: []report.Fix{fetchTaskLog, resubmit("Raise the limit, or make the job resume from its checkpoints so that several runs finish it", "the job passes the old limit, or the second run goes on from the saved step", 600, 0.82)},
	},
}
