package run

// Keys of the quantities that a watch follows from look to look; bytes unless
// said otherwise.
const (
	FactDiskFree    = "disk.free"           // of the file system that the run writes to
	FactMemory      = "process.rss"         // of the run's processes together
	FactMemoryLimit = "cgroup.memory_limit" // of their control group
	FactHostMemory  = "host.memory_total"
	FactCPU         = "process.cpu_seconds" // processor time that they used, in seconds
	FactDeadline    = "job.deadline"        // when the run's wall-clock limit ends, RFC 3339
)

// FactProcess is the state of the run's process, one of the words below.
const FactProcess = "process.state"

// What a process may be.
const (
	ProcessGone = "gone"
)
