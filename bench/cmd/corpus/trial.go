package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// truths are the names of the file that holds the truth beside a case.
var truths = []string{"case.json", "want.json"}

// truth is what is known of a case; null where it is not asked.
type truth struct {
	Primary    string   `json:"classes_primary"`
	Acceptable []string `json:"acceptable_primary"`
	Status     string   `json:"run_status"`
	Step       *int64   `json:"last_step"`
	Rank       *int     `json:"failing_rank"`
	Tasks      []string `json:"failed_tasks"`
	Evidence   []line   `json:"evidence_lines"`
}

const none = "none"

// trial is a case, and what the program said of it.
type trial struct {
	dir, id string
	want    truth
	got     answer
	others  []string // what the baselines say, in their order
	single  bool     // dir is one log, shown as it is
	err     error
}

func loadCases(root string) ([]trial, error) {
	var all []trial
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !slices.Contains(truths, e.Name()) {
			return err
		}
		t := trial{dir: filepath.Dir(p), id: filepath.Base(filepath.Dir(p))}
		text, err := os.ReadFile(p)
		if err == nil {
			err = json.Unmarshal(text, &t.want)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		all = append(all, t)
		return nil
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("no case in %s: want folders with %s or %s", root, truths[0], truths[1])
	}
	return all, err
}

func (t *trial) run(ctx context.Context, d doctor) {
	if t.single {
		t.got, t.err = d.log(ctx, t.dir)
	} else {
		t.got, t.err = d.folder(ctx, t.dir)
	}
}

// said is the class of the answer.
func (t *trial) said() string {
	if t.err != nil {
		return "error"
	}
	return t.got.Primary
}

func (t *trial) failure() bool { return t.want.Primary != none }

func (t *trial) right() bool { return t.said() == t.want.Primary }

func (t *trial) acceptable() bool {
	return t.right() || slices.Contains(t.want.Acceptable, t.said())
}

// question is a fact that some cases ask for.
type question struct {
	name  string
	asked func(*trial) bool
	right func(*trial) bool
}

// questions are asked of failures only, beside the class.
var questions = []question{
	{"evidence", func(t *trial) bool { return len(t.want.Evidence) > 0 }, (*trial).proves},
	{"rank", func(t *trial) bool { return t.want.Rank != nil }, func(t *trial) bool { return t.got.Rank != nil && *t.got.Rank == *t.want.Rank }},
	{"step", func(t *trial) bool { return t.want.Step != nil }, func(t *trial) bool { return t.step() == *t.want.Step }},
	{"status", func(*trial) bool { return true }, func(t *trial) bool { return t.got.Status == t.want.Status }},
	{"tasks", func(t *trial) bool { return len(t.want.Tasks) > 0 }, (*trial).tasks},
}

// proves says whether one of the first three references lies within three lines of a proving one.
func (t *trial) proves() bool {
	for _, got := range t.got.Evidence[:min(3, len(t.got.Evidence))] {
		for _, want := range t.want.Evidence {
			sameFile := got.File == "" || got.File == "-" || path.Base(got.File) == path.Base(want.File)
			if sameFile && max(got.Line-want.Line, want.Line-got.Line) <= 3 {
				return true
			}
		}
	}
	return false
}

func (t *trial) step() int64 {
	if t.got.Progress == nil || t.got.Progress.Step == nil {
		return 0
	}
	return *t.got.Progress.Step
}

func (t *trial) tasks() bool {
	for _, task := range t.want.Tasks {
		if t.got.Pipeline == nil || !slices.Contains(t.got.Pipeline.Failed, task) {
			return false
		}
	}
	return true
}
