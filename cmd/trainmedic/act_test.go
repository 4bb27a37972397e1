//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/trainmedic/trainmedic/internal/remote/sshdtest"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/tools"
)

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

// TestARunIsStartedAgainByTheNextServer has the server killed after the run died:
// the next one knows how it was started, here and on a host, and asks a person.
func TestARunIsStartedAgainByTheNextServer(t *testing.T) {
	for name, host := range map[string]string{"here": "", "over SSH": "box:"} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			if host != "" {
				d := sshdtest.Start(t)
				h := sshdtest.NewHome(t, d)
				h.Config(sshdtest.Box("box", d))
				s.env = append(s.env, "HOME="+h.Dir)
			}
			s.write("train.py", plain)
			s.write("run.sh", python+" train.py\nexit $?\n")
			run := s.train("sh", "run.sh")
			a := s.connect()
			var w tools.WatchState
			a.watch(&w, map[string]any{"target": fmt.Sprintf("pid:%s%d", host, run.Process.Pid), "interval": 1, "no_backoff": true}, ended)
			if w.State != report.StateFailed {
				t.Fatalf("the run ended %s: %+v", w.State, w.Artifact)
			}
			syscall.Kill(s.server(), syscall.SIGKILL)
			a = s.connect()
			asked := a.act(map[string]any{"monitor_id": w.MonitorID, "operation": "restart"})
			if asked.State != tools.ActionRequired || !strings.Contains(asked.Reason, "kept by an earlier server") {
				t.Fatalf("%+v", asked)
			}
			if out, err := s.person(asked.Digest, "approve", asked.ApprovalID); err != nil || !strings.Contains(out, "sh run.sh") {
				t.Fatalf("%v: %s", err, out)
			}
			did := a.act(map[string]any{"approval_id": asked.ApprovalID})
			if did.State != tools.ActionDone || did.MonitorID != w.MonitorID {
				t.Fatalf("%+v", did)
			}
			events := a.watch(&w, nil, ended)
			if !has(report.EventActed)(tools.WatchState{Events: events}) || !has(report.EventValidated)(tools.WatchState{Events: events}) {
				t.Fatalf("after the action: %s %+v", w.State, events)
			}
			took := ""
			for _, an := range w.Artifact.Anomalies {
				took += an.ActionTaken
			}
			if !strings.Contains(took, "confirmed") {
				t.Errorf("action_taken: %q", took)
			}
			s.audited("proposed", "approved", "executing", "done", "validated")
		})
	}
}
