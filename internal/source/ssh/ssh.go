// Package ssh is the source of logs and run directories on a machine that is
// reached by SSH. It shows there what the file and artifacts sources show here:
// it hands them the files as they lie there, read by offset when they are asked
// for, and what is small all at once. A look at what has not changed is one
// question and one answer.
package ssh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/host"
	"github.com/trainmedic/trainmedic/internal/remote"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

// Over makes the source of a run directory out of its tree; see artifacts.Over.
type Over func(tree file.Tree, name string, most int64, opt source.Options) source.Source

// Kind is the source of remote logs and run directories. Its connections are the
// pool's. folder looks at directories; beside opens a directory of this machine
// that Options.Artifacts names.
func Kind(pool *remote.Pool, folder Over, beside *source.Kind) *source.Kind {
	k := &kind{pool, folder, beside, maxWhole}
	return &source.Kind{
		Scheme: "ssh", Type: "remote-log", Example: "user@host:/runs/exp42/train.log",
		Doc:   "a log or a run's folder on a machine that SSH reaches",
		Claim: claim, Open: k.open, Place: place,
	}
}

type kind struct {
	pool   *remote.Pool
	folder Over
	beside *source.Kind
	most   int64 // bytes of a log that is read through; of a larger one an excerpt is
}

// target is a path on a host. The path is never taken for an option: it begins
// with / or ./, which is the account's home.
type target struct {
	remote.Address
	path string
}

// parse reads [user@]host:path and ssh://[user@]host[:port]/path.
func parse(ref string) (target, error) {
	var t target
	host, p, ok := strings.Cut(ref, ":")
	if rest, isURL := strings.CutPrefix(ref, "//"); isURL {
		host, p, ok = strings.Cut(rest, "/")
		host, p = "ssh://"+host, "/"+p
	} else if strings.Contains(host, "[") { // user@[::1]:/path
		i := strings.Index(ref, "]:")
		if ok = i >= 0; ok {
			host, p = ref[:i+1], ref[i+2:]
		}
	}
	if !ok || p == "" {
		return t, fmt.Errorf("ssh: %q has no path; write user@host:/path: %w", ref, source.ErrBadTarget)
	}
	a, err := remote.ParseAddress(host)
	if err != nil {
		return t, fmt.Errorf("ssh: %w; write user@host:/path: %w", err, source.ErrBadTarget)
	}
	if strings.ContainsRune(p, 0) {
		return t, fmt.Errorf("ssh: the path has a NUL byte: %w", source.ErrBadTarget)
	}
	t.Address = a
	switch {
	case p == "~" || strings.HasPrefix(p, "~/"):
		t.path = "./" + strings.TrimLeft(p[1:], "/")
	case strings.HasPrefix(p, "~"):
		return t, fmt.Errorf("ssh: %q: write the home of another user as an absolute path: %w", p, source.ErrBadTarget)
	case strings.HasPrefix(p, "/"):
		t.path = p
	default:
		t.path = "./" + p
	}
	return t, nil
}

// String is the target as a person writes it.
func (t target) String() string { return t.Address.String() + ":" + t.path }

var bare = regexp.MustCompile(`^(?:[^/:\s]+@[^/:\s]+:.|[^/:@\s]{2,}:(?:/[^/]|/$|~))`)

// claim takes user@host:path, and host:/path, unless a file here has that name.
func claim(ref string) bool {
	if _, err := os.Lstat(ref); err == nil || !bare.MatchString(ref) {
		return false
	}
	_, err := parse(ref)
	return err == nil
}

// place is the host of a target.
func place(ref string) string {
	t, err := parse(ref)
	if err != nil {
		return ""
	}
	return t.Address.String()
}

func (k *kind) open(ctx context.Context, ref string, opt source.Options) (source.Source, error) {
	t, err := parse(ref)
	if err != nil {
		return nil, err
	}
	s, err := k.own(ctx, t, opt)
	if err != nil || opt.Artifacts == "" {
		return s, err
	}
	second, err := k.second(ctx, opt)
	if err != nil {
		s.Close()
		return nil, err
	}
	return file.Beside(s, second), nil
}

// second opens the artifact directory, of this machine or of another.
func (k *kind) second(ctx context.Context, opt source.Options) (source.Source, error) {
	ref := opt.Artifacts
	opt.Artifacts = ""
	if claim(ref) {
		return k.open(ctx, ref, opt)
	}
	return k.beside.Open(ctx, ref, opt)
}

// own opens the target itself. One that is watched is connected at the first
// look, so that a watch that goes on after a restart bears a host that is away.
func (k *kind) own(ctx context.Context, t target, opt source.Options) (source.Source, error) {
	h := k.pool.Host(t.Address, opt.AcceptNewHostKey)
	find := func(ctx context.Context) (source.Source, error) {
		return k.find(ctx, h, t, opt)
	}
	if opt.Watch {
		return &held{Source: source.Await(t.String(), find), host: h, disk: t.path}, nil
	}
	s, err := find(ctx)
	if err != nil {
		h.Close()
		return nil, err
	}
	return &held{Source: s, host: h}, nil
}

// find looks whether the path is a log or a folder.
func (k *kind) find(ctx context.Context, h *remote.Host, t target, opt source.Options) (source.Source, error) {
	d := k.newDisk(h, path.Dir(t.path), opt)
	info, err := d.poll(ctx, path.Base(t.path))
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path.Base(t.path), "*?[") {
		return k.newLogs(h, t, opt, path.Base(t.path)), nil
	}
	if err != nil {
		return nil, d.reason(t.String(), err)
	}
	if info.IsDir() {
		tr := &tree{disk: k.newDisk(h, t.path, opt)}
		return &folder{tree: tr, name: t.String(), inner: k.folder(tr, t.String(), look, opt)}, nil
	}
	l := k.newLogs(h, t, opt, "")
	l.disk = d
	return l, nil
}

// held is a source and its hold of a connection.
type held struct {
	source.Source
	host *remote.Host
	told bool
	shut bool
	disk string    // of a watch: the path whose file system may fill
	room time.Time // when that was asked for
}

// Observe implements source.Source.
func (s *held) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	obs, err := s.Source.Observe(ctx, since)
	if err != nil {
		return obs, err
	}
	if s.disk != "" && time.Since(s.room) >= roomEvery {
		s.room = time.Now()
		obs.Facts = append(obs.Facts, host.DF(ctx, beside{s.host}, s.disk)...)
	}
	if s.told {
		return obs, nil
	}
	s.told = true
	if way := s.host.Way(); way != "" {
		obs.Gaps = append(obs.Gaps, run.Gap{
			What: "a connection of our own to " + s.host.Host(), Why: "the system's ssh connects instead: " + way,
			Ask: "nothing: all was read through it",
		})
	}
	return obs, nil
}

// Close implements source.Source.
func (s *held) Close() error {
	if s.shut {
		return nil
	}
	s.shut = true
	err := s.Source.Close()
	if e := s.host.Close(); err == nil {
		err = e
	}
	return err
}
