package effect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/checkpoint"
	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/gate/effect/far"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// pointer is how a framework finds the newest checkpoint of a folder.
type pointer struct {
	path string
	link bool   // a symbolic link, else a file of text
	was  string // what it points to
	to   string // what it has to be, to point to the new one
}

// pointerFiles are the files of text: DeepSpeed's names the folder, Megatron's
// the iteration.
var pointerFiles = map[string]func(name string) (string, bool){
	"latest":                            func(name string) (string, bool) { return name, true },
	"latest_checkpointed_iteration.txt": iteration,
}

func iteration(name string) (string, bool) {
	n := checkpoint.Step(name)
	return strconv.FormatInt(n, 10), n >= 0
}

// linkName are the names of links that stand for the newest checkpoint.
var linkName = regexp.MustCompile(`(?i)^(?:checkpoint|ckpt|model)?[-_.]?(?:last|latest|newest|current)(?:[-_.](?:checkpoint|ckpt|model))?(?:\.(?:pt|pth|ckpt|bin|safetensors))?$`)

// resolveRepoint wants a checkpoint that is proven whole, and a pointer beside it.
func (e *Effects) resolveRepoint(ctx context.Context, p gate.Proposal) (gate.Resolved, error) {
	to := p.Args.Checkpoint
	if to == "" || !filepath.IsAbs(to) {
		return gate.Resolved{}, cannot("bad_arguments", "repoint_checkpoint needs checkpoint: the absolute path of a complete one (fetch_target lists them)")
	}
	host := e.hostOf(p)
	at, err := e.at(host)
	if err != nil {
		return gate.Resolved{}, err
	}
	defer at.Close()
	who, err := at.Identity(ctx)
	if err != nil {
		return gate.Resolved{}, err
	}
	to = filepath.Clean(to)
	fsys, err := at.Dir(ctx, filepath.Dir(to))
	if err != nil {
		return gate.Resolved{}, fmt.Errorf("effect: %w", err)
	}
	if why := proven(fsys, to); why != "" {
		return gate.Resolved{}, cannot("not_complete", "%s", why)
	}
	ptr, err := pointerBeside(ctx, at, fsys, to)
	if err != nil {
		return gate.Resolved{}, err
	}
	if ptr.was == ptr.to {
		return gate.Resolved{}, cannot("done_already", "%s points there already", ptr.path)
	}
	r := gate.Resolved{Changed: e.foreign(host, to)}
	if now := filepath.Join(filepath.Dir(to), filepath.Base(ptr.was)); r.Changed == "" && proven(fsys, now) == "" {
		r.Changed = "what it points to now, " + now + ", is complete too: the run is rolled back or forward"
	}
	kind := "the file"
	if ptr.link {
		kind = "the link"
	}
	r.Target = gate.Target{
		Host: host, Path: ptr.path, To: to, Prints: append([]string{ptr.was, ptr.to, strconv.FormatBool(ptr.link)}, who...), Lineage: host + " " + ptr.path,
	}
	r.Does = []string{
		fmt.Sprintf("make %s %s%s say %q instead of %q", kind, run.Name(ptr.path), on(host), ptr.to, ptr.was),
		"so that the next start goes on from " + run.Name(to) + ", which is complete; no checkpoint is deleted or written",
	}
	return r, nil
}

// hostOf is the host that a proposal is about, "" for this machine: that of the
// run as it was remembered, or as the target names it.
func (e *Effects) hostOf(p gate.Proposal) string {
	if m, err := e.recall(p); err == nil {
		return m.Host
	}
	kind, ref, err := e.Sources.Resolve(p.Target)
	switch {
	case err != nil || kind.Scheme == "file" || kind.Scheme == "artifacts":
		return ""
	case kind.Place != nil:
		return kind.Place(ref)
	}
	host, _ := source.Split(ref)
	return host
}

// foreign says that a checkpoint lies in no folder of a run that was watched
// there, "" if it does: an agent may name any.
func (e *Effects) foreign(host, path string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.started {
		if rel, err := filepath.Rel(m.Launch.Dir, path); err == nil && filepath.IsLocal(rel) && m.Launch.Dir != "/" && m.Host == host && m.kept == "" {
			return ""
		}
	}
	return path + " lies in the folder of no run that this server watched"
}

