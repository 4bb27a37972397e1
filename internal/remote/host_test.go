package remote_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/remote"
	"github.com/trainmedic/trainmedic/internal/remote/sshdtest"
	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
)

func connect(t *testing.T, c remote.Client, address string) *remote.Host {
	t.Helper()
	pool := &remote.Pool{Client: c}
	t.Cleanup(pool.Close)
	a, err := remote.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	host := pool.Host(a, false)
	t.Cleanup(func() { host.Close() })
	return host
}

// box is a server, and a home that reaches it as "box".
func box(t *testing.T, config ...string) (*sshdtest.Server, *sshdtest.Home) {
	t.Helper()
	s := sshdtest.Start(t, config...)
	h := sshdtest.NewHome(t, s)
	h.Config(sshdtest.Box("box", s))
	return s, h
}

// answers asks a host who it is.
func answers(t *testing.T, h *remote.Host) {
	t.Helper()
	if a, err := h.Ask(t.Context(), remote.Script{Text: "echo here"}); err != nil || string(a.Out) != "here\n" {
		t.Errorf("got %q, %v", a.Out, err)
	}
}

// refuses asks a host that has to refuse, with words that match.
func refuses(t *testing.T, h *remote.Host, kind error, words string) string {
	t.Helper()
	_, err := h.Ask(t.Context(), remote.Script{Text: "echo here"})
	if !errors.Is(err, kind) || !regexp.MustCompile(words).MatchString(err.Error()) {
		t.Fatalf("want %v with %s, got %v", kind, words, err)
	}
	return err.Error()
}

