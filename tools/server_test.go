package tools_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	sources "github.com/trainmedic/trainmedic/internal/source/all"
	"github.com/trainmedic/trainmedic/tools"
)

var update = flag.Bool("update", false, "write the golden files anew")

// doctor reads targets as the real one does, without any class of failure, and
// answers with a fixed diagnosis: what is under test is the face.
type doctor struct {
	real *diagnose.Doctor
	edit func(*report.Diagnosis)
}

func (d doctor) Diagnose(ctx context.Context, r diagnose.Request) (*diagnose.Result, error) {
	res, err := d.real.Look(ctx, r)
	if err != nil {
		return nil, err
	}
	res.Diagnosis = sample(r, res.TargetType)
	if d.edit != nil {
		d.edit(res.Diagnosis)
	}
	return res, nil
}

func sample(r diagnose.Request, targetType string) *report.Diagnosis {
	d := report.NewDiagnosis()
	d.RunID, d.Timestamp, d.DurationSeconds = r.RunID, "2026-07-14T05:40:12Z", 0.25
	d.Target, d.TargetType = r.Target, targetType
	d.RunStatus, d.Framework, d.PrimaryCause, d.CauseConfidence = report.Crashed, "pytorch", report.OOM, 0.9
	d.Decision, d.Confidence, d.Summary = report.NoGo, report.ConfidenceHigh, "crashed: oom"
	d.Evidence = []string{"run.log:3: CUDA out of memory"}
	d.EvidenceRefs = []report.EvidenceRef{{File: "run.log", Line: 3, ByteOffset: 50, Role: report.RoleCause, Text: "CUDA out of memory"}}
	d.Fixes = []report.Fix{{ID: "oom-batch", Action: "Halve the batch size", Risk: report.NeedsApproval, Validate: "200 steps"}}
	step, total := int64(2), int64(10)
	d.LastProgress.Step, d.LastProgress.TotalSteps = &step, &total
	return d
}

func newServer(t *testing.T, cfg tools.Config) *tools.Server {
	t.Helper()
	book, err := failure.NewBook()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Version = "test"; cfg.Sources == nil {
		cfg.Sources = sources.Kinds()
	}
	if cfg.Doctor == nil {
		cfg.Doctor = doctor{real: &diagnose.Doctor{Book: book, Sources: cfg.Sources}}
	}
	if cfg.Watches == nil {
		cfg.Watches = newDesk(t, t.TempDir())
	}
	n := 0
	cfg.NewID = func() string { n++; return fmt.Sprintf("id-%d", n) }
	return tools.New(cfg)
}

func realDoctor(t *testing.T) *diagnose.Doctor {
	t.Helper()
	book, err := failure.NewBook()
	if err != nil {
		t.Fatal(err)
	}
	return &diagnose.Doctor{Book: book, Sources: sources.Kinds()}
}

// client speaks JSON-RPC with a server over pipes.
type client struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
	id  int

	notes []string // notifications that came before an answer
}

func dial(t *testing.T, s *tools.Server) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(ctx, inR, outW, io.Discard) }()
	t.Cleanup(func() {
		inW.Close()
		cancel()
		go io.Copy(io.Discard, outR)
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		outW.Close()
	})
	return &client{t: t, in: inW, out: bufio.NewReader(outR)}
}

// send writes one message and, if it is a request, returns the response.
func (c *client) send(line string) json.RawMessage {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
	if !strings.Contains(line, `"id":`) {
		return nil
	}
	for {
		answer, err := c.out.ReadBytes('\n')
		if err != nil {
			c.t.Fatal(err)
		}
		if bytes.Contains(answer, []byte(`"id":`)) {
			return answer
		}
		c.notes = append(c.notes, string(answer))
	}
}

func (c *client) hello() *client {
	c.t.Helper()
	c.request("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

type answer struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (c *client) request(method string, params any) answer {
	c.t.Helper()
	c.id++
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(c.send(string(b)), &a); err != nil {
		c.t.Fatal(err)
	}
	return a
}

// result is a tool's answer.
type result struct {
	IsError bool `json:"isError"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
}

func (c *client) call(tool string, args map[string]any) result {
	c.t.Helper()
	a := c.request("tools/call", map[string]any{"name": tool, "arguments": args})
	if a.Error != nil {
		c.t.Fatalf("%s: protocol error %+v", tool, *a.Error)
	}
	var r result
	if err := json.Unmarshal(a.Result, &r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

func (c *client) fails(tool string, args map[string]any) report.Failure {
	c.t.Helper()
	r := c.call(tool, args)
	var e report.ErrorEnvelope
	if !r.IsError || r.StructuredContent != nil || len(r.Content) != 1 || json.Unmarshal([]byte(r.Content[0].Text), &e) != nil {
		c.t.Fatalf("%s %v: want an error envelope, got %+v", tool, args, r)
	}
	return e.Error
}

// TestTranscripts replays the client's lines of each transcript and compares
// what the server answers.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			replay(t, filepath.Join(home, f))
		})
	}
}

func replay(t *testing.T, file string) {
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	var script []byte
	want := -1
	for i, f := range ar.Files {
		switch f.Name {
		case "client":
			script = f.Data
		case "server":
			want = i
		default:
			extract(t, f)
		}
	}
	c := dial(t, newServer(t, tools.Config{}))
	var got bytes.Buffer
	for line := range strings.Lines(string(script)) {
		if a := c.send(strings.TrimSpace(line)); a != nil {
			if err := json.Indent(&got, a, "", " "); err != nil {
				t.Fatal(err)
			}
		}
	}
	if *update {
		ar.Files[want].Data = got.Bytes()
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(string(ar.Files[want].Data), got.String()); d != "" {
		t.Errorf("run go test ./tools -update, and read the diff:\n%s", d)
	}
}

func extract(t *testing.T, f txtar.File) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.Name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Name, f.Data, 0o644); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 7, 14, 5, 40, 0, 0, time.UTC)
	if err := os.Chtimes(f.Name, at, at); err != nil {
		t.Fatal(err)
	}
}

// maxList is the bound of tools/list in the contract.
const maxList = 20_000

func TestToolsListIsAsRecordedAndSmall(t *testing.T) {
	a := dial(t, newServer(t, tools.Config{})).hello().request("tools/list", map[string]any{})
	if len(a.Result) >= maxList {
		t.Errorf("tools/list has %d bytes, want less than %d", len(a.Result), maxList)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, a.Result, "", " "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	const golden = "testdata/tools.json"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("%s is stale; run: go test ./tools -update\n%s", golden, d)
	}
}
