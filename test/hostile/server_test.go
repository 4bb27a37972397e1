//go:build unix

package hostile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// session is an MCP server that runs for the tests of one target.
type session struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	id    int
}

// server starts one; it has to be alive and lean at the end.
func server(t *testing.T) *session {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	s := &session{cmd: exec.Command(path, "serve"), lines: make(chan string, 16)}
	s.cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.lines)
		r := bufio.NewReaderSize(out, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			s.lines <- line
		}
	}()
	t.Cleanup(func() {
		if kb := peak(s.cmd.Process.Pid); kb > maxMemory {
			t.Errorf("the server took %d MB of memory", kb>>10)
		}
		s.in.Close()
		s.cmd.Wait()
	})
	s.ask(t, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`, maxWall)
	fmt.Fprintln(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

// ask sends a request and gives the line of its answer.
func (s *session) ask(t *testing.T, method, params string, wall time.Duration) string {
	t.Helper()
	s.id++
	fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.id, method, params)
	mark := fmt.Sprintf(`"id":%d,`, s.id)
	late := time.After(wall)
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				t.Fatalf("%s: the server ended", method)
			}
			if strings.Contains(line, mark) && !strings.Contains(line, `"method":`) {
				return line
			}
		case <-late:
			t.Fatalf("%s %.200s: no answer within %v", method, params, wall)
		}
	}
}

// tool calls one and wants a sound answer.
func (s *session) tool(t *testing.T, name, target string) {
	t.Helper()
	args, err := json.Marshal(map[string]any{"name": name, "arguments": map[string]any{"target": strings.ToValidUTF8(target, "?")}})
	if err != nil {
		t.Fatal(err)
	}
	line := s.ask(t, "tools/call", string(args), maxWall)
	if m := trace.FindString(line); m != "" || strings.Contains(line, `"internal"`) {
		t.Errorf("%s: a bug: %.2000s", name, line)
	}
	if len(line) > 200_000 || !utf8.ValidString(line) {
		t.Errorf("%s: %d bytes, UTF-8 %v", name, len(line), utf8.ValidString(line))
	}
}

// peak is the most resident memory that a process had, in KB; 0 when unknown.
func peak(pid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb
		}
	}
	return 0
}
