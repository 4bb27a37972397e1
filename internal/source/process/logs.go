package process

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

// openLog is a file that a process of the run writes its log to.
type openLog struct {
	path  string // without " (deleted)"
	link  string // under /proc, which opens it also when it was deleted or lies in another mount namespace
	info  fs.FileInfo
	ident string
	rank  int
}

// logsOf finds the logs of a run: where standard output and error of its
// processes go, through a pipe to tee or the like too, and the largest other log
// that one of them holds open if it is larger than those. where says in words
// where the root's output goes if that is no file; denied that this user may not
// see its open files.
func logsOf(all []stat) (logs []openLog, where string, denied bool) {
	found := map[string]bool{}
	add := func(l openLog, rank int) {
		if !found[l.ident] {
			found[l.ident] = true
			l.rank = rank
			logs = append(logs, l)
		}
	}
	var others []openLog
	for i, s := range all[:min(len(all), maxLogged)] {
		fds, err := os.ReadDir(procFile(s.pid, "fd"))
		if err != nil {
			denied = denied || i == 0
			continue
		}
		for _, fd := range fds {
			o := openAt(s.pid, fd.Name())
			std := fd.Name() == "1" || fd.Name() == "2"
			switch {
			case std && o.info != nil:
				add(o, run.NoRank)
			case std && strings.HasPrefix(o.path, "pipe:"):
				for _, l := range behind(s, o.path) {
					add(l, run.NoRank)
				}
			case o.info != nil && logName.MatchString(o.path) && !ownLogs.MatchString(o.path) && writes(s.pid, fd.Name()):
				others = append(others, o)
			}
			if std && i == 0 && o.info == nil {
				where = o.path
			}
		}
	}
	if l, ok := largest(others, logs); ok {
		add(l, run.NoRank)
	}
	ranked(all, logs)
	return logs, where, denied
}

const maxLogged = 64 // processes whose open files are looked at

var (
	logName = regexp.MustCompile(`(?i)\.(?:log|txt|out|err|jsonl)$|(?:^|/)(?:nohup\.out|stdout|stderr)$`)
	// ownLogs are what libraries write of themselves.
	ownLogs = regexp.MustCompile(`/wandb/|/\.cache/|debug(?:-internal)?\.log$|/mlruns/|/var/log/`)
)

// openAt is what a file descriptor is; info is nil unless it is a regular file.
func openAt(pid int, fd string) (o openLog) {
	o.link = procFile(pid, "fd", fd)
	path, err := os.Readlink(o.link)
	if err != nil {
		return o
	}
	o.path = strings.TrimSuffix(path, " (deleted)")
	info, err := os.Stat(o.link)
	if err == nil && info.Mode().IsRegular() {
		o.info, o.ident = info, file.Identity(info)
	}
	return o
}

// writes reports whether a descriptor is open for writing.
func writes(pid int, fd string) bool {
	b, err := os.ReadFile(procFile(pid, "fdinfo", fd))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(flags), 8, 64)
			return err == nil && n&3 != 0
		}
	}
	return false
}

// behind are the files that the reader of a pipe writes. It is a sister of the
// writer, since a shell starts both ends of a pipe, or its parent.
func behind(writer stat, pipe string) (out []openLog) {
	for _, pid := range append(childrenOf(writer.ppid), writer.ppid) {
		if pid == writer.pid || pid == os.Getpid() {
			continue
		}
		fds, err := os.ReadDir(procFile(pid, "fd"))
		if err != nil {
			continue
		}
		reads := false
		var files []openLog
		for _, fd := range fds {
			o := openAt(pid, fd.Name())
			reads = reads || o.path == pipe && !writes(pid, fd.Name())
			if o.info != nil && writes(pid, fd.Name()) {
				files = append(files, o)
			}
		}
		if reads {
			out = append(out, files...)
		}
	}
	return out
}

// largest is the largest of other logs, if it is larger than those known.
func largest(others, logs []openLog) (openLog, bool) {
	bySize := func(a, b openLog) int { return cmp.Compare(a.info.Size(), b.info.Size()) }
	if len(others) == 0 {
		return openLog{}, false
	}
	l := slices.MaxFunc(others, bySize)
	return l, len(logs) == 0 || bySize(l, slices.MaxFunc(logs, bySize)) > 0
}

// ranked gives the ranks of a run that has several logs: each is that of the
// process that writes it.
func ranked(all []stat, logs []openLog) {
	if len(logs) < 2 {
		return
	}
	for i, l := range logs {
		pid, err := strconv.Atoi(strings.Split(strings.TrimPrefix(l.link, procfs+"/"), "/")[0])
		if err != nil || pid == all[0].pid {
			continue
		}
		if rank, err := strconv.Atoi(environ(pid)["RANK"]); err == nil {
			logs[i].rank = rank
		}
	}
}

// nameIn is a stream's name for a path: its last element, with the folder where
// another log has that name.
func nameIn(taken map[string]string, path string) string {
	name := filepath.Base(path)
	if p, ok := taken[name]; ok && p != path {
		name = filepath.Base(filepath.Dir(path)) + "/" + name
	}
	for p, ok := taken[name]; ok && p != path; p, ok = taken[name] {
		name = "other/" + name
	}
	return name
}
