//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source/process"
	"github.com/trainmedic/trainmedic/tools"
)

// plain is a training that saves its state and dies once by a signal.
const plain = `
import json, os, sys, time
start = 0
if os.path.exists("state.json"):
    start = json.load(open("state.json"))["step"]
    print("resumed at step", start, flush=True)
print("training starts", flush=True)
for step in range(start + 1, 201):
    time.sleep(0.02)
    print(f"step {step}/200 loss={5 / (step + 1) + 0.1:.4f} lr=1e-4", flush=True)
    if step % 20 == 0:
        json.dump({"step": step}, open("state.json.tmp", "w"))
        os.replace("state.json.tmp", "state.json")
    if step == 70 and not os.path.exists("died"):
        open("died", "w").close()
        time.sleep(float(os.environ.get("LAST_SLEEP", "1.5")))
        os.kill(os.getpid(), 11)
print("Training finished", flush=True)
`

// withTorch is one that goes on from a checkpoint only when it is told to.
const withTorch = `
import os, sys, time, torch
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
start = 0
if "--resume" in sys.argv:
    c = torch.load(sys.argv[sys.argv.index("--resume") + 1])
    model.load_state_dict(c["model"]); start = c["step"]
    print("resumed at step", start, flush=True)
os.makedirs("checkpoints", exist_ok=True)
w = torch.randn(8, 1)
for step in range(start + 1, 161):
    x = torch.randn(64, 8)
    loss = ((model(x) - x @ w) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.02)
    print(f"step {step}/160 loss={loss.item():.4f} lr=0.05", flush=True)
    if step % 25 == 0:
        torch.save({"model": model.state_dict(), "step": step}, f"checkpoints/step_{step}.pt")
    if step == 70 and start == 0:
        time.sleep(1.5)
        os.kill(os.getpid(), 11)
print("Training finished", flush=True)
`

const python = "/usr/bin/python3"

// need skips where a program of the test is missing; CI installs it.
func need(t *testing.T, what string, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing: %v %s", what, err, out)
		}
		t.Skipf("%s is missing: %v", what, err)
	}
}

// stage is a built program, a state folder of its own, and a policy that asks.
type stage struct {
	t            *testing.T
	program, dir string
	env          []string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	need(t, "python3", python, "-V")
	need(t, "script, of util-linux", "script", "--version")
	dir, err := os.MkdirTemp("", "tm") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &stage{t: t, program: filepath.Join(dir, "tm"), dir: dir}
	if out, err := exec.Command("go", "build", "-o", s.program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.env = append(os.Environ(), "XDG_STATE_HOME="+dir)
	s.write("policy.yaml", "actions: {restart: ask, restart_with: ask, terminate: ask}\n")
	return s
}

func (s *stage) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// train starts a training that writes to a log, as a shell's job does.
func (s *stage) train(argv ...string) *exec.Cmd {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "train.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.Stdout, c.Stderr, c.SysProcAttr = s.dir, log, log, &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	over := make(chan struct{})
	go func() { c.Wait(); close(over) }()
	s.t.Cleanup(func() {
		syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		<-over
	})
	return c
}

// agent is an MCP client over stdio. Between it and the server stands a process as
// the host program of an agent is: the person's terminal is not below that.
type agent struct {
	*stage
	c   *client.Client
	err said
}

func (s *stage) connect(flags ...string) *agent {
	s.t.Helper()
	a := &agent{stage: s}
	line := fmt.Sprintf("'%s' serve --policy '%s' %s; exit", s.program, filepath.Join(s.dir, "policy.yaml"), strings.Join(flags, " "))
	c, err := client.NewStdioMCPClientWithOptions("sh", s.env, []string{"-c", line}, transport.WithCommandStderrWriter(&a.err))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	a.c = c
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion, hello.Params.ClientInfo = "2025-11-25", mcp.Implementation{Name: "test-agent", Version: "1"}
	if _, err := c.Initialize(s.t.Context(), hello); err != nil {
		s.t.Fatalf("%v: %s", err, a.err.String())
	}
	return a
}

// said is what the server writes to standard error.
type said struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// call calls a tool, which has to answer.
func (a *agent) call(into any, tool string, args map[string]any) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 90*time.Second)
	defer cancel()
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = tool, args
	res, err := a.c.CallTool(ctx, req)
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	b, _ := json.Marshal(res.StructuredContent)
	if res.IsError {
		a.t.Fatalf("%s: %+v", tool, res.Content)
	}
	if err := json.Unmarshal(b, into); err != nil {
		a.t.Fatalf("%s: %v: %s", tool, err, b)
	}
}

