package monitor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
// a line that a crash cut is taken away. The newest keptEvents stay.
type journal struct {
	dir    string
	file   *os.File
	events []numbered
	next   int
	failed error // the last event could not be written
}

type numbered struct {
	N int `json:"n"`
	report.Event
}

const (
	journalFile = "journal.jsonl"
	lookFile    = "look.json"
	keptEvents  = 1000
)

// openJournal reads the journal in dir and makes it ready for more.
func openJournal(dir string) (*journal, error) {
	j := &journal{dir: dir, next: 1}
	path := filepath.Join(dir, journalFile)
	whole, err := j.read(path)
	if err != nil {
		return nil, err
	}
	if j.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return nil, fmt.Errorf("monitor: journal: %w", err)
	}
	if err := errors.Join(j.file.Truncate(whole), seekEnd(j.file)); err != nil {
		return nil, fmt.Errorf("monitor: journal %s: %w", path, err)
	}
	return j, nil
}

func seekEnd(f *os.File) error {
	_, err := f.Seek(0, 2)
	return err
}

// read takes the whole lines of the file and says where they end.
func (j *journal) read(path string) (whole int64, err error) {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("monitor: journal: %w", err)
	}
	for line := range bytes.Lines(b) {
		var e numbered
		if line[len(line)-1] != '\n' || json.Unmarshal(line, &e) != nil {
			break
		}
		whole += int64(len(line))
		if e.N >= j.next {
			j.events = append(j.events, e)
			j.next = e.N + 1
		}
	}
	return whole, nil
}

// add writes events; they are on disk when it returns without an error. They
// are kept in memory in any case, so that a full disk silences nobody.
func (j *journal) add(events []report.Event) error {
	if len(events) == 0 {
		return j.failed
	}
	var b bytes.Buffer
	for _, e := range events {
		n := numbered{j.next, e}
		j.next++
		j.events = append(j.events, n)
		line, err := report.Compact(n)
		if err != nil {
			return fmt.Errorf("monitor: journal: %w", err)
		}
		b.Write(append(line, '\n'))
	}
	_, err := j.file.Write(b.Bytes())
	if err == nil {
		err = j.file.Sync()
	}
	if err == nil && len(j.events) > 2*keptEvents {
		err = j.shorten()
	}
	j.failed = nil
	if err != nil {
		j.failed = fmt.Errorf("monitor: journal: %w", err)
	}
	return j.failed
}

// shorten drops the oldest events.
func (j *journal) shorten() error {
	j.events = append([]numbered(nil), j.events[len(j.events)-keptEvents:]...)
	tmp, err := os.CreateTemp(j.dir, ".journal.*")
	if err != nil {
		return err
	}
	w := bufio.NewWriter(tmp)
	for _, e := range j.events {
		line, err := report.Compact(e)
		if err == nil {
			_, err = w.Write(append(line, '\n'))
		}
		if err != nil {
			return errors.Join(err, tmp.Close(), os.Remove(tmp.Name()))
		}
	}
	if err := errors.Join(w.Flush(), tmp.Sync(), os.Rename(tmp.Name(), filepath.Join(j.dir, journalFile))); err != nil {
		return errors.Join(err, tmp.Close(), os.Remove(tmp.Name()))
	}
	old := j.file
	j.file = tmp
	return old.Close()
}

// since lists the events after a cursor.
func (j *journal) since(cursor int) []report.Event {
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

func (j *journal) close() error { return j.file.Close() }

// glance is the state of a watch after its last look, as another process or the
// next one reads it. It may be lost: the journal is what counts.
type glance struct {
	Started    time.Time            `json:"started"`
	At         time.Time            `json:"at"`
	Polls      int                  `json:"polls"`
	State      report.TerminalState `json:"state"`
	StatusLine string               `json:"status_line"`
	Next       float64              `json:"next_poll_seconds"`
	Open       []report.Anomaly     `json:"open"`
	Asked      time.Time            `json:"asked"` // when a client last asked
	Memory     casefile.Memory      `json:"memory"`
}

func writeGlance(dir string, g *glance) error {
	b, err := json.Marshal(g)
	if err != nil {
		return err
	}
	tmp := filepath.Join(dir, "."+lookFile)
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(dir, lookFile))
}

func readGlance(dir string) (g glance) {
	if b, err := os.ReadFile(filepath.Join(dir, lookFile)); err == nil && json.Unmarshal(b, &g) != nil {
		return glance{}
	}
	return g
}
