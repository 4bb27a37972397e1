package run

// Keys of facts that a live source gives and others read. What a live system
// shows has no From.File to point at, and of a key only the newest value counts:
// a reading, not a record.
const (
	// FactLog is what became of a log since the last look, one of the words
	// below; From.File is the log's name.
	FactLog = "log.event"

	// The process of the run: the topmost one, if it has others below it.
	FactPID       = "process.pid"
	FactState     = "process.state"      // R, S, D, T as the kernel says it, or Z for a zombie, ProcessGone
	FactCommand   = "process.command"    // its arguments as a shell takes them, secrets redacted
	FactCwd       = "process.cwd"        // where it works
	FactStart     = "process.start_time" // RFC 3339, UTC
	FactUser      = "process.user"
	FactWChan     = "process.wchan"       // where in the kernel it waits, 0 while it does not
	FactChildren  = "process.children"    // how many processes are below it: ranks, loader workers
	FactBlocked   = "process.blocked"     // how many of all of them are in state D
	FactRSS       = "process.rss_bytes"   // of all of them together; shared pages count for each
	FactOpenFiles = "process.open_files"  // descriptors of the topmost one
	FactCPU       = "process.cpu_seconds" // processor time that they used, those that ended and were waited for too
	FactExitCode  = "exit.code"           // 128 + the signal's number if a signal ended it
	FactExitSig   = "exit.signal"         // SIGKILL …
	FactOOMKills  = "cgroup.oom_kill"     // of the process's cgroup, counted since it exists: that it grows is what matters
	FactMemoryMax = "cgroup.max_bytes"    // the cgroup's limit; not there when there is none
	FactMemoryNow = "cgroup.current_bytes"

	// FactGPUError is what a GPU tool said instead of readings.
	FactGPUError = "gpu.error"

	// FactDeadline is when the run's wall-clock limit ends, RFC 3339.
	FactDeadline = "job.deadline"

	// FactTaskError is what an orchestrator's own log says of an attempt of a task
	// that failed, which it may repeat: "name: message".
	FactTaskError = "task.log_error"
	// What an experiment tracker says of the run: a claim, not the truth.
	FactTracker      = "tracker.kind"         // W&B, MLflow
	FactTrackerRun   = "tracker.run"          // as the tracker names it
	FactTrackerState = "tracker.state"        // as the tracker spells it
	FactTrackerStart = "tracker.started_at"   // RFC 3339, UTC
	FactTrackerBeat  = "tracker.heartbeat_at" // when it last heard from the run; RFC 3339, UTC

	// The host.
	FactMemoryTotal     = "memory.total_bytes"
	FactMemoryAvailable = "memory.available_bytes"
	FactShmSize         = "shm.size_bytes" // of /dev/shm
	FactShmAvail        = "shm.avail_bytes"
)

// Ulimit is before what is limited, as ulimit -a names it: "open_files".
const Ulimit = "ulimit."

// FactTrackerEnd is when a tracker was told that the run ended; RFC 3339, UTC.
const FactTrackerEnd = "tracker.ended_at"

// DiskSize and the others follow "disk." and the mount point of a file system
// that the run writes to.
const (
	DiskSize   = ".size_bytes"
	DiskAvail  = ".avail_bytes" // what an ordinary user may still write
	DiskUsed   = ".used_percent"
	DiskInodes = ".inodes_used_percent"
)

// GPU is before the index of a device; the others follow that index.
const (
	GPU         = "gpu."
	GPUName     = ".name"
	GPUUtil     = ".utilization" // percent
	GPUUsed     = ".memory_used_mib"
	GPUTotal    = ".memory_total_mib"
	GPUFault    = ".fault"              // what the driver says of a device that does not answer
	GPUOthers   = ".others"             // "true" of a device that the run does not use
	GPUForeign  = ".foreign_memory_mib" // held by processes that are not of the run, "0" when they left
	GPUStranger = ".foreign_process"    // the one of them that holds most
)

// ProcessGone is the FactState of a process that does not exist any more.
const ProcessGone = "gone"

// What can become of a log that is followed.
const (
	LogRotated   = "rotated"   // renamed, and a new file has its name; the rest of the old one was read first
	LogReplaced  = "replaced"  // a new file has its name, the old one is gone
	LogTruncated = "truncated" // it was emptied, and written anew from its start or behind a hole
	LogVanished  = "vanished"  // no file has its name
	LogBack      = "back"      // a file has its name again
)