func TestRun(t *testing.T) {
	_, home := box(t)
	host := connect(t, remote.Client{Home: home.Dir}, "box")
	var sh shell.Shell = host
	if sh.Host() != "box" {
		t.Errorf("it calls itself %q", sh.Host())
	}
	if out, err := sh.Run(t.Context(), "printf", "%s|", "a b", "$(id)", "-n", "\n", "it's", "`id`", "*"); err != nil || string(out) != "a b|$(id)|-n|\n|it's|`id`|*|" {
		t.Errorf("arguments: got %q, %v", out, err)
	}
	if _, err := sh.Run(t.Context(), "no-such-program; id"); !errors.Is(err, shell.ErrNoProgram) {
		t.Errorf("a program that is not there: got %v", err)
	}
	var failed *shell.Failed
	if _, err := sh.Run(t.Context(), "sh", "-c", "echo no >&2; exit 3"); !errors.As(err, &failed) || failed.Status != 3 || failed.Stderr != "no\n" {
		t.Errorf("exit 3: got %v", err)
	}
	if _, err := sh.Run(t.Context(), "sh", "-c", "kill -9 $$"); !errors.As(err, &failed) || failed.Status != 137 {
		t.Errorf("killed: got %v", err)
	}
	if out, err := sh.Run(t.Context(), "head", "-c", "20000000", "/dev/zero"); err != nil || len(out) != shell.MaxOutput {
		t.Errorf("much output: got %d bytes, %v", len(out), err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := sh.Run(short, "sleep", "600"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a program that hangs: got %v", err)
	}
	answers(t, host) // it does not wait for what hangs
}

func TestDial(t *testing.T) {
	s, home := box(t)
	pool := &remote.Pool{Client: remote.Client{Home: home.Dir}}
	defer pool.Close()
	sh, err := pool.Dial(t.Context(), sshdtest.User()+"@box")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if out, err := sh.Run(t.Context(), "echo", sh.Host()); err != nil || string(out) != sshdtest.User()+"@box\n" {
			t.Errorf("got %q, %v", out, err)
		}
	}
	if _, logins := s.Sessions(); logins != 1 {
		t.Errorf("%d logins", logins)
	}
	if _, err := pool.Dial(t.Context(), "-oProxyCommand=x"); !errors.Is(err, source.ErrBadTarget) {
		t.Errorf("got %v", err)
	}
}

// TestOrders: many ask at once, and each gets its own answer.
func TestOrders(t *testing.T) {
	s, home := box(t)
	pool := &remote.Pool{Client: remote.Client{Home: home.Dir}}
	defer pool.Close()
	var wait sync.WaitGroup
	for n := range 200 {
		wait.Go(func() {
			h := pool.Host(remote.Address{Host: "box"}, false)
			defer h.Close()
			a, err := h.Ask(t.Context(), remote.Script{Text: fmt.Sprintf("echo %d; echo e%[1]d >&2; exit %[2]d", n, n%100), Pack: n%2 == 1})
			if err != nil || string(a.Out) != fmt.Sprintln(n) || a.Said != fmt.Sprintf("e%d\n", n) || n%2 == 0 && a.Status != n%100 {
				t.Errorf("%d: got %+v, %v", n, a, err)
			}
		})
	}
	wait.Wait()
	if sessions, logins := s.Sessions(); sessions != 1 || logins != 1 {
		t.Errorf("%d sessions on %d connections", sessions, logins)
	}
}

func TestUnknownHost(t *testing.T) {
	s, home := box(t)
	os.Remove(home.File("known_hosts"))
	said := refuses(t, connect(t, remote.Client{Home: home.Dir}, "box"), source.ErrDenied, "is not known.*--accept-new-host-key")
	run(t, regexp.MustCompile(`ssh-keyscan [^(]*`).FindString(said))
	answers(t, connect(t, remote.Client{Home: home.Dir}, "box"))

	os.Remove(home.File("known_hosts"))
	answers(t, connect(t, remote.Client{Home: home.Dir, AcceptNew: true}, "box"))
	answers(t, connect(t, remote.Client{Home: home.Dir}, "box")) // it is noted

	s.Stop()
	s.NewKey()
	s.Run()
	for _, c := range []remote.Client{{Home: home.Dir}, {Home: home.Dir, AcceptNew: true}} {
		said = refuses(t, connect(t, c, "box"), source.ErrDenied, "changed: it shows SHA256:.*ssh-keygen -f .* -R ")
	}
	run(t, regexp.MustCompile(`ssh-keygen -f .* -R '[^']*'`).FindString(said))
	refuses(t, connect(t, remote.Client{Home: home.Dir}, "box"), source.ErrDenied, "is not known")
}

// run runs what a person was told to run.
func run(t *testing.T, command string) {
	t.Helper()
	if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil || command == "" {
		t.Fatalf("%q: %v\n%s", command, err, out)
	}
}

func TestHashedAndOtherKeysAreKnown(t *testing.T) {
	s, home := box(t)
	run(t, "ssh-keygen -q -t rsa -b 2048 -N '' -f "+s.Dir+"/rsa && ssh-keygen -q -H -f "+home.File("known_hosts"))
	config := filepath.Join(s.Dir, "config")
	run(t, "echo HostKey "+s.Dir+"/rsa >> "+config) // the server has a key that is not known too
	s.Stop()
	s.Run()
	answers(t, connect(t, remote.Client{Home: home.Dir}, "box"))
}

func TestKeys(t *testing.T) {
	s, home := box(t)
	client := remote.Client{Home: home.Dir}
	home.Keygen("locked", "secret words")
	home.Keygen("stranger", "")
	home.Authorize(s, "locked")
	home.Config(sshdtest.Box("box", s, "IdentityFile ~/.ssh/locked") + sshdtest.Box("strange", s, "IdentityFile ~/.ssh/stranger"))
	refuses(t, connect(t, client, "box"), source.ErrDenied, `locked has a passphrase and is not in the agent: run ssh-add`)
	refuses(t, connect(t, client, "strange"), source.ErrDenied, `took none of 1 keys.*try: ssh .*@strange true`)

	t.Setenv("SSH_AUTH_SOCK", agent(t, home.File("locked"), "secret words"))
	answers(t, connect(t, client, "box"))
	home.Config(sshdtest.Box("box", s, "IdentityFile ~/.ssh/stranger", "IdentitiesOnly yes"))
	refuses(t, connect(t, client, "box"), source.ErrDenied, `took none of 1 keys`)
}

// agent starts an ssh-agent that has a key.
func agent(t *testing.T, key, passphrase string) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "agent")
	cmd := exec.Command(sshdtest.Program(t, "ssh-agent"), "-D", "-a", socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	ask := filepath.Join(t.TempDir(), "ask")
	if err := os.WriteFile(ask, []byte("#!/bin/sh\necho '"+passphrase+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	add := exec.Command("ssh-add", key)
	add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket, "SSH_ASKPASS="+ask, "SSH_ASKPASS_REQUIRE=force", "DISPLAY=:0")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("ssh-add: %v\n%s", err, out)
	}
	return socket
}

func TestProxyJump(t *testing.T) {
	far, near := sshdtest.Start(t), sshdtest.Start(t)
	home := sshdtest.NewHome(t, far, near)
	home.Config(sshdtest.Box("hop", near) + sshdtest.Box("box", far, "ProxyJump hop"))
	answers(t, connect(t, remote.Client{Home: home.Dir}, "box"))
	if _, logins := near.Sessions(); logins != 1 {
		t.Errorf("%d logins at the hop", logins)
	}
	near.NewKey()
	near.Stop()
	near.Run()
	refuses(t, connect(t, remote.Client{Home: home.Dir}, "box"), source.ErrDenied, "through hop: .*the key of hop changed")
	near.Stop()
	refuses(t, connect(t, remote.Client{Home: home.Dir}, "box"), source.ErrUnreachable, "through hop")
}

