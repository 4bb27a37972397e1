package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/tools"
)

// TestKilledAnywhere kills the server at random moments while it watches,
// proposes, has a person decide, acts and writes artifacts, and starts it again
// on what it left. After each kill everything on disk can be read, what was
// acknowledged is there, and no event reaches the client twice. The seed is
// printed; TRAINMEDIC_SEED repeats it, TRAINMEDIC_SOAK does many rounds.
func TestKilledAnywhere(t *testing.T) {
	rounds, seed := 25, uint64(time.Now().UnixNano())
	switch {
	case os.Getenv("TRAINMEDIC_SOAK") != "":
		rounds = 600
	case testing.Short():
		rounds = 3
	}
	if s := os.Getenv("TRAINMEDIC_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("TRAINMEDIC_SEED=%d", seed)
	s := newStage(t)
	v := &victim{stage: s, rand: rand.New(rand.NewPCG(seed, 1)), plans: map[string][]string{}}
	for i := range 6 {
		w := &followed{log: filepath.Join(s.dir, fmt.Sprintf("run%d.log", i)), out: filepath.Join(s.dir, fmt.Sprintf("out%d", i))}
		if err := os.Mkdir(w.out, 0o700); err != nil {
			t.Fatal(err)
		}
		v.watches = append(v.watches, w)
		w.grow(t, v.rand)
	}
	for n := range rounds {
		v.live(time.Duration(v.rand.IntN(1500)) * time.Millisecond)
		v.inspect()
		if t.Failed() {
			t.Fatalf("in round %d", n+1)
		}
	}
	v.live(4 * time.Second) // the last one has time to tell all
	v.inspect()
	told, acts := 0, 0
	for _, w := range v.watches {
		told += w.all
	}
	for _, events := range v.plans {
		acts += len(events)
	}
	t.Logf("%d kills: %d events of watches told, %d watches ended with their artifact, %d steps of %d plans acknowledged; %d checks killed", rounds+1, told, v.ended, acts, len(v.plans), v.checks)
	if told < rounds/5 || acts < rounds/2 {
		t.Errorf("the server had nothing to lose: %d events, %d steps", told, acts)
	}
}

// victim is a server that is killed, and what its client was told.
type victim struct {
	*stage
	rand    *rand.Rand
	watches []*followed
	ended   int
	checks  int

	mu    sync.Mutex
	plans map[string][]string // what was acknowledged of each, as the audit calls it
}

// followed is one watch as its client knows it.
type followed struct {
	log, out   string
	id, cursor string
	told       []report.Event
	all        int // events told, watches before this one included
	step       int
	sick       bool
}

// grow appends steps, with a loss that is NaN for a while every now and then.
func (w *followed) grow(t *testing.T, r *rand.Rand) {
	var b strings.Builder
	if r.IntN(2) == 0 {
		w.sick = !w.sick
	}
	for range 10 {
		w.step++
		loss := "2.5"
		if w.sick {
			loss = "nan"
		}
		fmt.Fprintf(&b, "step %d/100000 loss=%s lr=1e-4\n", w.step, loss)
	}
	f, err := os.OpenFile(w.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(b.String())
		f.Close()
	}
	if err != nil {
		t.Error(err)
	}
}

// live lets a server work for a while, and kills it.
func (v *victim) live(most time.Duration) {
	v.t.Helper()
	c := exec.Command(v.program, "serve", "--policy", filepath.Join(v.dir, "policy.yaml"))
	var said bytes.Buffer
	c.Env, c.Stderr = v.env, &said
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the test's terminal is the person's
	in, err := c.StdinPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		v.t.Fatal(err)
	}
	check := exec.Command(v.program, "check", v.watches[0].log, "--out-dir", v.dir)
	check.Env = v.env
	if err := check.Start(); err != nil {
		v.t.Fatal(err)
	}
	kill := time.AfterFunc(most, func() { check.Process.Kill(); c.Process.Kill() })
	v.talk(in, out, most)
	kill.Stop()
	check.Process.Kill()
	c.Process.Kill()
	check.Wait()
	c.Wait()
	v.checks++
	if strings.Contains(said.String(), "goroutine ") || strings.Contains(said.String(), "WARNING: DATA RACE") {
		v.t.Errorf("it said: %s", said.String())
	}
}

