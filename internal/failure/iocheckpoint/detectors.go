package iocheckpoint

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var detectors = []failure.Detector{
	{
		Name: "restart-from-scratch",
		Doc:  "A run that had made progress found no checkpoint on restart and began anew.",
		Run:  fromScratch,
	},
	{
		Name: "best-model-lost",
		Doc:  "The best checkpoint was gone when the Trainer wanted it, and the last weights were kept in its place.",
		Run:  bestModelLost,
	},
	{
		Name: "weights-under-other-names",
		Doc:  "A tolerant load misses keys that the file holds under another prefix.",
		Run:  underOtherNames,
	},
	{
		Name: "resumed-with-fresh-weights",
		Doc:  "A run goes on at its step with several times the loss that it had there.",
		Run:  resumedFresh,
	},
	{
		Name: "exception-in-checkpoint-code",
		Doc:  "An exception that no signature knows, raised inside code that saves or loads checkpoints.",
		Run:  checkpointExceptions,
	},
	{
		Name: "full-disk-beside-a-crash",
		Doc:  "A process that ended while it saved, and a file system without room beside it.",
		Run:  crashOnFullDisk,
	},
	{
		Name: "ended-at-a-failed-load",
		Doc:  "A run that reports a failed load or save as its last word and made no step after it, whatever its exit code says.",
		Run:  endedAtLoad,
	},
}

// fullPercent is the used share from which a file system counts as full: ext4
// keeps some blocks for root, and df rounds up.
const fullPercent = 99.0

var (
	ioFrames = regexp.MustCompile(`(?i)save_checkpoint|load_checkpoint|resume_(from|checkpoint)|restore_checkpoint|torch/serialization\.py|safetensors|orbax/|tensorstore|dist_checkpointing|distributed/checkpoint/|_save_checkpoint|save_pretrained|ModelCheckpoint|model_checkpoint\.py|checkpoint_(io|connector|saver|manager|utils?)\.py|checkpointing\.py|saving_(api|lib|utils)\.py`)
	ioTypes  = regexp.MustCompile(`(?i)memory|keyboard|cuda|nccl|import|syntax`)
	ioWords  = regexp.MustCompile(`(?i)cuda|nccl|out of memory|size mismatch`)
	saving   = regexp.MustCompile(`(?i)\bsav(e|ing)\b|checkpoint|writing`)
)

// fromScratch sees a restart that began anew after real progress.
func fromScratch(f *casefile.File) []failure.Sighting {
	for _, e := range f.EventsOf("megatron-tracker-missing") {
		if s := scratch(f, e); s != nil {
			return []failure.Sighting{*s}
		}
	}
	for _, e := range f.EventsOf("deepspeed-latest-missing") {
		if s := scratch(f, e); s != nil {
			return []failure.Sighting{*s}
		}
	}
	return nil
}

func scratch(f *casefile.File, e *casefile.Event) *failure.Sighting {
	r := e.Stream.Readers[e.Rank]
	if r == nil {
		r = f.Main()
	}
	if e.Step < 1 && (r == nil || r.Progress().RewoundTo < 0) {
		return nil
	}
	s := &failure.Sighting{
		Type: report.AnomalyCheckpointFailure, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.85, Cause: "started-from-scratch",
		Rank: e.Rank, Step: e.Step, Ref: e.Ref, Text: e.Text, Status: report.Degraded,
		Says: "A restart found no checkpoint and began anew from random weights.",
	}
	if e.Step > 0 {
		s.Says = fmt.Sprintf("A restart found no checkpoint and began anew from random weights, though step %d had been reached.", e.Step)
	}
	if e.LastRef != e.Ref {
		s.Ref, s.Also = e.LastRef, []run.Ref{e.Ref}
	}
	return s
}

// checkpointExceptions sees the exceptions that only their frames explain.
func checkpointExceptions(f *casefile.File) []failure.Sighting {
	var out []failure.Sighting
	for _, t := range f.Tracebacks {
		if t.Known != nil || f.TracebackRecovered(t) || ioTypes.MatchString(t.Type) || ioWords.MatchString(t.Message) || !t.InFrames(ioFrames) {
			continue
		}
		text, _, _ := strings.Cut(t.Message, "\n")
		out = append(out, failure.Sighting{
			Type: report.AnomalyCheckpointFailure, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.6, Cause: "state-does-not-fit",
			Rank: t.Rank, Step: t.Step, Ref: t.Ref, Text: t.Type + ": " + text,
			Says:     fmt.Sprintf("%s was raised in code that saves or loads a checkpoint.", t.Type),
			YieldsTo: []report.Class{report.OOM, report.CUDA, report.NCCL, report.Config, report.Crash},
		})
	}
	return out
}

