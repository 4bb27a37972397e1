//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// TestAPersonHasARunStartedAgain is the whole of it: a training dies, the agent
// proposes what the plan says, a person approves it in a terminal, the training
// runs again, and the watch confirms it.
func TestAPersonHasARunStartedAgain(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		command      []string
		need         []string
		action       func(w tools.WatchState, dir string) map[string]any
	}{
		{"by the plan", plain, []string{"sh", "run.sh"}, nil, func(w tools.WatchState, _ string) map[string]any { return map[string]any{"monitor_id": w.MonitorID} }},
		{"from a checkpoint, with torch", withTorch, []string{python, "train.py"}, []string{python, "-c", "import torch"}, func(w tools.WatchState, dir string) map[string]any {
			return map[string]any{"monitor_id": w.MonitorID, "operation": "restart_with", "command": []string{python, "train.py", "--resume", filepath.Join(dir, "checkpoints", "step_50.pt")}}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStage(t)
			if tc.need != nil {
				need(t, tc.need[2], tc.need...)
			}
			s.write("train.py", tc.script)
			s.write("run.sh", python+" train.py\nexit $?\n") // a shell says in the log how a program of its own died
			run := s.train(tc.command...)
			a := s.connect()
			var w tools.WatchState
			a.watch(&w, map[string]any{"target": fmt.Sprintf("pid:%d", run.Process.Pid), "artifacts": s.dir, "interval": 1, "no_backoff": true}, ended)
			if w.State != report.StateFailed || w.Artifact == nil || w.Artifact.TotalSteps != 70 {
				t.Fatalf("the run ended %s: %+v", w.State, w.Artifact)
			}
			args := tc.action(w, s.dir)
			if args["operation"] == nil {
				args["fix_id"] = restartFix(t, a, s.dir)
			}
			asked := a.act(args)
			if asked.State != tools.ActionRequired || !strings.Contains(asked.TellThePerson, "trainmedic approve "+asked.ApprovalID) {
				t.Fatalf("%+v", asked)
			}
			if again := a.act(map[string]any{"approval_id": asked.ApprovalID}); again.State != tools.ActionRequired {
				t.Errorf("before the decision: %+v", again)
			}
			s.agentCannot(a, asked.ApprovalID)
			if out, err := s.person("00000000", "approve", asked.ApprovalID); err == nil {
				t.Errorf("a wrong code approves: %s", out)
			}
			out, err := s.person(asked.Digest, "approve", asked.ApprovalID)
			if err != nil || !strings.Contains(out, strings.Join(tc.command, " ")) || !strings.Contains(out, asked.ApprovalID+" approved") {
				t.Fatalf("%v: %s", err, out)
			}
			var got tools.Approval
			a.call(&got, "await_approval", map[string]any{"approval_id": asked.ApprovalID})
			if got.State != "approved" {
				t.Fatalf("%+v", got)
			}
			changed := map[string]any{"approval_id": asked.ApprovalID, "monitor_id": w.MonitorID, "operation": "restart_with", "command": []string{"touch", "pwned"}}
			if r := a.act(changed); r.State != tools.ActionRefused || r.Reason != "plan_changed" {
				t.Errorf("other arguments: %+v", r)
			}
			did := a.act(map[string]any{"approval_id": asked.ApprovalID})
			if did.State != tools.ActionDone || did.MonitorID != w.MonitorID {
				t.Fatalf("%+v", did)
			}
			if r := a.act(map[string]any{"approval_id": asked.ApprovalID}); r.State != tools.ActionRefused || r.Reason != "used" {
				t.Errorf("a second time: %+v", r)
			}
			events := a.watch(&w, nil, ended)
			if w.State != report.StateSucceeded || !has(report.EventActed)(tools.WatchState{Events: events}) || !has(report.EventValidated)(tools.WatchState{Events: events}) {
				t.Fatalf("after the action: %s %+v", w.State, events)
			}
			took := ""
			for _, an := range w.Artifact.Anomalies {
				took += an.ActionTaken
			}
			if !strings.Contains(took, "started as process") || !strings.Contains(took, "confirmed") {
				t.Errorf("action_taken: %q", took)
			}
			s.audited("proposed", "approved", "executing", "done", "validated")
		})
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

// TestAServerThatIsKilledDoesNothingTwice kills the server between the approval
// and the effect, and in the middle of the effect.
func TestAServerThatIsKilledDoesNothingTwice(t *testing.T) {
	s := newStage(t)
	s.write("stubborn.sh", "n=0\ntrap 'n=$((n+1)); echo TERM $n' TERM\necho ready\nwhile :; do sleep 0.1; done\n")
	run := s.train("sh", "stubborn.sh")
	target := map[string]any{"target": fmt.Sprintf("pid:%d", run.Process.Pid), "operation": "terminate"}
	log := func() string {
		b, _ := os.ReadFile(filepath.Join(s.dir, "train.log"))
		return string(b)
	}
	until(t, func() bool { return strings.Contains(log(), "ready") })

	a := s.connect()
	asked := a.act(target)
	if out, err := s.person(asked.Digest, "approve", asked.ApprovalID); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	syscall.Kill(s.server(), syscall.SIGKILL) // approved, and not begun
	a = s.connect()
	if r := a.act(map[string]any{"approval_id": asked.ApprovalID}); r.State != tools.ActionRefused || r.Reason != "void" || !strings.Contains(r.Result, "was not done") {
		t.Errorf("%+v", r)
	}
	if strings.Contains(log(), "TERM") {
		t.Error("it was done")
	}

	asked = a.act(target)
	if out, err := s.person(asked.Digest, "approve", asked.ApprovalID); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	go func() { // the answer never comes
		var req mcp.CallToolRequest
		req.Params.Name, req.Params.Arguments = "run_action", map[string]any{"approval_id": asked.ApprovalID}
		a.c.CallTool(context.Background(), req)
	}()
	until(t, func() bool { return strings.Contains(log(), "TERM 1") })
	syscall.Kill(s.server(), syscall.SIGKILL) // in the middle of it
	a = s.connect()
	if r := a.act(map[string]any{"approval_id": asked.ApprovalID}); r.State != tools.ActionRefused || r.Reason != "interrupted" || !strings.Contains(r.Result, "not done again") {
		t.Errorf("%+v", r)
	}
	if n := strings.Count(log(), "TERM"); n != 1 {
		t.Errorf("it was asked to end %d times", n)
	}
	s.audited("proposed", "approved", "void", "proposed", "approved", "executing", "interrupted")
}

// TestThePageOfARunningServer sets a passphrase in a terminal and denies on the
// page what the agent proposed.
func TestThePageOfARunningServer(t *testing.T) {
	s := newStage(t)
	s.write("wait.sh", "echo ready\nwhile :; do sleep 1; done\n")
	run := s.train("sh", "wait.sh")
	const pass = "a long passphrase"
	if out, err := s.person(pass+"\n"+pass, "approvals", "--set-passphrase"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a := s.connect("--approval-page", "127.0.0.1:0")
	asked := a.act(map[string]any{"target": fmt.Sprintf("pid:%d", run.Process.Pid), "operation": "terminate"})
	page := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(asked.TellThePerson)
	if page == "" {
		t.Fatalf("%+v", asked)
	}
	post := func(form url.Values) string {
		t.Helper()
		res, err := http.PostForm(page, form)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return string(b)
	}
	if body := post(url.Values{"passphrase": {"another passphrase"}}); strings.Contains(body, asked.Digest) {
		t.Error(body)
	}
	body := post(url.Values{"passphrase": {pass}})
	field := func(name string) string {
		m := regexp.MustCompile(`name="` + name + `" value="(\w+)"`).FindStringSubmatch(body)
		if m == nil {
			t.Fatalf("no %s: %s", name, body)
		}
		return m[1]
	}
	if !strings.Contains(body, "sh wait.sh") {
		t.Error(body)
	}
	post(url.Values{"key": {field("key")}, "id": {field("id")}, "digest": {field("digest")}, "decision": {"deny"}})
	var got tools.Approval
	a.call(&got, "await_approval", map[string]any{"approval_id": asked.ApprovalID})
	if got.State != "denied" {
		t.Errorf("%+v", got)
	}
	if r := a.act(map[string]any{"target": fmt.Sprintf("pid:%d", run.Process.Pid), "operation": "terminate"}); r.State != tools.ActionRefused || r.Reason != "denied" {
		t.Errorf("proposed again: %+v", r)
	}
	if out, err := s.person("", "approvals"); err != nil || !strings.Contains(out, "Nothing waits") { // the socket is there beside the page
		t.Errorf("%v: %s", err, out)
	}
	s.audited("proposed", "warning", "denied", "refused")
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
