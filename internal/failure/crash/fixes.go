package crash

import (
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

var (
	restart = report.Fix{
		Action: "Start the unchanged command again, from the newest complete checkpoint", Risk: report.Safe,
		ExpectedImpact: "gets the run going", Validate: "the run passes the step of its end by 200 steps",
		TimeToTrySeconds: 600, Confidence: 0.6, Impact: 0.6, Reversible: true, LeavesCause: true, Operation: new("restart"),
	}
	kernelLog = failure.Look("Read the kernel log of the time of death: an out-of-memory kill, a segfault or a hardware error stands there",
		"says who killed the process", "a line names the process id", "dmesg -T | grep -iE 'killed process|oom-kill|segfault|NVRM' | tail -n 20", 60, 0.85)
	fewerWorkers = failure.Change("Reduce loader workers and prefetching, so that the host's memory suffices", "less memory and fewer processes on the host",
		"host memory stays below 85 % and the run passes the step of its end by 200 steps", 300, 0.65, 0.8)
	noWorkers = failure.Change("Repeat with num_workers=0: the error then shows in the main process", "names the sample or the library that ends the worker",
		"the run fails with a traceback, or passes", 600, 0.6, 0.5)
	shmSize = failure.Change("Give the container more shared memory (docker --shm-size=16g or --ipc=host; kubernetes: an emptyDir with medium Memory at /dev/shm)",
		"removes the failure", "df shows the new size; 200 steps pass", 300, 0.9, 0.98)
	shmLook  = failure.Look("Look at the size and use of /dev/shm inside the container", "shows that it is small or full", "it has less than 1 GB free", "df -h /dev/shm", 30, 0.85)
	coreDump = failure.Look("Get the native stack: run with PYTHONFAULTHANDLER=1, or open the core dump in gdb",
		"names the library and the call", "the innermost frames are the same in each failure", "", 900, 0.75)
	pinVersions = failure.Change("Use versions that are built for each other: the named library, the framework and CUDA from one release",
		"removes the failure if the library is at fault", "the run passes the step of its end by 200 steps", 1800, 0.65, 0.9)
	oneThread = failure.Change("Limit the threads of each rank: OMP_NUM_THREADS and OPENBLAS_NUM_THREADS to cores divided by ranks",
		"the ranks stay below the limit", "all ranks import and pass 50 steps", 120, 0.88, 0.95)
	raiseLimit = failure.Change("Raise the limit of processes (ulimit -u) for the user or the job", "moves the limit", "ulimit -u shows the new value; all ranks start", 600, 0.75, 0.9)
	moreFiles  = failure.Change("Raise the limit of open files (ulimit -n 65536), or share tensors by file system (torch.multiprocessing.set_sharing_strategy(\"file_system\"))",
		"removes the failure", "one epoch passes", 300, 0.85, 0.95)
	showLimits = failure.Look("Show the limits of the shell that starts the run", "shows the limit that was reached", "the value is near the number of threads or files", "ulimit -a", 30, 0.8)
	detached   = failure.Change("Start the run detached from the terminal: in tmux or screen, by setsid, by systemd-run or as a job of the scheduler",
		"closing the session no longer reaches the launcher", "log out and in again: the run goes on for 200 steps", 300, 0.92, 0.98)
	saveOften   = failure.Change("Save a checkpoint more often, and on the warning signal", "less is lost at the next interruption", "a checkpoint is written within the notice time", 1800, 0.7, 0.5)
	longerLimit = failure.Change("Ask for a longer time limit, or split the run into jobs that resume from each other", "the job can end", "the job passes the old limit or resumes by itself", 300, 0.8, 0.9)
	whoEnded    = failure.Look("Ask the scheduler's record and the other ranks' logs who sent the signal", "finds the failure that came first, or the person",
		"a record shows a limit, a cancel or another rank's failure", "", 120, 0.75)
)
