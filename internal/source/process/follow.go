package process

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

// logs looks at the logs: those that are open now, and those of earlier looks.
func (l *look) logs(ctx context.Context) error {
	where, denied := "", false
	if len(l.all) > 0 {
		l.found, where, denied = logsOf(l.all)
	}
	paths, links := l.known()
	done := strings.Fields(l.since[keyDone])
	for _, o := range l.found {
		name := l.follower(o.ident)
		if name == "" && slices.Contains(done, o.ident) {
			continue
		}
		if name == "" {
			name = nameIn(paths, o.path)
			paths[name] = o.path
		}
		links[name] = o
	}
	for _, name := range sortedNames(paths) {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.log(ctx, name, paths[name], links[name], len(paths))
	}
	l.leave(done)
	if len(paths) > 0 || len(l.all) == 0 {
		return nil
	}
	if denied {
		l.gap("the log of the run", "this user may not see the process's open files", "run this as the process's owner or as root, or name the log")
		return nil
	}
	l.gap("the log of the run", "the process writes none to a file"+destination(where), "its output: name the log if there is one, or start the run with its output redirected to a file")
	return nil
}

// follower is the log that was followed in a file, whatever its name is now.
func (l *look) follower(ident string) string {
	for k, v := range l.since {
		name, ok := strings.CutPrefix(k, "log ")
		if _, next, _ := strings.Cut(v, "\n"); ok && slices.Contains(file.Idents(next), ident) {
			return name
		}
	}
	return ""
}

// leave remembers older parts of a log that the process holds open still: read
// to their end, they are no new logs.
func (l *look) leave(done []string) {
	var now []string
	for k, v := range l.obs.Next {
		if _, next, _ := strings.Cut(v, "\n"); strings.HasPrefix(k, "log ") {
			now = append(now, file.Idents(next)...)
		}
	}
	var left []string
	for _, o := range l.found {
		if !slices.Contains(now, o.ident) && (slices.Contains(done, o.ident) || l.follower(o.ident) != "") {
			left = append(left, o.ident)
		}
	}
	if len(left) > 0 {
		l.obs.Next[keyDone] = strings.Join(left, " ")
	}
}

func destination(where string) string {
	switch {
	case where == "":
		return ""
	case strings.HasPrefix(where, "/dev/pts"), strings.HasPrefix(where, "/dev/tty"):
		return "; its output goes to a terminal"
	case strings.HasPrefix(where, "socket:"), strings.HasPrefix(where, "pipe:"):
		return "; its output goes to another program"
	}
	return "; its output goes to " + where
}

// known are the logs of earlier looks: their paths, by name.
func (l *look) known() (map[string]string, map[string]openLog) {
	paths := map[string]string{}
	maps.Copy(paths, l.own)
	for k, v := range l.since {
		if name, ok := strings.CutPrefix(k, "log "); ok {
			paths[name], _, _ = strings.Cut(v, "\n")
		}
	}
	return paths, map[string]openLog{}
}

// log looks at one log, through the process's own descriptor while it has one.
func (l *look) log(ctx context.Context, name, path string, o openLog, n int) {
	l.dirs = append(l.dirs, filepath.Dir(path))
	_, prev, _ := strings.Cut(l.since["log "+name], "\n")
	v, err := file.Log{
		Name: name, Last: l.last, Max: file.Share(l.watch, n), Ended: len(l.all) == 0, Folder: file.FolderOf(path),
		Open: func() (file.Opened, error) { return openEither(path, o) },
	}.Look(ctx, prev)
	if err != nil {
		l.gap(name, err.Error(), "a readable copy of "+run.Name(name))
		v.Next = prev
	}
	for i := range v.Streams {
		v.Streams[i].Live = len(l.all) > 0
		if o.info != nil && o.rank != run.NoRank {
			v.Streams[i].Rank = o.rank
		}
	}
	v.Next = path + "\n" + v.Next
	v.Into(&l.obs, "log "+name)
}

// openEither opens what the process writes to: by its path, or, where another
// file or none has that path, through the process's descriptor.
func openEither(path string, o openLog) (file.Opened, error) {
	f, err := os.OpenFile(path, file.ReadFlags, 0)
	if o.info == nil {
		return f, err
	}
	if err == nil {
		info, err := f.Stat()
		if err == nil && (file.Identity(info) == o.ident || info.Size() > 0) {
			return f, nil // a rotated log: its older part is found in its folder
		}
		f.Close()
	}
	g, linkErr := os.OpenFile(o.link, file.ReadFlags, 0)
	if linkErr != nil && err == nil {
		return nil, fs.ErrNotExist
	}
	return g, linkErr
}

func sortedNames(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
