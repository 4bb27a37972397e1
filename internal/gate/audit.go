package gate

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Entry is one line of the audit: what became of a plan, and the digest of the
// line before.
type Entry struct {
	N      int       `json:"n"`
	At     time.Time `json:"at"`
	Event  string    `json:"event"` // proposed, approved, denied, refused, executing, done, failed, interrupted, void, validated, not-validated
	Plan   string    `json:"plan"`
	Digest string    `json:"digest"`
	Action Action    `json:"action"`
	Run    string    `json:"run"`
	Does   []string  `json:"does,omitempty"`
	By     string    `json:"by"` // who, and over which channel
	What   string    `json:"what"`
	Prev   string    `json:"prev"`
}

const auditFile = "audit.jsonl"

// maxEntry bounds one line of the audit when it is read.
const maxEntry = 1 << 20

// note appends an entry; it is on disk when it returns without an error. Several
// servers share the file: a lock orders them.
func note(dir string, e Entry) error {
	lock, err := lockFile(filepath.Join(dir, "audit.lock"), true)
	if err != nil {
		return fmt.Errorf("gate: audit: %w", err)
	}
	defer lock.Close()
	f, err := os.OpenFile(filepath.Join(dir, auditFile), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("gate: audit: %w", err)
	}
	defer f.Close()
	last, size, err := lastLine(f)
	if err != nil {
		return fmt.Errorf("gate: audit: %w", err)
	}
	var before Entry
	if len(last) > 0 {
		if err := json.Unmarshal(last, &before); err != nil {
			return fmt.Errorf("gate: audit: its last line is damaged; move %s away and look at it: %w", f.Name(), err)
		}
		e.Prev = chained(last)
	}
	e.N, e.At = before.N+1, e.At.UTC()
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("gate: audit: %w", err)
	}
	if _, err = f.Write(append(b, '\n')); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("gate: audit: %w", errors.Join(err, f.Truncate(size))) // what a full disk took of it is no entry
	}
	return nil
}

// noted reports whether the audit has an event of a plan.
func noted(dir, plan, event string) (bool, error) {
	b, err := os.ReadFile(filepath.Join(dir, auditFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("gate: audit: %w", err)
	}
	for line := range bytes.Lines(b) {
		var e Entry
		if json.Unmarshal(line, &e) == nil && e.Plan == plan && e.Event == event {
			return true, nil
		}
	}
	return false, nil
}

func chained(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// lastLine is the last whole line, and where it ends; a part that a crash left
// behind it is cut off.
func lastLine(f *os.File) (line []byte, end int64, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, err
	}
	tail := make([]byte, min(size, maxEntry))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	whole := bytes.LastIndexByte(tail, '\n') + 1
	end = size - int64(len(tail)-whole)
	if err := f.Truncate(end); err != nil {
		return nil, 0, err
	}
	tail = bytes.TrimSuffix(tail[:whole], []byte("\n"))
	return tail[bytes.LastIndexByte(tail, '\n')+1:], end, nil
}

// wholeLines is bufio.ScanLines without a last line that a crash cut: nothing was
// done upon it, and the next entry takes its place.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if atEOF && bytes.IndexByte(data, '\n') < 0 {
		return len(data), nil, nil
	}
	return bufio.ScanLines(data, atEOF)
}

// Verify reads the whole audit and says how many entries hold; the error names
// the first line that is not as it was written.
func Verify(dir string) (entries int, head string, err error) {
	f, err := os.Open(filepath.Join(dir, auditFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", fmt.Errorf("gate: audit: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxEntry)
	lines.Split(wholeLines)
	for lines.Scan() {
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return entries, head, fmt.Errorf("gate: audit %s: line %d is damaged: %w", f.Name(), entries+1, err)
		}
		if e.N != entries+1 || e.Prev != head {
			return entries, head, fmt.Errorf("gate: audit %s: line %d does not follow the line before it: something was changed, taken out or put in", f.Name(), entries+1)
		}
		entries, head = e.N, chained(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		return entries, head, fmt.Errorf("gate: audit %s: line %d: %w", f.Name(), entries+1, err)
	}
	return entries, head, nil
}
