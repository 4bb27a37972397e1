package effect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// startsDir holds a file for each watch with how its runs were started, as they
// had it: only this user may read it, and nothing tells what is in it.
const (
	startsDir = "starts"
	keepStart = 30 * 24 * time.Hour
	maxStart  = 4 << 20
)

// watchName is a name that stays in its folder.
var watchName = regexp.MustCompile(`^[A-Za-z0-9][\w-]{0,60}$`)

// write puts what is known of a watch on disk; e.mu MUST be held.
func (e *Effects) write(watch string) error {
	if e.Dir == "" || !watchName.MatchString(watch) {
		return nil
	}
	var all []*memory
	for _, m := range e.started {
		if m.Run == watch {
			all = append(all, m)
		}
	}
	b, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("effect: how %s was started: %w", watch, err)
	}
	dir := filepath.Join(e.Dir, startsDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("effect: how %s was started: %w", watch, err)
	}
	f, err := os.CreateTemp(dir, ".start.*") // 0600
	if err != nil {
		return fmt.Errorf("effect: how %s was started: %w", watch, err)
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, watch+".json"))
	}
	if err != nil {
		os.Remove(f.Name()) //nolint:errcheck // the error says enough
		return fmt.Errorf("effect: how %s was started: %w", watch, err)
	}
	return nil
}

// Recall reads how the runs of earlier servers were started. What others could
// have written or read is left alone, and what is old is deleted. A restart of
// what comes from there asks a person, for a file is nobody's word.
func (e *Effects) Recall() error {
	dir := filepath.Join(e.Dir, startsDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("effect: how runs were started: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, en := range entries {
		path := filepath.Join(dir, en.Name())
		st, err := en.Info()
		if err != nil || !st.Mode().IsRegular() || filepath.Ext(path) != ".json" {
			continue
		}
		if time.Since(st.ModTime()) > keepStart {
			os.Remove(path) //nolint:errcheck // the next server tries again
			continue
		}
		if st.Mode().Perm()&0o077 == 0 && st.Size() <= maxStart {
			e.started = append(e.started, memories(path)...)
		}
	}
	slices.SortStableFunc(e.started, func(a, b *memory) int { return a.Seen.Compare(b.Seen) })
	e.started = e.started[max(0, len(e.started)-maxMemories):]
	return nil
}

// memories reads a file; what is no memory is passed over.
func memories(path string) []*memory {
	b, err := os.ReadFile(path)
	var all []*memory
	if err != nil || json.Unmarshal(b, &all) != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(m *memory) bool {
		if m == nil || m.Run+".json" != filepath.Base(path) || m.PID <= 1 || len(m.Launch.Args) == 0 || m.Launch.Env == nil || m.Launch.Dir == "" {
			return true
		}
		m.kept = path
		return false
	})
}
