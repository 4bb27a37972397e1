package remote

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/trainmedic/trainmedic/internal/shell"
)

// openSSH connects by the system's ssh, once for each shell; it never asks a
// person for anything.
type openSSH struct{ args []string }

// openSSH is the way to an account by the system's ssh.
func (c Client) openSSH(a Address, home string) *openSSH {
	args := []string{
		"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=2",
		"-o", "ClearAllForwardings=yes", "-o", "RequestTTY=no",
	}
	if c.AcceptNew {
		args = append(args, "-o", "StrictHostKeyChecking=accept-new")
	} else {
		args = append(args, "-o", "StrictHostKeyChecking=yes")
	}
	own := filepath.Join(home, ".ssh", "config")
	if u, err := user.Current(); err == nil && u.HomeDir != home { // it looks in the home of the account only
		if _, err := os.Stat(own); err == nil {
			args = append(args, "-F", own)
		}
	}
	if a.Port != 0 {
		args = append(args, "-p", strconv.Itoa(a.Port))
	}
	if a.User != "" {
		args = append(args, "-l", a.User)
	}
	return &openSSH{append(args, "--", a.Host, shellCommand)}
}

func (o *openSSH) open(context.Context) (*session, error) {
	t, err := shell.Talk(o.args...)
	if err != nil {
		return nil, fmt.Errorf("ssh: %w", err)
	}
	return &session{t.In, t.Out, t.Err, t.End}, nil
}

func (o *openSSH) close() {}