// TestSystemSSH: what the configuration asks for and we cannot do is done by the
// system's ssh, and said.
func TestSystemSSH(t *testing.T) {
	s, home := box(t)
	sshdtest.Program(t, "ssh")
	common := "Host *\n  UserKnownHostsFile " + home.File("known_hosts") + "\n  IdentityFile " + home.File("id_ed25519") + "\n"
	home.Config(sshdtest.Box("box", s, `ProxyCommand /bin/sh -c "exec nc %h %p"`) + common)
	if _, err := exec.LookPath("nc"); err != nil {
		home.Config("Match exec true\n  User " + sshdtest.User() + "\n" + sshdtest.Box("box", s) + common)
	}
	host := connect(t, remote.Client{Home: home.Dir}, "box")
	answers(t, host)
	if out, err := host.Run(t.Context(), "printf", "%s", "$(id) it's"); err != nil || string(out) != "$(id) it's" {
		t.Errorf("got %q, %v", out, err)
	}
	if way := host.Way(); way == "" {
		t.Error("it is not said that the system's ssh connects")
	}
	os.Remove(home.File("known_hosts"))
	refuses(t, connect(t, remote.Client{Home: home.Dir}, "box"), source.ErrDenied, "Host key verification failed")
}

func TestOneSessionOnly(t *testing.T) {
	_, home := box(t, "MaxSessions 1")
	host := connect(t, remote.Client{Home: home.Dir}, "box")
	answers(t, host)
	if out, err := host.Run(t.Context(), "echo", "beside"); err != nil || string(out) != "beside\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestNoise: what an account prints at login is no answer.
func TestNoise(t *testing.T) {
	_, home := box(t, `ForceCommand sh -c 'echo "Welcome to the cluster"; printf noise; echo motd >&2; exec sh'`)
	answers(t, connect(t, remote.Client{Home: home.Dir}, "box"))
	_, home = box(t, `ForceCommand echo This account is closed`)
	refuses(t, connect(t, remote.Client{Home: home.Dir}, "box"), source.ErrDenied, "This account is closed")
}

// TestCut: the connection goes away under a host that is asked again.
func TestCut(t *testing.T) {
	s, home := box(t)
	host := connect(t, remote.Client{Home: home.Dir}, "box")
	answers(t, host)
	s.Cut()
	answers(t, host) // at once, on a new connection
	s.Stop()
	refuses(t, host, source.ErrUnreachable, "dial box")
	refuses(t, host, source.ErrUnreachable, "dial box") // it is not dialled for each who asks
	s.Run()
	for deadline := time.Now().Add(20 * time.Second); ; {
		a, err := host.Ask(t.Context(), remote.Script{Text: "echo back"})
		if err == nil && string(a.Out) == "back\n" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it did not come back: %v", err)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// TestOnce: what changes something is not sent again when the connection is cut
// under it, and who sent it learns that.
func TestOnce(t *testing.T) {
	s, home := box(t)
	host := connect(t, remote.Client{Home: home.Dir}, "box")
	answers(t, host)
	if key := host.Key(); !strings.HasPrefix(key, "SHA256:") {
		t.Errorf("the host's key is %q", key)
	}
	dir := t.TempDir()
	script := remote.Script{Once: true, Text: "echo once >>" + shell.Quote(dir+"/ran") + "; until [ -e " + shell.Quote(dir+"/cut") + " ]; do sleep 0.05; done"}
	failed := make(chan error)
	go func() {
		_, err := host.Ask(context.Background(), script)
		failed <- err
	}()
	for deadline := time.Now().Add(20 * time.Second); ; <-time.After(10 * time.Millisecond) {
		if b, err := os.ReadFile(filepath.Join(dir, "ran")); err == nil && len(b) > 0 {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("it does not run")
		}
	}
	s.Cut()
	if err := <-failed; !errors.Is(err, remote.ErrUnknown) {
		t.Errorf("cut under it: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cut"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	answers(t, host)
	if b, err := os.ReadFile(filepath.Join(dir, "ran")); err != nil || string(b) != "once\n" {
		t.Errorf("it ran %q, %v", b, err)
	}
	s.Cut()
	if a, err := host.Ask(t.Context(), remote.Script{Once: true, Text: "echo after"}); err == nil && string(a.Out) != "after\n" || err != nil && !errors.Is(err, remote.ErrUnknown) {
		t.Errorf("on a connection that was cut before: %q, %v", a.Out, err)
	}
}

// TestSilence: a network that drops everything is noticed, and got over.
func TestSilence(t *testing.T) {
	s, home := box(t)
	proxy := sshdtest.NewProxy(t, s)
	home.Know(proxy.Server(s))
	home.Config(sshdtest.Box("box", proxy.Server(s), "ConnectTimeout 1"))
	host := connect(t, remote.Client{Home: home.Dir, Patience: 300 * time.Millisecond}, "box")
	answers(t, host)
	proxy.Freeze(true)
	refuses(t, host, source.ErrUnreachable, "does not finish the handshake|cut")
	proxy.Freeze(false)
	for deadline := time.Now().Add(20 * time.Second); ; {
		if _, err := host.Ask(t.Context(), remote.Script{Text: "true"}); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("it did not come back: %v", err)
		}
		<-time.After(100 * time.Millisecond)
	}
	if strings.Count(s.Log(), "Accepted publickey") != 2 {
		t.Errorf("it connected otherwise than twice:\n%s", s.Log())
	}
}