func (a *agent) act(args map[string]any) tools.ActionResult {
	a.t.Helper()
	var r tools.ActionResult
	a.call(&r, "run_action", args)
	return r
}

// watch follows a run until an event of a kind; it gives all events since then.
func (a *agent) watch(w *tools.WatchState, args map[string]any, until func(tools.WatchState) bool) []report.Event {
	a.t.Helper()
	var all []report.Event
	for range 100 {
		if w.MonitorID != "" {
			args = map[string]any{"monitor_id": w.MonitorID, "cursor": w.Cursor, "wait_seconds": 20}
		}
		*w = tools.WatchState{}
		a.call(w, "monitor_run", args)
		if all = append(all, w.Events...); until(*w) {
			return all
		}
	}
	a.t.Fatalf("it does not come about: %+v", w)
	return nil
}

// person types into a terminal of their own.
func (s *stage) person(typed string, args ...string) (string, error) {
	quoted := "'" + s.program + "' " + strings.Join(args, " ")
	c := exec.Command("script", "-qec", quoted, "/dev/null")
	c.Env, c.Stdin = s.env, strings.NewReader(typed+"\n")
	out, err := c.CombinedOutput()
	return string(out), err
}

func ended(w tools.WatchState) bool { return w.State != report.StateRunning }

func has(kind report.EventKind) func(tools.WatchState) bool {
	return func(w tools.WatchState) bool {
		for _, e := range w.Events {
			if e.Kind == kind {
				return true
			}
		}
		return false
	}
}

// restartFix is the fix of the plan that starts the run again.
func restartFix(t *testing.T, a *agent, dir string) string {
	t.Helper()
	var d report.Diagnosis
	matches, _ := filepath.Glob(filepath.Join(dir, "trainmedic", "watches", "*", report.CheckArtifact))
	for _, m := range matches {
		if b, err := os.ReadFile(m); err == nil && json.Unmarshal(b, &d) == nil {
			for _, f := range d.Fixes {
				if f.Operation != nil && *f.Operation == string(gate.Restart) {
					return f.ID
				}
			}
		}
	}
	t.Fatalf("the plan does not say restart: %+v", d.Fixes)
	return ""
}

// agentCannot tries what an agent with a shell would: without a terminal.
func (s *stage) agentCannot(a *agent, id string) {
	s.t.Helper()
	c := exec.Command("setsid", "-w", s.program, "approve", id)
	c.Env = s.env
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "in a terminal") {
		s.t.Errorf("without a terminal: %v %s", err, out)
	}
	if r := a.act(map[string]any{"approval_id": id}); r.State != tools.ActionRequired {
		s.t.Errorf("after that: %+v", r)
	}
}

// audited wants these events in this order, in an audit that is whole.
func (s *stage) audited(want ...string) {
	s.t.Helper()
	dir := filepath.Join(s.dir, "trainmedic", "gate")
	if _, _, err := gate.Verify(dir); err != nil {
		s.t.Error(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for line := range bytes.Lines(b) {
		var e gate.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			s.t.Fatal(err)
		}
		got = append(got, e.Event)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		s.t.Errorf("the audit says %v, want %v", got, want)
	}
}

// server is the PID of the server of this stage.
func (s *stage) server() int {
	s.t.Helper()
	for _, pid := range process.All() {
		if args := process.Args(pid); len(args) > 1 && args[0] == s.program && args[1] == "serve" {
			return pid
		}
	}
	s.t.Fatal("no server runs")
	return 0
}

func until(t *testing.T, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it does not come about")
		}
	}
}
