package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/cli"
	"github.com/trainmedic/trainmedic/internal/redact/redacttest"
)

// said is everything that left the program about one run, by where it went.
// Names that end in .json hold one JSON value a line.
type leaving map[string]string

// faces shows a run to every face and gathers what leaves.
func faces(t *testing.T, target string) leaving {
	t.Helper()
	out, state := t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	got := leaving{}
	program := func(name string, args ...string) {
		var stdout, stderr strings.Builder
		if code := run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr}); code == 2 && name != "nothing there" {
			t.Fatalf("%v: %s", args, stderr.String())
		}
		got[name], got[name+" (stderr)"] = compact(t, []byte(stdout.String())), stderr.String()
	}
	page, news := filepath.Join(out, "page.html"), filepath.Join(out, "notified.json")
	program("check", "check", target, "--out-dir", out, "--html", page)
	program("check.json", "check", target, "--json")
	program("watch", "watch", target, "--once", "--out-dir", out, "--notify", "env | grep -v PWD >&2; cat >>"+news)
	program("nothing there", "check", target+"/nothing there")
	got["serve.json"] = answered(t, target)
	for _, dir := range []string{out, state} {
		err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(p)
			name := e.Name()
			got["file "+strings.Replace(name, ".jsonl", ".json", 1)] += compact(t, b) + "\n"
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return got
}

// compact puts a JSON value on one line.
func compact(t *testing.T, b []byte) string {
	t.Helper()
	if !json.Valid(b) {
		return string(b)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, b); err != nil {
		t.Fatal(err)
	}
	return line.String()
}

// answered asks the MCP server everything about a run and returns its answers.
func answered(t *testing.T, target string) string {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan int)
	go func() {
		done <- run(t.Context(), []string{"serve"}, cli.Streams{In: inR, Out: outW, Err: io.Discard})
		outW.Close()
	}()
	var all strings.Builder
	answers := bufio.NewReader(outR)
	id := 0
	ask := func(method string, params any) string {
		id++
		b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		inW.Write(append(b, '\n'))
		for {
			line, err := answers.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			all.WriteString(line)
			if strings.Contains(line, fmt.Sprintf(`"id":%d`, id)) {
				return line
			}
		}
	}
	ask("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}})
	io.WriteString(inW, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	for _, tool := range []string{"fetch_target", "tail_log", "extract_metrics", "classify_failure", "plan_recovery", "check_failed_run"} {
		ask("tools/call", map[string]any{"name": tool, "arguments": map[string]any{"target": target}})
	}
	ask("tools/call", map[string]any{"name": "tail_log", "arguments": map[string]any{"target": target, "file": "no such file"}})
	ask("tools/call", map[string]any{"name": "check_failed_run", "arguments": map[string]any{"target": target, "max_bytes": 4000}})
	ask("tools/call", map[string]any{"name": "monitor_run", "arguments": map[string]any{"target": target, "once": true}})
	var list struct {
		Result struct{ Resources []struct{ URI string } }
	}
	if err := json.Unmarshal([]byte(ask("resources/list", nil)), &list); err != nil {
		t.Fatal(err)
	}
	for _, r := range list.Result.Resources {
		if strings.HasPrefix(r.URI, "run://") {
			ask("resources/read", map[string]any{"uri": r.URI})
		}
	}
	ask("prompts/get", map[string]any{"name": "check-failed-run", "arguments": map[string]string{"target": target}})
	ask("completion/complete", map[string]any{"ref": map[string]any{"type": "ref/prompt", "name": "check-failed-run"}, "argument": map[string]any{"name": "target", "value": target + "/"}})
	inW.Close()
	<-done
	return all.String()
}

// speaking writes a run that failed and in which texts stand wherever a run can
// put one: lines, the error, names of files, metrics, settings, jobs and tasks.
func speaking(t *testing.T, lines []string, message, name string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var log strings.Builder
	for i := range 60 {
		fmt.Fprintf(&log, "step %d/1000 loss=%.4f lr=1e-4\n", i+1, 5-float64(i)/60)
	}
	fmt.Fprintf(&log, "{\"step\": 61, \"loss\": 4.0, %s: 1.5}\n", quoted(name))
	log.WriteString(strings.Join(lines, "\n"))
	fmt.Fprintf(&log, "\nTraceback (most recent call last):\n  File \"/app/train.py\", line 12, in main\n    %s\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. %s\n", message, message)
	log.WriteString(strings.Join(lines, "\n") + "\n")
	write("train.log", log.String())
	file := strings.NewReplacer("/", "_", "\x00", "", "\n", "_").Replace(name)
	if len(file) > 200 {
		file = file[:200]
	}
	write(file+".log", "step 1/2 loss=1\nValueError: "+message+"\n")
	write("checkpoint-50 "+file+"/model.safetensors", "torn")
	write("train_args.json", fmt.Sprintf(`{"learning_rate": 0.1, %s: 1, "model_name_or_path": %s, "run_name": %s, "fp16": %s}`, quoted(name), quoted(message), quoted(name), quoted(message)))
	write("mlruns/0/aa/meta.yaml", fmt.Sprintf("run_id: aa\nrun_name: %s\nstatus: 4\nstart_time: 1700000000000\nend_time: 1700000100000\n", quoted(name)))
	write("mlruns/0/aa/tags/mlflow.note.content", message)
	write("mlruns/0/aa/metrics/"+file, "1700000000000 1.5 1\n1700000001000 nan 2\n")
	write("pipeline_job.json", fmt.Sprintf(`{"name": "projects/1/locations/us-central1/pipelineJobs/x", "displayName": %s, "state": "PIPELINE_STATE_FAILED", "error": {"code": 9, "message": %s},
		"labels": {%s: %s}, "jobDetail": {"taskDetails": [{"taskName": %s, "taskId": "1", "state": "FAILED", "error": {"code": 9, "message": %s}}, {"taskName": "after", "taskId": "2", "state": "NOT_TRIGGERED"}]}}`, quoted(name), quoted(message), quoted(name), quoted(message), quoted(name), quoted(message)))
	return dir
}

// strict are the fields that are ours to say: what a run says stands in them in
// quotes only.
var strict = map[string]bool{
	"summary": true, "title": true, "description": true, "fix": true, "root_cause": true, "proximate_cause": true, "contributing_factors": true,
	"action": true, "expected_impact": true, "validate": true, "command": true, "next_commands": true, "ask": true, "stop_reason": true, "action_taken": true, "status_line": true,
	"message": true, "tell_the_person": true,
}

// sentences calls back with every text of a JSON value and the field it is of. A
// result of a tool and a resource hold JSON in a text, which is opened.
func sentences(field string, v any, say func(field, text string)) {
	switch v := v.(type) {
	case map[string]any:
		var inner any
		if s, ok := v["text"].(string); ok && (v["type"] == "text" || v["uri"] != nil) && json.Unmarshal([]byte(s), &inner) == nil {
			v["text"] = inner
		}
		for k, x := range v {
			say("key", k)
			sentences(k, x, say)
		}
	case []any:
		for _, x := range v {
			sentences(field, x, say)
		}
	case string:
		say(field, v)
	}
}

func TestARunSpeaksInQuotesOnly(t *testing.T) {
	all := redacttest.Hostile()
	for i := 0; i < len(all); i += 2 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			quotesOnly(t, faces(t, speaking(t, all, all[i], all[(i+1)%len(all)])))
		})
	}
}

