package stalled

import (
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

var causes = []failure.Cause{
	{
		Name: "waits-for-input",
		Root: "The program asks a person at the terminal and waits for the answer; in a batch job, a detached screen or a container nobody gives it.",
		Fixes: []report.Fix{
			{
				Action: "Give the answer beforehand: a key or token in the environment, a config entry, or the flag that switches the question off (for W&B: WANDB_API_KEY, or WANDB_MODE=offline)", Risk: report.NeedsApproval,
				ExpectedImpact: "the program goes on without asking", Validate: "the log passes the question and the first steps are reported", TimeToTrySeconds: 120, Confidence: 0.9, Impact: 0.95, Reversible: true,
			},
			{
				Action: "See what the process waits for", Risk: report.Safe, ExpectedImpact: "a process that reads its terminal confirms it", Validate: "wchan shows n_tty_read or a read of file descriptor 0",
				TimeToTrySeconds: 60, Confidence: 0.8, Impact: 0.4, Reversible: true, LeavesCause: true,
			},
		},
	},
	{
		Name:  "stale-lock",
		Root:  "A process waits for a lock file that no living process will release: left by an interrupted run, or on a network file system where locks do not work.",
		Fixes: []report.Fix{whoHoldsLock, removeLock, localCache},
	},
	{
		Name:  "ranks-never-started",
		Root:  "Fewer ranks were started than the world size says, so that those that run wait for the others in the rendezvous.",
		Fixes: []report.Fix{countRanks, launchAll},
	},
	{
		Name:  "loader-workers",
		Root:  "The loader's workers stand still: forked while another thread held a lock, or waiting for storage; the main process waits for a batch that never comes.",
		Fixes: []report.Fix{dumpStacks, spawnWorkers, noThreads},
	},
	{
		Name:  "input-starves",
		Root:  "The steps themselves are as fast as before and wait for their input: the loader's workers, the storage or the host's CPU no longer deliver as fast as the device takes.",
		Fixes: []report.Fix{processStates, otherStorage, dumpStacks},
	},
	{
		Name: "gpu-throttled",
		Root: "The driver holds a GPU of the run below its clocks, for its heat or its power supply, and in synchronous training all ranks wait for the slowest one.",
		Fixes: []report.Fix{
			{
				Action: "Show temperature, clocks and the reasons for throttling of all GPUs", Risk: report.Safe, ExpectedImpact: "names the GPU and the reason", Validate: "one GPU has a slowdown reason that is active", Command: new("nvidia-smi -q -d PERFORMANCE,TEMPERATURE,CLOCK"),
				TimeToTrySeconds: 60, Confidence: 0.9, Impact: 0.5, Reversible: true, LeavesCause: true,
			},
			{
				Action: "Take the node out of service (cooling, fan, power supply, dust) and go on elsewhere from the last complete checkpoint", Risk: report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the rate is back at its early level for 200 steps",
				TimeToTrySeconds: 1800, Confidence: 0.88, Impact: 0.95, Reversible: true,
			},
		},
	},
	{
		Name:  "compilation",
		Root:  "The compiler of the step does not come to an end: it folds constants or unrolls a program that is far larger than meant, most often because data was closed over instead of passed in.",
		Fixes: []report.Fix{passArguments, dumpStacks},
	},
	{
		Name:  "storage-hang",
		Root:  "The storage did not answer: processes wait in the kernel for a file server or disk.",
		Fixes: []report.Fix{processStates, otherStorage},
	},
	{
		Name:  "hangs-at-the-end",
		Root:  "The work was done, and the process did not end: it waited for an upload, for a thread or for other ranks on the way out, until a limit or a person ended it. What it had saved is complete.",
		Fixes: []report.Fix{useResult, dumpStacks, offlineTracking},
	},
	{
		Name:  "no-resources",
		Root:  "The job asks for resources that the cluster does not have or does not give: more memory, cores or accelerators than a node has free, or workers that never register; so it waits and never starts.",
		Fixes: []report.Fix{compareResources, smallerRequest},
	},
	{
		Name:  "no-progress",
		Root:  "The run was alive and made no progress; what it waited for is not in what was read.",
		Fixes: []report.Fix{dumpStacks, processStates, restart},
	},
}

var (
	dumpStacks = failure.Look("Dump the stacks of all processes of the run (py-spy dump --pid N for each) and compare them between ranks",
		"shows what each waits for", "one process is where the others are not, or all wait for the same lock", "", 300, 0.8)
	passArguments = failure.Change("Pass large arrays to the compiled function as arguments instead of closing over them, and compile on a small size first",
		"the compiler meets no constant that it could fold", "the first step is reported within minutes", 900, 0.75, 0.85)
	processStates = failure.Look("List state and wait channel of the run's processes", "tells waiting for storage (D) from waiting for each other (S in futex)",
		"the states explain the standstill", "ps -eo pid,ppid,stat,wchan:32,etime,cmd --sort=ppid", 60, 0.7)
	restart = failure.Change("End the run and start the unchanged command again from the newest complete checkpoint",
		"gets the run going", "the run passes the step of the standstill by 200 steps", 900, 0.5, 0.6)
	whoHoldsLock = failure.Look("See whether a living process holds the lock file, on this host and on the others that share the folder",
		"tells a stale lock from a slow build", "no process has it open", "", 120, 0.85)
	removeLock = failure.Change("Remove the stale lock file (and the half-built folder beside it), then start again",
		"removes the wait", "the build ends within minutes and training starts", 120, 0.85, 0.9)
	useResult = failure.Look("Check the last checkpoint and the metrics that were written: the training itself had ended", "the result of the run can be used as it is",
		"the checkpoint of the last step loads and its evaluation gives the logged value", "", 300, 0.85)
	offlineTracking = failure.Change("Switch the tracker's upload off in the job and upload afterwards (WANDB_MODE=offline, then wandb sync)", "the end of the job does not depend on the network",
		"the job ends within minutes after its last step", 300, 0.7, 0.8)
	compareResources = failure.Look("Compare what one worker asks for (cores, memory, accelerators) with what a node of the cluster offers and has free", "names the request that cannot be met",
		"one figure of the request exceeds what any node offers", "", 180, 0.85)
	smallerRequest = failure.Change("Lower the request of a worker to what a node offers, or start the workers that are missing", "the scheduler can place the job",
		"the workers register within minutes, and 50 steps pass", 600, 0.8, 0.95)
	localCache = failure.Change("Put caches that use locks on a local disk (for example TRITON_CACHE_DIR, TORCH_EXTENSIONS_DIR)",
		"locks work there", "the run passes the place of the standstill", 300, 0.85, 0.95)
	countRanks = failure.Look("Compare the world size with the processes that were started on each node", "names the ranks that are missing",
		"fewer processes run than the world size", "", 120, 0.85)
	launchAll = failure.Change("Start one process per rank on every node (with SLURM: srun, and --ntasks-per-node equal to the GPUs per node), or set the world size to what is started",
		"all ranks meet", "the log shows that all ranks joined; 50 steps pass", 600, 0.85, 0.95)
	spawnWorkers = failure.Change("Start the loader's workers with multiprocessing_context=\"forkserver\" or \"spawn\", or before any thread is started",
		"no worker inherits a held lock", "validation and training pass 200 steps each", 600, 0.75, 0.95)
	noThreads = failure.Change("Switch the libraries' own threads off in the workers (cv2.setNumThreads(0), OMP_NUM_THREADS=1)",
		"fewer locks to inherit", "validation and training pass 200 steps each", 300, 0.55, 0.7)
	otherStorage = failure.Change("Move data and checkpoints of the run to storage that answers, until the file server is repaired",
		"removes the wait", "reading a file of the data set takes its usual time; 200 steps pass", 3600, 0.7, 0.9)
)
