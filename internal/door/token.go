package door

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// leastToken is how short a token of a file may be; a generated one has 26
// characters of base32, 128 bits.
const leastToken = 16

// NewToken makes a token that nobody can guess.
func NewToken() string { return "tm_" + rand.Text() }

// Token is what a client shows. Its name tells clients apart; it may be "".
type Token struct{ Name, Secret string }

// ReadTokens reads tokens that others cannot read: on each line one, with the name
// of its client before it where there are several.
func ReadTokens(path string) ([]Token, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("door: token: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("door: token: %s can be read by others; chmod 600 it", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("door: token: %w", err)
	}
	all, ok := parseTokens(string(b))
	if !ok {
		return nil, errors.New("door: token: " + path + " has to hold one word of at least 16 characters, or lines of a client's name and its token, no name or token twice")
	}
	return all, nil
}

func parseTokens(text string) (all []Token, ok bool) {
	names, secrets := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		t := Token{Secret: f[len(f)-1]}
		if len(f) == 2 {
			t.Name = f[0]
		}
		if len(f) > 2 || len(t.Secret) < leastToken || len(t.Name) > maxName || names[t.Name] || secrets[t.Secret] {
			return nil, false
		}
		names[t.Name], secrets[t.Secret] = true, true
		all = append(all, t)
	}
	return all, len(all) > 0
}

const maxName = 40

// who is the identity of whoever has a token: its name and a digest of it.
func (t Token) who() string {
	sum := sha256.Sum256([]byte(t.Secret))
	if t.Name == "" {
		return "token " + hex.EncodeToString(sum[:4])
	}
	return "token " + t.Name + " (" + hex.EncodeToString(sum[:4]) + ")"
}

type callerKey struct{}

// Caller is who has sent a request that came through a door, "" when it wants no
// token: then nobody knows. came is false where there was no door.
func Caller(ctx context.Context) (who string, came bool) {
	who, came = ctx.Value(callerKey{}).(string)
	return who, came
}
