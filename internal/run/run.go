// Package run is the vocabulary of what a run shows: streams of text, samples
// of metrics, facts, checkpoints, processes, tasks, and what could not be seen.
// It holds values only; it reads nothing and decides nothing.
package run

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Ref points at one line of one file of the target. Line is 1-based and counts
// \n only; Offset is the byte offset of the (sub-)line in the decoded stream.
type Ref struct {
	File   string
	Line   int
	Offset int64
}

// String is the form "file:line" that evidence is written in.
func (r Ref) String() string {
	if r.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// NoRank is the rank of a line or stream that does not name one.
const NoRank = -1

// Stream is the new text of one file, rank or task. Open may be called when the
// stream's turn comes; the caller closes what it returns. A stream that is an
// io.ReaderAt too may be read in segments.
//
// A later observation goes on with a stream under the same name. If the file was
// replaced or truncated meanwhile, there are up to two of the name, in order:
// what was left of the old file, then the new one, whose Offset and FirstLine
// begin anew. Both are the same log.
type Stream struct {
	Name    string // relative to the target; unique within an observation but for a file that was replaced
	Rank    int    // NoRank when the name does not tell
	Size    int64  // bytes, 0 when unknown
	Live    bool   // a process or service still writes it
	Open    func(ctx context.Context) (io.ReadCloser, error)
	ModTime time.Time

	// Kind says what the text is: "log" (also ""), or an export beside the log:
	// "dmesg", "pod", "ps", "df", "free", "nvidia-smi", "slurm", "pyspy", "gdb",
	// "listing", "json", "other".
	Kind string
	// Offset is where the new bytes begin in the decoded stream. A line that was
	// cut at the end of the last look is given again, whole, from its beginning.
	Offset int64
	// FirstLine is the number of the line at Offset; 0 means that the reader
	// goes on counting (or starts at 1 at offset 0).
	FirstLine int
}

// Sample is one value of one metric at one step.
type Sample struct {
	Name  string // as it is spelled
	Step  int64  // global step, -1 when unknown
	Value float64
	At    time.Time
	Ref   Ref
	// Tracker is who recorded it, "" where only one does: two records of one run
	// MUST NOT become one series.
	Tracker string
}

// Fact is one thing known about the run: a configuration value, an exit code, a
// resource reading. Keys are dotted, lower case: "config.fp16", "exit.code",
// "disk.used_percent", "pod.reason".
type Fact struct {
	Key   string
	Value string
	From  Ref
}

// Gap is something that could not be seen: what, why, and the smallest thing to
// ask the user for.
type Gap struct {
	What, Why, Ask string
}

// Checkpoint is one saved state. Complete is nil when it cannot be told.
type Checkpoint struct {
	Path       string
	Format     string // hf, safetensors, torch, deepspeed, megatron, lightning, dcp, orbax, tensorflow
	Step       int64  // -1 when the name does not tell
	Complete   *bool
	Why        string
	ModifiedAt time.Time
	Size       int64
	Ref        Ref // where it was seen, if in a listing
}

// Task is one task of a pipeline or one replica of a job.
type Task struct {
	Name       string
	State      string // as the service spells it
	Error      string
	Start, End time.Time
	Job        string   // the job behind it, if any
	Earlier    []string // jobs of its attempts that failed before, in order
	Group      bool     // it only holds other tasks: a nested pipeline, the rounds of a loop
	Ref        Ref
}

// Pipeline is the state of an orchestrated run.
type Pipeline struct {
	Name  string
	State string
	Kind  string // "pipeline", "custom-job", "pod", "job"
	Error string
	Tasks []Task
	Ref   Ref

	Resource   string // the full name under which its service knows it, if that was seen
	Machine    string // what its first worker runs on: "n1-standard-8 + 4x T4"
	Start, End time.Time
}

// Process is one process of the run, from a live system or from a listing.
type Process struct {
	PID, PPID int
	State     string // R, S, D, Z, T
	Command   string
	WChan     string
	CPU       float64
	RSS       int64
	Rank      *int // of the run; nil when nothing tells it
	Ref       Ref
}

// Observation is everything new since the last look.
type Observation struct {
	At          time.Time
	Streams     []Stream
	Samples     []Sample // valid until the next look where More is set: a copy costs more than what is read
	Facts       []Fact
	Checkpoints []Checkpoint
	Processes   []Process
	Pipeline    *Pipeline
	Gaps        []Gap
	Next        Cursor
	More        bool // a log has more than this look was allowed to give: look again at once
}

// Cursor says where the next observation goes on; it can be serialized.
type Cursor map[string]string
