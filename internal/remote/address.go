package remote

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Address names an account on a machine as people write it: HOST is a name of
// ssh_config, of DNS, or an address.
type Address struct {
	User string // "" for what the configuration or the system says
	Host string
	Port int // 0 for what the configuration says
}

var (
	hostName = regexp.MustCompile(`^[A-Za-z0-9_\[:][A-Za-z0-9_.:%\[\]-]*$`)
	userName = regexp.MustCompile(`^[\pL\pN_.+][\pL\pN_.+@\\$-]*$`)
)

// ParseAddress reads [user@]host, [user@][::1], or ssh://[user@]host[:port]. What
// could be taken for an option of a program is refused.
func ParseAddress(s string) (Address, error) {
	var a Address
	if rest, ok := strings.CutPrefix(s, "ssh://"); ok {
		u, err := url.Parse("ssh://" + rest)
		if err != nil || u.Path != "" && u.Path != "/" {
			return a, fmt.Errorf("%q is no ssh:// address", s)
		}
		a.User, a.Host = u.User.Username(), u.Hostname()
		if p := u.Port(); p != "" {
			if a.Port, err = port(p); err != nil {
				return a, err
			}
		}
	} else if i := strings.LastIndex(s, "@"); i >= 0 {
		if a.User, a.Host = s[:i], s[i+1:]; a.User == "" {
			return a, fmt.Errorf("%q has no user before the @", s)
		}
	} else {
		a.Host = s
	}
	if strings.HasPrefix(a.Host, "[") && strings.HasSuffix(a.Host, "]") {
		a.Host = a.Host[1 : len(a.Host)-1]
	}
	switch {
	case !hostName.MatchString(a.Host):
		return a, fmt.Errorf("%q is no name of a host", a.Host)
	case a.User != "" && !userName.MatchString(a.User):
		return a, fmt.Errorf("%q is no name of a user", a.User)
	}
	return a, nil
}

// parseJump reads one hop of ProxyJump, which may have its port behind it.
func parseJump(s string) (Address, error) {
	if strings.HasPrefix(s, "ssh://") {
		return ParseAddress(s)
	}
	head, tail := "", s
	if i := strings.LastIndex(s, "@"); i >= 0 {
		head, tail = s[:i+1], s[i+1:]
	}
	host, p, err := net.SplitHostPort(tail)
	if err != nil {
		return ParseAddress(s)
	}
	a, err := ParseAddress(head + "[" + host + "]")
	if err == nil {
		a.Port, err = port(p)
	}
	return a, err
}

func port(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 65535 {
		return 0, fmt.Errorf("%q is no port", s)
	}
	return n, nil
}

// String is the address as it was written, without the port.
func (a Address) String() string {
	if a.User == "" {
		return a.Host
	}
	return a.User + "@" + a.Host
}
