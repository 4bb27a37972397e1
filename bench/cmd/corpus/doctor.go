package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// answer is what is scored of an artifact.
type answer struct {
	Primary    string   `json:"primary_cause"`
	Confidence *float64 `json:"primary_cause_confidence"`
	Status     string   `json:"run_status"`
	Rank       *int     `json:"failing_rank"`
	Progress   *struct {
		Step *int64 `json:"step"`
	} `json:"last_progress"`
	Pipeline *struct {
		Failed []string `json:"failed_tasks"`
	} `json:"pipeline"`
	Evidence []line `json:"evidence_refs"`
}

// line is a place in a file of a run.
type line struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

// doctor asks the program.
type doctor struct{ program string }

func newDoctor(program string) (doctor, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return doctor{}, err
	}
	path, err = filepath.Abs(path)
	return doctor{path}, err
}

// folder shows the program the files of a run and nothing else: not the truth,
// and not the folder's name.
func (d doctor) folder(ctx context.Context, dir string) (answer, error) {
	work, err := os.MkdirTemp("", "corpus")
	if err != nil {
		return answer{}, err
	}
	defer os.RemoveAll(work) //nolint:errcheck // a temporary folder
	run := filepath.Join(work, "run")
	if err := os.CopyFS(run, os.DirFS(dir)); err != nil {
		return answer{}, err
	}
	for _, truth := range truths {
		if err := os.Remove(filepath.Join(run, truth)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return answer{}, err
		}
	}
	left, err := os.ReadDir(run)
	if err == nil && len(left) == 1 && left[0].Name() == "traceback.txt" {
		return d.ask(ctx, filepath.Join(run, "traceback.txt"), "--traceback")
	}
	return d.ask(ctx, "", run)
}

func (d doctor) log(ctx context.Context, path string) (answer, error) { return d.ask(ctx, "", path) }

func (d doctor) ask(ctx context.Context, stdin string, args ...string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.program, append([]string{"check", "--json"}, args...)...) //nolint:forbidigo // it measures a program
	var complaint strings.Builder
	cmd.Stderr = &complaint
	if stdin != "" {
		f, err := os.Open(stdin)
		if err != nil {
			return answer{}, err
		}
		defer f.Close()
		cmd.Stdin = f
	}
	out, err := cmd.Output() // exit statuses speak of the decision
	var a answer
	if json.Unmarshal(out, &a) != nil || a.Primary == "" {
		return answer{}, fmt.Errorf("no artifact: %w %s", errors.Join(err, ctx.Err()), strings.TrimSpace(complaint.String()))
	}
	return a, nil
}
