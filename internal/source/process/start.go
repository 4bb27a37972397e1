package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/trainmedic/trainmedic/internal/host"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

const (
	passEvery = 100 * time.Millisecond // how late the terminal may be
	grace     = 10 * time.Second       // between asking a run to end and ending it
)

// started is a run that this process started.
type started struct {
	source.Source
	pid   int
	log   string
	over  chan struct{} // closed when it ended
	done  chan struct{}
	ended []run.Fact // how it ended; to be read when it is over
}

// Start starts a run and watches it. The run outlives ctx and this process,
// unless l.End says otherwise. beside opens the directory that opt.Artifacts
// names.
func Start(ctx context.Context, l source.Launch, opt source.Options, beside *source.Kind) (source.Started, error) {
	if len(l.Args) == 0 {
		return nil, fmt.Errorf("process: no command to start: %w", source.ErrBadTarget)
	}
	path, err := l.Path, error(nil)
	if path == "" {
		path, err = exec.LookPath(l.Args[0])
	}
	if err != nil {
		return nil, startError(l.Args[0], err)
	}
	log, err := newLog(l)
	if err != nil {
		return nil, &source.Advice{Err: fmt.Errorf("process: the log of the run: %w", err), Ask: "The run was not started. Make room, or give --out-dir a folder that can be written: its output goes there."}
	}
	r := &started{log: log.Name(), over: make(chan struct{}), done: make(chan struct{})}
	p, who, err := launch(path, l, log)
	log.Close()
	if err != nil {
		return nil, startError(l.Args[0], err)
	}
	r.pid = p.Pid
	w := &watched{
		who: func() (stat, error) { return who, nil }, last: opt.Last, watch: opt.Watch, machine: host.On(shell.Local),
		own:   map[string]string{filepath.Base(r.log): r.log},
		ended: func() []run.Fact { <-r.over; return r.ended },
	}
	r.Source = w
	if opt.Artifacts != "" && beside != nil {
		dir, err := beside.Open(ctx, opt.Artifacts, opt)
		if errors.Is(err, source.ErrNotFound) {
			dir, err = source.Await(opt.Artifacts, func(ctx context.Context) (source.Source, error) { return beside.Open(ctx, opt.Artifacts, opt) }), nil
		}
		if err == nil {
			r.Source = file.Beside(w, dir)
		}
	}
	go r.wait(ctx, p, l)
	return r, nil
}

// PID implements source.Started.
func (r *started) PID() int { return r.pid }

// Log implements source.Started.
func (r *started) Log() string { return r.log }

// Done implements source.Started.
func (r *started) Done() <-chan struct{} { return r.done }

func startError(name string, err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("process: %s: no such command; check its name and the PATH: %w", name, source.ErrNotFound)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("process: %s: this user may not run it: %w", name, source.ErrDenied)
	}
	return fmt.Errorf("process: start %s: %w", name, err)
}

// newLog opens the file for the run's output. A new one is named for the program
// or the script, and no older one is written over.
func newLog(l source.Launch) (*os.File, error) {
	if l.Log != "" {
		return os.OpenFile(l.Log, os.O_WRONLY|os.O_APPEND|noFollow, 0)
	}
	name := filepath.Base(l.Args[0])
	for _, a := range l.Args[1:] {
		if strings.HasSuffix(a, ".py") || strings.HasSuffix(a, ".sh") {
			name = filepath.Base(a)
			break
		}
	}
	dir := l.LogDir
	if dir == "" {
		dir = os.TempDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	base := filepath.Join(dir, name+"-"+time.Now().Format("20060102-150405"))
	for i := 0; ; i++ {
		path := base + ".log"
		if i > 0 {
			path = fmt.Sprintf("%s-%d.log", base, i)
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
		if i == 100 || !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// launch starts the process; its state is read before anybody waits for it, so
// that it is there however soon the process ends.
func launch(path string, l source.Launch, log *os.File) (*os.Process, stat, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, stat{}, err
	}
	defer null.Close()
	env := l.Env
	if _, set := os.LookupEnv("PYTHONUNBUFFERED"); env == nil && !set { // into a file Python writes blocks of 8 KB, and keeps the last one when it is killed
		env = append(os.Environ(), "PYTHONUNBUFFERED=1")
	}
	p, err := os.StartProcess(path, l.Args, &os.ProcAttr{Dir: l.Dir, Env: env, Files: []*os.File{null, log, log}, Sys: ownGroup()})
	if err != nil {
		return nil, stat{}, err
	}
	s, err := statOf(p.Pid)
	if err != nil {
		s = stat{pid: p.Pid} // where a process that ended is not shown until somebody waited for it
	}
	return p, s, nil
}

// wait waits for the end of the run, and passes its output on until then.
func (r *started) wait(ctx context.Context, p *os.Process, l source.Launch) {
	go func() {
		defer close(r.over)
		state, err := p.Wait()
		if err != nil {
			return
		}
		if w, ok := state.Sys().(syscall.WaitStatus); ok {
			r.ended = exitFacts(w)
		}
	}()
	stop := func() bool { return true }
	if l.End {
		stop = context.AfterFunc(ctx, func() { end(r.pid, r.over) })
	}
	if l.Terminal == nil {
		<-r.over
	} else {
		passOn(r.log, l.Terminal, r.over)
	}
	stop()
	close(r.done)
}

// end asks a run and all of its group to end, and ends them when they do not.
func end(pid int, over <-chan struct{}) {
	signalGroup(pid, syscall.SIGTERM)
	select {
	case <-over:
	case <-time.After(grace):
		signalGroup(pid, syscall.SIGKILL)
	}
}

// passOn copies what is added to a file until over is closed and all is copied.
// An error of the writer ends it: the file has everything.
func passOn(path string, to io.Writer, over <-chan struct{}) {
	f, err := os.Open(path)
	if err != nil {
		<-over
		return
	}
	defer f.Close()
	tick := time.NewTicker(passEvery)
	defer tick.Stop()
	for last := false; ; {
		if _, err := io.Copy(to, f); err != nil {
			<-over
			return
		}
		if last {
			return
		}
		select {
		case <-tick.C:
		case <-over:
			last = true
		}
	}
}