// TestAProcessSpeaksInQuotesOnly has a command line and a log that speak.
func TestAProcessSpeaksInQuotesOnly(t *testing.T) {
	args := []string{"-c", `printf '%s\n' "$@" "step 1/10 loss=2.0"; read end`, "sh"}
	for _, s := range redacttest.Hostile() {
		args = append(args, strings.ReplaceAll(s, "\x00", ""))
	}
	c := exec.Command("sh", args...)
	end, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "run.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c.Stdout, c.Dir = log, filepath.Dir(log.Name())
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer end.Close()
	quotesOnly(t, faces(t, fmt.Sprintf("pid:%d", c.Process.Pid)))
}

// quotesOnly holds that what left shows the words of the run as such.
func quotesOnly(t *testing.T, left leaving) {
	t.Helper()
	for where, text := range left {
		if redacttest.Raw(text) {
			t.Errorf("%s: raw control characters: %q", where, text)
		}
		if !strings.HasSuffix(where, ".json") {
			lookAtText(t, where, text)
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
			var v any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%s: %v: %s", where, err, line)
			}
			sentences("", v, func(field, text string) {
				if redacttest.Raw(text) {
					t.Errorf("%s: %s has control characters: %q", where, field, text)
				}
				if strict[field] && redacttest.Unquoted(text) {
					t.Errorf("%s: %s speaks for the run: %s", where, field, text)
				}
			})
		}
	}
}

// lookAtText wants of a text for people that each line which holds words of the
// run begins as a line of evidence does, or quotes them.
func lookAtText(t *testing.T, where, text string) {
	t.Helper()
	if strings.HasSuffix(where, ".html") {
		for _, tag := range []string{"<script", "<img", "onerror=alert(1)>", "<system-reminder"} {
			if strings.Contains(text, tag) {
				t.Errorf("%s: %s is live", where, tag)
			}
		}
		return
	}
	for _, label := range []string{"Status:", "Decision:", "Primary cause:"} {
		if n := strings.Count("\n"+text, "\n"+label); n > 2 { // a watch has the report of the failure, too
			t.Errorf("%s: %d lines begin with %s", where, n, label)
		}
	}
	evidence := false
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "- ") {
			evidence = strings.HasPrefix(line, "Evidence:")
		}
		if !evidence && redacttest.Unquoted(line) {
			t.Errorf("%s: %s", where, line)
		}
	}
}

func TestSecretsLeaveNoFace(t *testing.T) {
	secrets := redacttest.Secrets()
	const batch = 14 // in sight of the proof
	name := secrets[slices.IndexFunc(secrets, func(s redacttest.Secret) bool { return s.Kind == "GitHub classic" })]
	for from := 0; from < len(secrets); from += batch {
		some := secrets[from:min(from+batch, len(secrets))]
		t.Run(some[0].Kind, func(t *testing.T) {
			var lines []string
			for _, s := range some {
				lines = append(lines, s.Text)
			}
			for where, text := range faces(t, speaking(t, lines, strings.ReplaceAll(some[0].Text, "\n", " "), name.Text)) {
				for _, s := range append(slices.Clone(some), name) {
					for _, h := range s.Hidden {
						for part := range strings.SplitSeq(h, "\n") {
							if len(part) >= 8 && strings.Contains(text, part) {
								at := strings.Index(text, part)
								t.Errorf("%s: %s left: …%s…", where, s.Kind, text[max(0, at-150):min(len(text), at+len(part)+20)])
							}
						}
					}
				}
			}
		})
	}
}
