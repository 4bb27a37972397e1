package artifacts

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/source/artifacts/wandblog"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

var (
	wandbRun = regexp.MustCompile(`^(?:offline-)?run-(\d{8}_\d{6})-(.+)$`) // a folder of one run: when it began, and its id
	wandbLog = regexp.MustCompile(`^run-.+\.wandb$`)
)

const wandbKey = "wandb " // begins the cursor's key of a transaction log

// together is how far apart the W&B runs of one job begin, where each of its
// ranks has its own.
const together = 2 * time.Minute

// ownedByWandb reports whether a folder is not to be entered: W&B's own logs and
// media, and the runs that are not the newest of their folder.
func (l *look) ownedByWandb(name string) bool {
	parent, base := path.Dir(name), path.Base(name)
	switch {
	case base == "logs" || base == "tmp":
		return wandbRun.MatchString(path.Base(parent)) || parent == "." && l.isWandbRun(parent)
	case base == "media":
		return path.Base(parent) == "wandb" || path.Base(parent) == "files"
	case wandbRun.MatchString(base):
		return !slices.Contains(l.newest(parent), base)
	}
	return false
}

func (l *look) isWandbRun(dir string) bool {
	entries, err := fs.ReadDir(l.root.FS(), dir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return wandbLog.MatchString(e.Name()) })
}

// newest lists the W&B runs of a folder that are the run: the newest, those that
// began together with it (its ranks'), and those that it goes on with (the same
// id). Others are a gap, since which run is meant has to be said.
func (l *look) newest(dir string) []string {
	if kept, ok := l.wandb[dir]; ok {
		return kept
	}
	var kept []string
	entries, err := fs.ReadDir(l.root.FS(), dir)
	if err != nil {
		l.unreadable(dir, err)
	}
	var last []string
	older := 0
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(beganAt(b.Name()), beganAt(a.Name())) })
	for _, e := range entries {
		m := wandbRun.FindStringSubmatch(e.Name())
		if m == nil || !e.IsDir() {
			continue
		}
		if last == nil {
			last = m
		}
		if m[2] != last[2] && began(last[1]).Sub(began(m[1])) > together {
			older++
			continue
		}
		kept = append(kept, e.Name())
	}
	if older > 0 {
		l.gap(fmt.Sprintf("%d older W&B runs in %s", older, dir), fmt.Sprintf("only the newest, %s, was read", kept[0]), "if another one is meant, its folder as the target")
	}
	l.wandb[dir] = kept
	return kept
}

func beganAt(name string) string {
	if m := wandbRun.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}

func began(stamp string) time.Time {
	t, err := time.Parse("20060102_150405", stamp)
	if err != nil {
		return time.Time{}
	}
	return t
}

// putWandb reads a transaction log. Where no file has the console output of the
// run, the log has.
func putWandb(l *look, e entry, _ string) bool {
	log := wandblog.Log{Name: e.name, Open: l.open(e.name), Ident: e.id, Watch: l.opt.Watch, Console: !l.has(path.Join(path.Dir(e.name), "files"), isConsole)}
	if len(l.obs.Samples) == 0 {
		log.Room, l.room = l.room, nil
	}
	v, err := log.Look(l.ctx, l.since[wandbKey+e.name])
	if err != nil {
		if l.ctx.Err() == nil {
			l.unreadable(e.name, file.Reason("artifacts", e.name, err))
		}
		return true
	}
	l.logs = append(l.logs, v.Streams...)
	v.Streams = nil
	v.Into(&l.obs, wandbKey+e.name)
	return true
}

// isConsole tells the files that W&B writes the console output of a run to.
func isConsole(name string) bool {
	return name == "output.log" || strings.HasPrefix(name, "logs/") && strings.HasSuffix(name, ".log")
}

// has reports whether one of the files below a folder is as is says. An empty one
// does not count, unless it may be written yet.
func (l *look) has(dir string, is func(name string) bool) bool {
	return slices.ContainsFunc(l.entries, func(e entry) bool {
		name, below := strings.CutPrefix(e.name, dir+"/")
		return below && (e.size > 0 || l.opt.Watch) && is(name)
	})
}

// putWandbSummary passes over a summary whose values the transaction log beside
// it has, step by step.
func putWandbSummary(l *look, e entry, _ string) bool {
	return l.has(path.Dir(path.Dir(e.name)), func(name string) bool { return wandbLog.MatchString(name) })
}
