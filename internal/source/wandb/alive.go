package wandb

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/wandblog"
)

// Keys of the cursor beside those of the folder.
const (
	keyHost  = "wandb.host"  // where the run is
	keyEnded = "wandb.ended" // its exit record was seen, or its process was told gone
)

// gone tells that the process of a run is not there any more though its log has no
// exit record: it was killed. Only a process of this machine can be missed, and
// one that has its PID is no proof that it lives, so that is not told.
func (f *folder) gone(obs *run.Observation, since run.Cursor) {
	for _, k := range []string{keyHost, keyEnded} {
		if v := since[k]; v != "" {
			obs.Next[k] = v
		}
	}
	for _, v := range obs.Facts {
		switch v.Key {
		case "tracker.host":
			obs.Next[keyHost] = v.Value
		case run.FactExitCode:
			obs.Next[keyEnded] = "exit"
		}
	}
	here, err := os.Hostname()
	if err != nil || obs.More || obs.Next[keyEnded] != "" || obs.Next[keyHost] != here {
		return
	}
	pid := pidOf(f.path)
	if pid == 0 || !missing(pid) {
		return
	}
	obs.Next[keyEnded] = "gone"
	obs.Facts = append(obs.Facts, run.Fact{Key: run.FactPID, Value: strconv.Itoa(pid)}, run.Fact{Key: run.FactState, Value: run.ProcessGone})
	kept := obs.Gaps[:0]
	for _, g := range obs.Gaps {
		if g.What != wandblog.HowItEnded {
			kept = append(kept, g)
		}
	}
	obs.Gaps = kept
}

var statsPID = regexp.MustCompile(`Configure stats pid to (\d+)`)

// pidOf is the PID that the client noted in its log, 0 when it did not.
func pidOf(dir string) int {
	f, err := os.Open(filepath.Join(dir, "logs", "debug.log"))
	if err != nil {
		return 0
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	m := statsPID.FindSubmatch(b)
	if err != nil || m == nil {
		return 0
	}
	pid, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return 0
	}
	return pid
}

// missing reports whether no process has a PID.
func missing(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