// talk calls the tools until the server is gone.
func (v *victim) talk(in io.Writer, out io.Reader, most time.Duration) {
	var persons sync.WaitGroup
	defer persons.Wait()
	var mu sync.Mutex
	calls, next := map[int]func(json.RawMessage){}, 0
	send := func(tool string, args map[string]any, got func(json.RawMessage)) {
		mu.Lock()
		defer mu.Unlock()
		next++
		calls[next] = got
		b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": next, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args}})
		in.Write(append(b, '\n')) // it may be dead by now
	}
	io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"victim","version":"1"},"capabilities":{}}}`+"\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	for _, w := range v.watches {
		v.follow(w, send)
	}
	for range 2 {
		v.propose(send, &persons, most)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     *int `json:"id"`
			Result struct {
				IsError    bool            `json:"isError"`
				Structured json.RawMessage `json:"structuredContent"`
			} `json:"result"`
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		mu.Lock()
		got := calls[*m.ID]
		mu.Unlock()
		if m.Result.IsError {
			v.t.Errorf("an error: %s", line)
		} else if got != nil {
			got(m.Result.Structured)
		}
	}
}

type sender func(tool string, args map[string]any, got func(json.RawMessage))

// follow asks for the next news of a watch, again and again.
func (v *victim) follow(w *followed, send sender) {
	args := map[string]any{"interval": 1, "no_backoff": true, "out_dir": w.out, "wait_seconds": 1}
	if w.id == "" {
		args["target"] = w.log
	} else {
		args = map[string]any{"monitor_id": w.id, "cursor": w.cursor, "wait_seconds": 1}
		if v.rand.IntN(40) == 0 {
			args["stop"] = true
		}
	}
	send("monitor_run", args, func(b json.RawMessage) {
		var st tools.WatchState
		if err := json.Unmarshal(b, &st); err != nil {
			v.t.Errorf("%v: %s", err, b)
			return
		}
		w.id, w.cursor = st.MonitorID, st.Cursor
		w.told, w.all = append(w.told, st.Events...), w.all+len(st.Events)
		if st.Artifact != nil {
			v.ended++
			v.inspectWatch(w)
			var r report.WatchReport
			v.read(filepath.Join(w.out, report.WatchArtifact), &r)
			if r.RunID != st.Artifact.RunID {
				v.t.Errorf("%s: an artifact of %s, told was %s", w.log, r.RunID, st.Artifact.RunID)
			}
			w.id, w.cursor, w.told = "", "", nil
		}
		w.grow(v.t, v.rand)
		v.follow(w, send)
	})
}

// propose has a process ended: an agent proposes it, a person decides, the agent
// has it done.
func (v *victim) propose(send sender, persons *sync.WaitGroup, most time.Duration) {
	dummy := exec.Command("sleep", "600")
	dummy.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := dummy.Start(); err != nil {
		v.t.Error(err)
		return
	}
	over := make(chan struct{})
	go func() { dummy.Wait(); close(over) }()
	v.t.Cleanup(func() { dummy.Process.Kill(); <-over })
	yes := v.rand.IntN(2) == 0
	decide := func(r tools.ActionResult) {
		verb := map[bool]string{true: "approve", false: "deny"}[yes]
		if out, err := v.person(r.Digest, verb, r.ApprovalID); err != nil || !strings.Contains(out, r.ApprovalID+" ") {
			return // the server died
		}
		v.acknowledge(r.ApprovalID, map[bool]string{true: "approved", false: "denied"}[yes])
		if !yes {
			return
		}
		send("run_action", map[string]any{"approval_id": r.ApprovalID}, func(b json.RawMessage) {
			var did tools.ActionResult
			if json.Unmarshal(b, &did) == nil && did.State == tools.ActionDone {
				v.acknowledge(r.ApprovalID, "done")
			}
		})
	}
	send("run_action", map[string]any{"target": fmt.Sprintf("pid:%d", dummy.Process.Pid), "operation": "terminate"}, func(b json.RawMessage) {
		var r tools.ActionResult
		if json.Unmarshal(b, &r) == nil && r.State == tools.ActionRequired {
			v.acknowledge(r.ApprovalID, "proposed")
			persons.Go(func() { decide(r) })
		}
	})
}

func (v *victim) acknowledge(plan, event string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.plans[plan] = append(v.plans[plan], event)
}

func (v *victim) read(path string, into any) {
	v.t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		v.t.Errorf("%s: %v", path, err)
	}
}

// inspect looks at what a killed server left.
func (v *victim) inspect() {
	v.t.Helper()
	for _, w := range v.watches {
		v.inspectWatch(w)
	}
	v.inspectAudit()
	for _, pattern := range []string{"*.json", "out*/*.json", "trainmedic/watches/*/*.json", "trainmedic/gate/plans/*.json"} {
		all, _ := filepath.Glob(filepath.Join(v.dir, pattern))
		for _, path := range all {
			if strings.HasPrefix(filepath.Base(path), ".") {
				continue // what was being written beside the whole one
			}
			var any map[string]any
			v.read(path, &any)
		}
	}
}

// inspectWatch wants what the client was told to be the beginning of the journal.
func (v *victim) inspectWatch(w *followed) {
	v.t.Helper()
	if w.id == "" {
		return
	}
	b, err := os.ReadFile(filepath.Join(v.dir, "trainmedic", "watches", w.id, "journal.jsonl"))
	if err != nil && len(w.told) > 0 {
		v.t.Errorf("%s: %d events were told: %v", w.log, len(w.told), err)
		return
	}
	var kept []report.Event
	for line := range bytes.Lines(b) {
		var e struct {
			N int `json:"n"`
			report.Event
		}
		if json.Unmarshal(line, &e) != nil || e.N != len(kept)+1 {
			v.t.Errorf("%s: line %d of the journal: %s", w.log, len(kept)+1, line)
			return
		}
		kept = append(kept, e.Event)
	}
	if len(kept) < len(w.told) {
		v.t.Errorf("%s: %d events were told, the journal has %d", w.log, len(w.told), len(kept))
		return
	}
	for i := range w.told {
		if a, b := line(w.told[i]), line(kept[i]); a != b {
			v.t.Errorf("%s: event %d was told as\n%s\nthe journal has\n%s", w.log, i+1, a, b)
		}
	}
	open := false
	for _, e := range kept {
		if e.Anomaly == nil || e.Anomaly.Type != report.AnomalyNaNInf || e.Kind == report.EventWorse {
			continue
		}
		if opens := e.Kind == report.EventOpened; opens == open {
			v.t.Errorf("%s: told twice: %s", w.log, line(e))
		}
		open = e.Kind == report.EventOpened
	}
}

func line(e report.Event) string {
	b, _ := json.Marshal(e)
	return string(b)
}

// inspectAudit wants a whole audit with all that was acknowledged, and nothing
// done twice.
func (v *victim) inspectAudit() {
	v.t.Helper()
	dir := filepath.Join(v.dir, "trainmedic", "gate")
	if _, _, err := gate.Verify(dir); err != nil {
		v.t.Error(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		v.t.Error(err)
	}
	got := map[string]map[string]int{}
	for l := range bytes.Lines(b) {
		var e gate.Entry
		if json.Unmarshal(l, &e) != nil {
			continue // Verify has said what is wrong
		}
		if got[e.Plan] == nil {
			got[e.Plan] = map[string]int{}
		}
		got[e.Plan][e.Event]++
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for plan, events := range v.plans {
		for _, event := range events {
			if got[plan][event] != 1 {
				v.t.Errorf("plan %s: %s was acknowledged, and is in the audit %d times", plan, event, got[plan][event])
			}
		}
	}
	for plan, events := range got {
		for event, n := range events {
			if n > 1 && event != "warning" {
				v.t.Errorf("plan %s: %s stands there %d times", plan, event, n)
			}
		}
	}
}
