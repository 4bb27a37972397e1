package remote

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// keyring are the keys with which a user may log in, and why others are not
// among them.
type keyring struct {
	signers []ssh.Signer
	missing []string // of keys that are there and cannot be used: which and why
	system  string   // why the system's ssh may do better, "" if it cannot
	agent   net.Conn // nil when there is none; whoever asked for the ring closes it
}

// keyring collects the keys of an account: of those that the configuration names
// the agent's and the files', in its order, then the agent's others. A key with
// a passphrase is used through the agent alone.
func (s *settings) keyring() *keyring {
	r := &keyring{}
	held := r.ask(s.agent)
	used := map[string]bool{}
	add := func(k ssh.Signer) {
		if id := string(k.PublicKey().Marshal()); !used[id] {
			used[id] = true
			r.signers = append(r.signers, k)
		}
	}
	for _, file := range s.identities {
		k := r.load(file, held)
		if k == nil {
			continue
		}
		for _, cert := range append(s.certificates, file+"-cert.pub") {
			if c := certified(k, cert); c != nil {
				add(c)
			}
		}
		add(k)
	}
	if !s.onlyThose {
		for _, k := range held {
			add(k)
		}
	}
	return r
}

// ask gives the keys of the agent.
func (r *keyring) ask(socket string) []ssh.Signer {
	if socket == "" {
		return nil
	}
	c, err := net.Dial("unix", socket)
	if err != nil {
		r.missing = append(r.missing, fmt.Sprintf("the agent at %s does not answer", socket))
		return nil
	}
	r.agent = c
	keys, err := agent.NewClient(c).Signers()
	if err != nil {
		r.missing = append(r.missing, "the agent did not list its keys: "+err.Error())
	}
	return keys
}

// load gives the key of a file: the agent's if that has it, else the file's own.
func (r *keyring) load(file string, held []ssh.Signer) ssh.Signer {
	if b, err := os.ReadFile(strings.TrimSuffix(file, ".pub") + ".pub"); err == nil {
		if pub, _, _, _, err := ssh.ParseAuthorizedKey(b); err == nil {
			if k := holding(held, pub); k != nil {
				return k
			}
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		if !os.IsNotExist(err) {
			r.missing = append(r.missing, file+" may not be read")
		}
		return nil
	}
	k, err := ssh.ParsePrivateKey(b)
	var locked *ssh.PassphraseMissingError
	switch {
	case err == nil:
		return k
	case errors.As(err, &locked):
		if k := holding(held, locked.PublicKey); k != nil {
			return k
		}
		r.missing = append(r.missing, fmt.Sprintf("%s has a passphrase and is not in the agent: run ssh-add %s", file, file))
	case bytes.Contains(b, []byte("PRIVATE KEY")):
		r.system = "the key " + file
		r.missing = append(r.missing, file+" is of a kind that is not read here (a security key, perhaps)")
	}
	return nil
}

func holding(held []ssh.Signer, pub ssh.PublicKey) ssh.Signer {
	if pub == nil {
		return nil
	}
	i := slices.IndexFunc(held, func(k ssh.Signer) bool { return bytes.Equal(k.PublicKey().Marshal(), pub.Marshal()) })
	if i < 0 {
		return nil
	}
	return held[i]
}

// certified is a key with the certificate of a file, nil if that is not for it.
func certified(k ssh.Signer, file string) ssh.Signer {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	pub, _, _, _, err := ssh.ParseAuthorizedKey(b)
	cert, ok := pub.(*ssh.Certificate)
	if err != nil || !ok {
		return nil
	}
	c, err := ssh.NewCertSigner(cert, k)
	if err != nil {
		return nil
	}
	return c
}
