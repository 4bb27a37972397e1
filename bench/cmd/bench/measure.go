package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// command is one row of a table.
type command struct {
	name   string
	args   []string
	env    []string // beside our own
	reads  string   // the file
	bytes  int64    // of text, if not the file's size
	null   bool     // its output goes to /dev/null, for which others stop at the first match
	exits  []int    // beside 0
	peer   string   // name of the row to compare with
	cat    string   // name of the row that only reads; "cat" where there is one
	single bool     // one round is enough: it is slow and far away
}

// sample is one run of a command.
type sample struct {
	Wall, CPU time.Duration
	Peak      int64 // bytes
}

// row is a command that was run.
type row struct {
	Name, Peer, Cat string
	Bytes           int64
	Samples         []sample
}

// table is the commands of one question, run in turns.
type table struct {
	Name, Title, Note string
	Rows              []row
}

func run(ctx context.Context, k *kit, commands []command, rounds int) ([]row, error) {
	rows := make([]row, len(commands))
	for i, c := range commands {
		if err := warm(c.reads); err != nil {
			return nil, err
		}
		info, err := os.Stat(c.reads)
		if err != nil {
			return nil, err
		}
		rows[i] = row{Name: c.name, Peer: c.peer, Cat: c.cat, Bytes: info.Size()}
		if c.bytes > 0 {
			rows[i].Bytes = c.bytes
		}
	}
	for n := range rounds {
		for i, c := range commands {
			if c.single && n > 0 {
				continue
			}
			s, err := k.once(ctx, c)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			rows[i].Samples = append(rows[i].Samples, s)
		}
	}
	return rows, nil
}

// once runs a command through measure, whose comment says why.
func (k *kit) once(ctx context.Context, c command) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	result, out := filepath.Join(k.scratch(), "result"), filepath.Join(k.scratch(), "out")
	if c.null {
		out = os.DevNull
	}
	os.Remove(result)                                                                       //nolint:errcheck // it need not be there
	cmd := exec.CommandContext(ctx, k.measure, append([]string{result, out}, c.args...)...) //nolint:forbidigo // a bench runs programs
	cmd.Env = append(os.Environ(), c.env...)
	together(cmd)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("measure: %w %s", err, complaint.String())
	}
	text, err := os.ReadFile(result)
	if err != nil {
		return sample{}, err
	}
	s, status, err := parseResult(string(text))
	if err == nil && status != 0 && !slices.Contains(c.exits, status) {
		err = fmt.Errorf("exit status %d: %s", status, complaint.String())
	}
	return s, err
}

// parseResult reads a line of measure.
func parseResult(text string) (s sample, status int, err error) {
	var wall, user, system, peak int64
	_, err = fmt.Sscan(text, &wall, &user, &system, &peak, &status)
	return sample{time.Duration(wall), time.Duration(user+system) * time.Microsecond, peak << 10}, status, err
}
