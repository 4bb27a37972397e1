package monitor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
)

// Told is what a journal remembers of a watch.
type Told struct {
	Started time.Time
	Polls   int
	Events  []report.Event
	Memory  casefile.Memory
}

// journal is what a watch told, on disk: one event a line, in order, each with a
// number that is a client's cursor. An event is on disk before anybody reads it;
// a line that a crash cut is taken away. The newest keptEvents stay. Where the
// disk takes nothing the events are in memory, and go to the disk as soon as it
// takes them.
type journal struct {
	dir    string
	file   *os.File // nil until it could be opened
	whole  int64    // bytes of the file that are whole lines
	events []numbered
	next   int
	owed   int   // of the newest events: not on disk yet
	failed error // why
	off    error // why nothing is ever written; nil else
}

type numbered struct {
	N int `json:"n"`
	report.Event
}

const (
	journalFile = "journal.jsonl"
	keptEvents  = 1000
)

// openJournal reads the journal in dir and makes it ready for more; where that
// fails, failed says why. The error is of a journal that is there and cannot be
// read.
func openJournal(dir string) (*journal, error) {
	j := &journal{dir: dir, next: 1}
	if err := j.read(); err != nil {
		return j, err
	}
	j.failed = j.open()
	return j, nil
}

// open makes the file ready for more behind its whole lines.
func (j *journal) open() (err error) {
	if j.file == nil {
		if j.file, err = os.OpenFile(filepath.Join(j.dir, journalFile), os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			j.file = nil
			return fmt.Errorf("monitor: journal: %w", err)
		}
	}
	_, err = j.file.Seek(j.whole, io.SeekStart)
	if err := errors.Join(j.file.Truncate(j.whole), err); err != nil {
		return fmt.Errorf("monitor: journal %s: %w", j.file.Name(), err)
	}
	return nil
}

// read takes the whole lines of the file.
func (j *journal) read() error {
	b, err := os.ReadFile(filepath.Join(j.dir, journalFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("monitor: journal: %w", err)
	}
	for line := range bytes.Lines(b) {
		var e numbered
		if line[len(line)-1] != '\n' || json.Unmarshal(line, &e) != nil {
			break
		}
		j.whole += int64(len(line))
		if e.N >= j.next {
			j.events = append(j.events, e)
			j.next = e.N + 1
		}
	}
	return nil
}

// add writes events; they are on disk when it returns without an error. They
// are kept in memory in any case, so that a full disk silences nobody, and are
// written with the next ones.
func (j *journal) add(events []report.Event) error {
	for _, e := range events {
		j.events = append(j.events, numbered{j.next, e})
		j.next++
	}
	j.owed = min(j.owed+len(events), len(j.events))
	switch {
	case j.off != nil:
		j.failed = j.off
	case j.owed > 0 || j.failed != nil:
		j.failed = j.flush()
	}
	if len(j.events) > 2*keptEvents {
		j.shorten()
	}
	return j.failed
}

// flush writes what is owed; what was begun when that fails is taken back.
func (j *journal) flush() error {
	if j.file == nil || j.failed != nil {
		if err := j.open(); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := j.lines(&b, j.events[len(j.events)-j.owed:]); err != nil {
		return err
	}
	_, err := j.file.Write(b.Bytes())
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("monitor: journal: %w", errors.Join(err, j.open()))
	}
	j.whole += int64(b.Len())
	j.owed = 0
	return nil
}

func (*journal) lines(b *bytes.Buffer, events []numbered) error {
	for _, e := range events {
		line, err := report.Compact(e)
		if err != nil {
			return fmt.Errorf("monitor: journal: %w", err)
		}
		b.Write(append(line, '\n'))
	}
	return nil
}

// shorten drops the oldest events, on disk too where that takes it: else the file
// is the longer one, which does no harm.
func (j *journal) shorten() {
	j.events = append([]numbered(nil), j.events[len(j.events)-keptEvents:]...)
	j.owed = min(j.owed, len(j.events))
	var b bytes.Buffer
	if j.off != nil || j.owed > 0 || j.lines(&b, j.events) != nil {
		return
	}
	if f, err := replace(filepath.Join(j.dir, journalFile), b.Bytes()); err == nil {
		j.file.Close()
		j.file, j.whole = f, int64(b.Len())
	}
}

// replace writes a file anew, whole or not at all, and leaves it open behind its
// last byte.
func replace(path string, b []byte) (*os.File, error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	if _, err = tmp.Write(b); err == nil {
		err = errors.Join(tmp.Sync(), os.Rename(tmp.Name(), path))
	}
	if err != nil {
		return nil, errors.Join(err, tmp.Close(), os.Remove(tmp.Name()))
	}
	return tmp, nil
}

// since lists the events after a cursor. One that lies ahead was given by a
// server whose events no disk took: all that is known is told again.
func (j *journal) since(cursor int) []report.Event {
	if cursor >= j.next {
		cursor = 0
	}
	out := []report.Event{}
	for _, e := range j.events {
		if e.N > cursor {
			out = append(out, e.Event)
		}
	}
	return out
}

// told is what was told, without numbers.
func (j *journal) told() []report.Event { return j.since(0) }

// ended reports whether the end of the watch was told.
func (j *journal) ended() bool {
	n := len(j.events)
	return n > 0 && j.events[n-1].Kind == report.EventEnd
}

func (j *journal) close() {
	if j.file != nil {
		j.file.Close() // every event was synced
	}
}