// crashOnFullDisk sees a log whose last lines save something, on a disk that is
// full: a C++ writer aborts without naming the disk.
func crashOnFullDisk(f *casefile.File) []failure.Sighting {
	full := fullMounts(f)
	if len(full) == 0 || !died(f) {
		return nil
	}
	for _, s := range f.Logs() {
		n := len(s.Tail)
		for i := n - 1; i >= 0 && i >= n-12; i-- {
			if l := s.Tail[i]; saving.MatchString(l.Text) {
				return []failure.Sighting{{
					Type: report.AnomalyCheckpointFailure, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.6, Cause: "disk-full",
					Rank: l.Rank, Step: -1, Ref: l.Ref, Text: l.Text, Also: []run.Ref{full[0].From},
					Says: fmt.Sprintf("The log ends while something is saved, and %s is full.", run.Name(mountOf(full[0]))),
				}}
			}
		}
	}
	return nil
}

// died reports whether something says that a process ended by an error.
func died(f *casefile.File) bool {
	if v := f.Value("exit.code"); v != "" && v != "0" {
		return true
	}
	for _, e := range f.Events {
		if e.Sign.Class == report.Crash && !f.Recovered(e) {
			return true
		}
	}
	return false
}

// fullMounts lists the facts of file systems without room.
func fullMounts(f *casefile.File) []run.Fact {
	var out []run.Fact
	for _, v := range f.FactsUnder("disk.") {
		if !strings.HasSuffix(v.Key, ".used_percent") && !strings.HasSuffix(v.Key, ".inodes_used_percent") {
			continue
		}
		p, err := strconv.ParseFloat(strings.TrimSuffix(v.Value, "%"), 64)
		if err == nil && p >= fullPercent && !quietMount(mountOf(v)) {
			out = append(out, v)
		}
	}
	return out
}

// quietMount names file systems that are full by nature: images and snaps.
func quietMount(m string) bool {
	return strings.HasPrefix(m, "/snap") || strings.HasPrefix(m, "/dev") || strings.HasPrefix(m, "/sys") || strings.HasPrefix(m, "/run") || strings.Contains(m, "squashfs") || strings.HasPrefix(m, "/cvmfs")
}

func mountOf(v run.Fact) string {
	m := strings.TrimPrefix(v.Key, "disk.")
	m = strings.TrimSuffix(m, ".inodes_used_percent")
	return strings.TrimSuffix(m, ".used_percent")
}

// fullDisk is the evidence that the disk is what a failed write failed of.
func fullDisk(f *casefile.File) (float64, []casefile.Evidence) {
	failed := false
	for _, id := range []string{"torch-writer-failed", "torch-writer-position", "torch-writer-iostream", "safetensors-save", "checkpoint-save-failed-logged", "disk-full", "disk-quota"} {
		failed = failed || f.Has(id)
	}
	full := fullMounts(f)
	if !failed || len(full) == 0 {
		return 0, nil
	}
	return 0.9, []casefile.Evidence{{Ref: full[0].From, Rank: run.NoRank, Text: mountOf(full[0]) + " is " + full[0].Value + " % full"}}
}

// tornByFullDisk cites the full disk of the run that left a torn file.
func tornByFullDisk(f *casefile.File) (float64, []casefile.Evidence) {
	for _, id := range []string{"disk-full", "disk-quota", "torch-writer-failed"} {
		if ev := f.EventsOf(id); len(ev) > 0 {
			return 0.3, []casefile.Evidence{ev[0].Cite()}
		}
	}
	for _, c := range f.Checkpoints {
		if c.Complete != nil && !*c.Complete && c.Ref.File != "" {
			return 0.2, []casefile.Evidence{{Ref: c.Ref, Rank: run.NoRank, Text: path.Base(c.Path) + ": " + c.Why}}
		}
	}
	return 0, nil
}

// lfsPointer is the evidence that a file to load is a Git LFS pointer.
func lfsPointer(f *casefile.File) (float64, []casefile.Evidence) {
	if ev := f.EventsOf("lfs-pointer"); len(ev) > 0 {
		return 0.95, []casefile.Evidence{ev[0].Cite()}
	}
	for _, c := range f.Checkpoints {
		if c.Complete != nil && !*c.Complete && strings.Contains(strings.ToLower(c.Why), "lfs") {
			ref := c.Ref
			if ref.File == "" {
				ref = run.Ref{File: c.Path, Line: 1}
			}
			return 0.95, []casefile.Evidence{{Ref: ref, Rank: run.NoRank, Text: c.Why}}
		}
	}
	return 0, nil
}

// lastLines is how near the end of a log a line is its last word.
const lastLines = 12

// endedAtLoad sees a failed load or save that is the last word of its log: the
// program may still have exited with 0.
func endedAtLoad(f *casefile.File) []failure.Sighting {
	for _, id := range []string{"megatron-checkpoint-load", "checkpoint-load-failed-logged", "deepspeed-checkpoint-missing"} {
		for _, e := range f.EventsOf(id) {
			if f.Recovered(e) || len(e.Stream.Tail) == 0 || e.Stream.Lines-e.Ref.Line > lastLines {
				continue
			}
			return []failure.Sighting{{
				Type: report.AnomalyCheckpointFailure, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.85, Cause: e.Sign.Cause,
				Rank: e.Rank, Step: e.Step, Ref: e.Ref, Text: e.Text, Status: report.Crashed,
				Says: "The run's last word is that a checkpoint could not be loaded; no step was done after it.",
			}}
		}
	}
	return nil
}
