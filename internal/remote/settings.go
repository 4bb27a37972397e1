package remote

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/remote/sshconfig"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Client is how connections are made from this machine. The zero value is the
// user's own: ~/.ssh, /etc/ssh and the agent.
type Client struct {
	Home      string // "" for the user's
	AcceptNew bool   // take the key of a host that is not known yet, and note it
	// Patience is how long the answer to a question may stand still before the
	// connection counts as cut, unless the question says otherwise; 0 for 20 s.
	Patience time.Duration
}

// settings are what is known of a host before it is dialled.
type settings struct {
	Address
	home           string
	alias          string // as it was asked for
	identities     []string
	certificates   []string
	onlyThose      bool // IdentitiesOnly
	agent          string
	jump           []Address
	algorithms     string
	keyAlias       string
	known          []string // files of known hosts; the first one is written to
	hash           bool     // names are hashed there
	connectTimeout time.Duration
	system         string // why only the system's ssh can connect; "" if we can
	mechanisms     bool   // GSSAPI or PKCS#11 is configured: the system's ssh may succeed where we do not
}

const (
	usualPort    = 22
	usualTimeout = 15 * time.Second
)

// settings reads the configuration for an address.
func (c Client) settings(a Address) (settings, error) {
	s := settings{Address: a, alias: a.Host, home: c.Home}
	local := ""
	if u, err := user.Current(); err == nil {
		local, s.home = u.Username, cmp.Or(s.home, os.Getenv("HOME"), u.HomeDir)
	}
	own := filepath.Join(s.home, ".ssh")
	f, err := sshconfig.Read(sshconfig.Asked{Home: s.home, Local: local, Host: a.Host, User: a.User}, filepath.Join(own, "config"), "/etc/ssh/ssh_config")
	if err != nil {
		return s, fmt.Errorf("ssh: the configuration cannot be read: %w; correct it: %w", err, source.ErrBadTarget)
	}
	s.Host = strings.NewReplacer("%%", "%", "%h", a.Host).Replace(cmp.Or(f.Get("hostname"), a.Host))
	s.User = cmp.Or(a.User, f.Get("user"), local)
	if s.Port == 0 {
		s.Port = usualPort
		if p := f.Get("port"); p != "" {
			if s.Port, err = port(p); err != nil {
				return s, fmt.Errorf("ssh: Port in the configuration of %s: %w: %w", a.Host, err, source.ErrBadTarget)
			}
		}
	}
	s.keyAlias, s.algorithms, s.hash = f.Get("hostkeyalias"), f.Get("hostkeyalgorithms"), f.Yes("hashknownhosts")
	s.onlyThose, s.system = f.Yes("identitiesonly"), f.System
	s.mechanisms = f.Yes("gssapiauthentication") || f.Get("pkcs11provider") != ""
	s.connectTimeout = usualTimeout
	if n, err := strconv.Atoi(f.Get("connecttimeout")); err == nil && n > 0 {
		s.connectTimeout = time.Duration(n) * time.Second
	}
	if v := f.Get("proxycommand"); v != "" && !strings.EqualFold(v, "none") {
		s.system = cmp.Or(s.system, "ProxyCommand")
	}
	s.keys(f, own, local)
	return s, s.hops(f)
}

// keys says where the keys of the user and of hosts lie.
func (s *settings) keys(f sshconfig.Config, own, local string) {
	files := func(values []string) (out []string) {
		for _, v := range values {
			if !strings.EqualFold(v, "none") {
				out = append(out, s.expand(v, local))
			}
		}
		return out
	}
	if s.identities = files(f.All("identityfile")); f.All("identityfile") == nil {
		for _, name := range []string{"id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"} {
			s.identities = append(s.identities, filepath.Join(own, name))
		}
	}
	s.certificates = files(f.All("certificatefile"))
	s.agent = os.Getenv("SSH_AUTH_SOCK")
	switch v := f.Get("identityagent"); {
	case strings.EqualFold(v, "none"):
		s.agent = ""
	case strings.HasPrefix(v, "$"):
		s.agent = os.Getenv(strings.Trim(v, "${}"))
	case v != "" && v != "SSH_AUTH_SOCK":
		s.agent = s.expand(v, local)
	}
	if s.known = files(f.All("userknownhostsfile")); f.All("userknownhostsfile") == nil {
		s.known = []string{filepath.Join(own, "known_hosts"), filepath.Join(own, "known_hosts2")}
	}
	if v := f.All("globalknownhostsfile"); v != nil {
		s.known = append(s.known, files(v)...)
	} else {
		s.known = append(s.known, "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
	}
}

func (s *settings) expand(v, local string) string {
	return sshconfig.Tilde(strings.NewReplacer("%%", "%", "%d", s.home, "%h", s.Host, "%n", s.alias, "%p", strconv.Itoa(s.Port), "%r", s.User, "%u", local, "${HOME}", s.home).Replace(v), s.home)
}

// hops reads ProxyJump.
func (s *settings) hops(f sshconfig.Config) error {
	v := f.Get("proxyjump")
	if v == "" || strings.EqualFold(v, "none") {
		return nil
	}
	for hop := range strings.SplitSeq(v, ",") {
		a, err := parseJump(strings.TrimSpace(hop))
		if err != nil {
			return fmt.Errorf("ssh: ProxyJump of %s: %w: %w", s.alias, err, source.ErrBadTarget)
		}
		if a.Host != s.alias { // a pattern that matches the hop too
			s.jump = append(s.jump, a)
		}
	}
	return nil
}

// where is what is dialled.
func (s *settings) where() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// keyName is the name under which the host's key is known.
func (s *settings) keyName() string {
	if s.keyAlias != "" {
		return net.JoinHostPort(s.keyAlias, strconv.Itoa(usualPort))
	}
	return s.where()
}
