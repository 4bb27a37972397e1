package remote

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
)

// hostKeys verifies the key of a host against the files of known hosts.
type hostKeys struct {
	*settings
	accept bool
	check  ssh.HostKeyCallback
}

func (s *settings) hostKeys(accept bool) (*hostKeys, error) {
	var files []string
	for _, f := range s.known {
		if _, err := os.Stat(f); err == nil {
			files = append(files, f)
		}
	}
	check, err := knownhosts.New(files...)
	if err != nil {
		return nil, fmt.Errorf("ssh: the known hosts cannot be read: %w; correct or remove that line: %w", err, source.ErrDenied)
	}
	return &hostKeys{settings: s, accept: accept, check: check}, nil
}

// algorithmsFor are the algorithms to ask the host for: those of the keys that
// are known of it. Any other key that it has is not known, and no mismatch
// either. nil leaves the choice to the library.
func (h *hostKeys) algorithmsFor() []string {
	known := h.wanted()
	if v := h.algorithms; v != "" && !strings.ContainsAny(v, "*?") {
		list := strings.Split(strings.TrimLeft(v, "+-^"), ",")
		switch v[0] {
		case '-':
			return slices.DeleteFunc(known, func(a string) bool { return slices.Contains(list, a) })
		case '+', '^':
			return known
		}
		if both := slices.DeleteFunc(slices.Clone(known), func(a string) bool { return !slices.Contains(list, a) }); len(both) > 0 {
			return both
		}
		return list
	}
	return known
}

// wanted asks with a key that nobody has.
func (h *hostKeys) wanted() (out []string) {
	none, err := ssh.NewPublicKey(ed25519.PublicKey(make([]byte, ed25519.PublicKeySize)))
	if err != nil {
		return nil
	}
	var e *knownhosts.KeyError
	if !errors.As(h.check(h.keyName(), &net.TCPAddr{IP: net.IPv4zero}, none), &e) {
		return nil
	}
	for _, k := range e.Want {
		t := k.Key.Type()
		if t == ssh.KeyAlgoRSA {
			out = append(out, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		}
		out = append(out, t)
	}
	return out
}

// verify is the callback of the handshake. A refusal says what a person runs.
func (h *hostKeys) verify(_ string, addr net.Addr, key ssh.PublicKey) error {
	err := h.check(h.keyName(), addr, key)
	var e *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	print := ssh.FingerprintSHA256(key)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &revoked):
		return &refused{fmt.Sprintf("the key of %s (%s) is marked as revoked in %s:%d", h.alias, print, revoked.Revoked.Filename, revoked.Revoked.Line)}
	case !errors.As(err, &e):
		return &refused{err.Error()}
	case len(e.Want) > 0:
		return &refused{fmt.Sprintf("the key of %s changed: it shows %s, but %s:%d has another one. Somebody may be listening in, or the host was set up anew: ask its administrator whether %s is right, and if so remove the old key with: ssh-keygen -f %s -R %s",
			h.alias, print, e.Want[0].Filename, e.Want[0].Line, print, shell.Quote(e.Want[0].Filename), shell.Quote(h.lineName()))}
	case h.accept:
		return h.note(key)
	}
	return &refused{fmt.Sprintf("the key of %s (%s %s) is not known. Compare it with what the host's administrator says, and if it is right add it with: %s  (or run this again with --accept-new-host-key)",
		h.alias, key.Type(), print, h.scan())}
}

// lineName is the host's name as the files spell it.
func (h *hostKeys) lineName() string { return knownhosts.Normalize(h.keyName()) }

func (h *hostKeys) scan() string {
	if len(h.jump) > 0 || h.keyAlias != "" { // it cannot be reached, or is not named, directly
		return "ssh " + shell.Quote(Address{User: h.User, Host: h.alias}.String()) + " true"
	}
	return fmt.Sprintf("ssh-keyscan -p %d %s >> %s", h.Port, shell.Quote(h.Host), shell.Quote(h.file()))
}

// file is where new keys are noted.
func (h *hostKeys) file() string {
	if len(h.known) == 0 {
		return filepath.Join(h.home, ".ssh", "known_hosts")
	}
	return h.known[0]
}

// note adds the key of a new host to the user's file.
func (h *hostKeys) note(key ssh.PublicKey) error {
	name := h.lineName()
	if h.hash {
		name = knownhosts.HashHostname(name)
	}
	if err := os.MkdirAll(filepath.Dir(h.file()), 0o700); err != nil {
		return fmt.Errorf("ssh: note the key of %s: %w", h.alias, err)
	}
	f, err := os.OpenFile(h.file(), os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("ssh: note the key of %s: %w", h.alias, err)
	}
	defer f.Close()
	line := knownhosts.Line([]string{name}, key) + "\n"
	if info, err := f.Stat(); err == nil && info.Size() > 0 { // its last line may lack its end
		var last [1]byte
		if _, err := f.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
			line = "\n" + line
		}
	}
	if _, err := f.WriteString(line); err != nil {
		return fmt.Errorf("ssh: note the key of %s: %w", h.alias, err)
	}
	return nil
}

// refused is a host whose key was not accepted.
type refused struct{ why string }

func (r *refused) Error() string { return r.why }