// proven says why a checkpoint in a folder is not proven whole, "" if it is.
func proven(dir fs.FS, path string) string {
	base := filepath.Base(path)
	entries, err := fs.ReadDir(dir, ".")
	i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == base })
	if err != nil || i < 0 || entries[i].Type()&fs.ModeSymlink != 0 {
		return path + " is not there, or is a link: name the checkpoint itself"
	}
	for _, c := range checkpoint.Dir(siblings{dir, base}) {
		if filepath.Clean(c.Path) == base || strings.HasPrefix(base, filepath.Clean(c.Path)+"/") {
			if c.Complete != nil && *c.Complete {
				return ""
			}
			return fmt.Sprintf("%s is not proven complete: %s", path, c.Why)
		}
	}
	return path + " is no checkpoint that this server knows"
}

// siblings is a folder of which only one entry is seen.
type siblings struct {
	fs.FS
	only string
}

// ReadDir implements fs.ReadDirFS.
func (s siblings) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(s.FS, name)
	if name != "." {
		return all, err
	}
	var out []fs.DirEntry
	for _, e := range all {
		if e.Name() == s.only {
			out = append(out, e)
		}
	}
	return out, err
}

// pointerBeside finds the one pointer in the checkpoint's folder.
func pointerBeside(ctx context.Context, at place, fsys fs.FS, to string) (*pointer, error) {
	dir, base := filepath.Split(to)
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("effect: %w", err)
	}
	var found []*pointer
	for _, en := range entries {
		path := filepath.Join(dir, en.Name())
		if en.Type()&fs.ModeSymlink != 0 && linkName.MatchString(en.Name()) {
			was, err := at.Readlink(ctx, path)
			if err == nil && (filepath.Base(was) == was || filepath.Dir(was) == filepath.Clean(dir)) {
				found = append(found, &pointer{path: path, link: true, was: was, to: base})
			}
		}
		if name := pointerFiles[en.Name()]; name != nil && en.Type().IsRegular() {
			b, err := fs.ReadFile(fsys, en.Name())
			text, ok := name(base)
			if err == nil && ok && len(b) < 1000 {
				found = append(found, &pointer{path: path, was: strings.TrimSpace(string(b)), to: text})
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, cannot("no_pointer", "nothing in %s points to the newest checkpoint (a link as latest, DeepSpeed's latest, Megatron's latest_checkpointed_iteration.txt): the path is an argument of the run, so propose restart_with", dir)
	case 1:
		return found[0], nil
	}
	return nil, cannot("no_pointer", "%s has several files that point to a checkpoint: a person has to choose", dir)
}

// repoint changes the pointer in one step: a reader sees the old one or the new.
func (e *Effects) repoint(ctx context.Context, p gate.Permit) (gate.Outcome, error) {
	t := p.Target()
	was, to, link := t.Prints[0], t.Prints[1], t.Prints[2] == "true"
	if t.Host != "" {
		h, err := far.On(&e.hosts, t.Host)
		if err != nil {
			return gate.Outcome{}, err
		}
		defer h.Close()
		if err := h.Point(ctx, t.Path, link, was, to); err != nil {
			return gate.Outcome{}, err
		}
		return gate.Outcome{Text: fmt.Sprintf("%s on %s says %q now; it said %q", t.Path, t.Host, to, was)}, nil
	}
	tmp := t.Path + ".trainmedic-new"
	err := os.Remove(tmp)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return gate.Outcome{}, err
	}
	if link {
		err = os.Symlink(to, tmp)
	} else {
		err = writeNew(tmp, to, t.Path)
	}
	if err == nil {
		err = os.Rename(tmp, t.Path)
	}
	if err != nil {
		return gate.Outcome{}, fmt.Errorf("repoint %s: %w", t.Path, err)
	}
	return gate.Outcome{Text: fmt.Sprintf("%s says %q now; it said %q", t.Path, to, was)}, nil
}

// writeNew writes a file with the mode of another one.
func writeNew(path, text, like string) error {
	st, err := os.Lstat(like)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, st.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}
