package door

import (
	"crypto/rand"
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

// ReadToken reads a token that others cannot read.
func ReadToken(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("door: token: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("door: token: %s can be read by others; chmod 600 it", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("door: token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if len(token) < leastToken || strings.ContainsAny(token, " \t\r\n") {
		return "", errors.New("door: token: " + path + " has to hold one word of at least 16 characters")
	}
	return token, nil
}
