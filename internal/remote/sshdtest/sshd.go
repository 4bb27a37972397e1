// Package sshdtest runs real OpenSSH servers for tests: on loopback ports, with
// keys and configurations of their own, as the user who runs the tests.
package sshdtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Server is an OpenSSH server.
type Server struct {
	Port int
	Dir  string // its keys, its configuration and its log
	t    testing.TB
	cmd  *exec.Cmd
}

// Program finds a program that a test needs. Where it is missing the test is
// skipped, but not in CI.
func Program(t testing.TB, name string) string {
	t.Helper()
	for _, p := range []string{name, "/usr/sbin/" + name, "/sbin/" + name} {
		if path, err := exec.LookPath(p); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed; .ci/run installs what the tests need", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// Start starts a server with these lines added to its configuration. A home
// logs in to it with the key that it has.
func Start(t testing.TB, config ...string) *Server {
	t.Helper()
	Program(t, "sshd")
	if os.Geteuid() == 0 {
		os.MkdirAll("/run/sshd", 0o755) // sshd says so if it is missing
	}
	s := &Server{Dir: t.TempDir(), Port: freePort(t), t: t}
	keygen(t, "-f", filepath.Join(s.Dir, "host"))
	text := fmt.Sprintf(`ListenAddress 127.0.0.1:%d
HostKey %[2]s/host
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
LogLevel VERBOSE
AuthorizedKeysFile %[2]s/authorized
`, s.Port, s.Dir) + strings.Join(config, "\n") + "\n"
	write(t, filepath.Join(s.Dir, "config"), text)
	write(t, filepath.Join(s.Dir, "authorized"), "")
	s.Run()
	return s
}

// Run starts a server that was stopped.
func (s *Server) Run() {
	s.t.Helper()
	s.cmd = exec.Command(Program(s.t, "sshd"), "-D", "-f", filepath.Join(s.Dir, "config"), "-E", filepath.Join(s.Dir, "log"))
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.Stop)
	deadline := time.Now().Add(10 * time.Second)
	for {
		c, err := net.Dial("tcp", s.Addr())
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("sshd does not listen: %v\n%s", err, s.Log())
		}
		<-time.After(10 * time.Millisecond)
	}
}

// Stop ends the server and the connections that it has.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	s.Cut()
	s.cmd.Process.Kill() // it may have ended
	s.cmd.Wait()         // it was killed
	s.cmd = nil
}

// Cut kills the processes that serve connections, as a network does that goes
// away under them.
func (s *Server) Cut() {
	below := []int{s.cmd.Process.Pid}
	for n := 0; n < len(below); n++ {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", below[n]))
		if err != nil {
			continue
		}
		for f := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				below = append(below, pid)
			}
		}
	}
	for _, pid := range below[1:] {
		if p, err := os.FindProcess(pid); err == nil {
			p.Kill() // it may have ended
		}
	}
}

// Addr is where the server listens.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)) }

// Log is what the server logged so far.
func (s *Server) Log() string {
	b, err := os.ReadFile(filepath.Join(s.Dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Sessions counts the sessions that were opened, and logins the connections.
func (s *Server) Sessions() (sessions, logins int) {
	log := s.Log()
	return strings.Count(log, "Starting session: "), strings.Count(log, "Accepted publickey")
}

// NewKey gives the server another host key; it counts after a restart.
func (s *Server) NewKey() {
	s.t.Helper()
	os.Remove(filepath.Join(s.Dir, "host"))
	keygen(s.t, "-f", filepath.Join(s.Dir, "host"))
}

// Home is the home of a user of ssh.
type Home struct {
	Dir string
	t   testing.TB
}

// NewHome makes a home with a key that the servers accept, whose keys it knows.
// The agent of whoever runs the tests is not asked.
func NewHome(t testing.TB, servers ...*Server) *Home {
	t.Helper()
	h := &Home{t.TempDir(), t}
	t.Setenv("SSH_AUTH_SOCK", "")
	os.MkdirAll(filepath.Join(h.Dir, ".ssh"), 0o700) // the next step fails
	keygen(t, "-f", h.File("id_ed25519"))
	for _, s := range servers {
		h.Know(s)
		h.Authorize(s, "id_ed25519")
	}
	h.Config("")
	return h
}

// File is a file in .ssh.
func (h *Home) File(name string) string { return filepath.Join(h.Dir, ".ssh", name) }

// Know notes the key that a server has.
func (h *Home) Know(s *Server) {
	h.t.Helper()
	key, err := os.ReadFile(filepath.Join(s.Dir, "host.pub"))
	if err != nil {
		h.t.Fatal(err)
	}
	f := strings.Fields(string(key))
	h.add("known_hosts", fmt.Sprintf("[127.0.0.1]:%d %s %s\n", s.Port, f[0], f[1]))
}

// Authorize lets a key log in to a server.
func (h *Home) Authorize(s *Server, key string) {
	h.t.Helper()
	b, err := os.ReadFile(h.File(key + ".pub"))
	if err != nil {
		h.t.Fatal(err)
	}
	old, err := os.ReadFile(filepath.Join(s.Dir, "authorized"))
	if err != nil {
		h.t.Fatal(err)
	}
	write(h.t, filepath.Join(s.Dir, "authorized"), string(old)+string(b))
}

func (h *Home) add(name, text string) {
	h.t.Helper()
	old, err := os.ReadFile(h.File(name))
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	write(h.t, h.File(name), string(old)+text)
}

// Config writes .ssh/config.
func (h *Home) Config(text string) {
	h.t.Helper()
	write(h.t, h.File("config"), text)
}

// Box is the block of a configuration that names a server.
func Box(name string, s *Server, more ...string) string {
	return fmt.Sprintf("Host %s\n  HostName 127.0.0.1\n  Port %d\n  User %s\n  %s\n", name, s.Port, User(), strings.Join(more, "\n  "))
}

// User is who runs the tests.
func User() string {
	u, err := user.Current()
	if err != nil {
		return "root"
	}
	return u.Username
}

// Keygen makes a key in the home; a passphrase may be given.
func (h *Home) Keygen(name, passphrase string) {
	h.t.Helper()
	keygen(h.t, "-N", passphrase, "-f", h.File(name))
}

func keygen(t testing.TB, args ...string) {
	t.Helper()
	args = append([]string{"-q", "-t", "ed25519", "-C", "test", "-N", ""}, args...)
	if out, err := exec.Command(Program(t, "ssh-keygen"), args...).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
