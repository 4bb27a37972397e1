package tools

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/source"
)

// defaultBytes bounds a result unless max_bytes says otherwise: what is about
// 8,000 tokens.
const defaultBytes = 32 << 10

// args are the arguments of all tools; a tool reads those that it has.
type args struct {
	Target      string `json:"target"`
	Text        string `json:"text"`
	Project     string `json:"project"`
	Region      string `json:"region"`
	Artifacts   string `json:"artifacts"`
	Framework   string `json:"framework"`
	Task        string `json:"task"`
	LabelColumn string `json:"label_column"`
	Last        int    `json:"last"`
	MaxBytes    int    `json:"max_bytes"`

	File   string   `json:"file"`   // tail_log
	Lines  int      `json:"lines"`  // tail_log
	Cursor string   `json:"cursor"` // tail_log
	Around int      `json:"around"` // tail_log
	Match  string   `json:"match"`  // tail_log
	Names  []string `json:"names"`  // extract_metrics
	Points int      `json:"points"` // extract_metrics
	Plot   bool     `json:"plot"`   // extract_metrics
	OutDir string   `json:"out_dir"`
	RunID  string   `json:"run_id"`

	MonitorID   string `json:"monitor_id"` // monitor_run, and what stands below
	WaitSeconds *int   `json:"wait_seconds"`
	Interval    int    `json:"interval"`
	MaxInterval int    `json:"max_interval"`
	NoBackoff   bool   `json:"no_backoff"`
	Once        bool   `json:"once"`
	Stop        bool   `json:"stop"`
	NoFix       bool   `json:"no_fix"`

	FixID      string            `json:"fix_id"` // run_action, and what stands below
	Operation  string            `json:"operation"`
	Command    []string          `json:"command"`
	Env        map[string]string `json:"env"`
	Checkpoint string            `json:"checkpoint"`
	ApprovalID string            `json:"approval_id"`

	progress     mcp.ProgressToken // nil: the client wants none
	answers      mcp.InputResponses
	requestState string
	roots        source.Roots
	partial      bool // a run that cannot be read in time is judged by what was read
}

func (a *args) read(req mcp.CallToolRequest) error {
	b, err := json.Marshal(req.GetArguments())
	if err == nil {
		err = json.Unmarshal(b, a)
	}
	if err != nil {
		return fmt.Errorf("tools: arguments: %w", err)
	}
	if m := req.Params.Meta; m != nil {
		a.progress = m.ProgressToken
	}
	a.answers, a.requestState = req.Params.InputResponses, req.Params.RequestState
	if a.MaxBytes == 0 {
		a.MaxBytes = defaultBytes
	}
	return nil
}

// options are what the source is told; standard input belongs to the protocol,
// so it is there only for a pasted text.
func (a *args) options() source.Options {
	o := source.Options{
		Artifacts: a.Artifacts, LabelColumn: a.LabelColumn, Framework: a.Framework, Task: a.Task,
		Last: a.Last, Project: a.Project, Region: a.Region, Roots: a.roots,
	}
	if a.Text != "" {
		o.Stdin = strings.NewReader(a.Text)
	}
	return o
}

func (a *args) request() diagnose.Request {
	r := diagnose.Request{Target: a.Target, Text: a.Text, RunID: a.RunID, Options: a.options(), Partial: a.partial}
	return r
}
