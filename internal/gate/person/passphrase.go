package person

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// passphraseFile holds the digest of the page's passphrase.
const passphraseFile = "passphrase.json"

// MinPassphrase is how many bytes a passphrase has at least.
const MinPassphrase = 12

// rounds of PBKDF2-HMAC-SHA-256: the recommendation of OWASP's Password Storage
// Cheat Sheet.
const rounds = 600_000

type kept struct {
	Salt   []byte `json:"salt"`
	Rounds int    `json:"rounds"`
	Hash   []byte `json:"hash"`
}

// SetPassphrase keeps the digest of a new passphrase; servers that run take it
// when they start again.
func SetPassphrase(dir, text string) error {
	if len(text) < MinPassphrase {
		return fmt.Errorf("person: a passphrase needs %d characters at least", MinPassphrase)
	}
	return keep(dir, text, rounds)
}

func keep(dir, text string, rounds int) error {
	k := kept{Salt: make([]byte, 16), Rounds: rounds}
	rand.Read(k.Salt) // it never fails
	var err error
	if k.Hash, err = pbkdf2.Key(sha256.New, text, k.Salt, k.Rounds, sha256.Size); err != nil {
		return fmt.Errorf("person: passphrase: %w", err)
	}
	b, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("person: passphrase: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("person: passphrase: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, passphraseFile), b, 0o600); err != nil {
		return fmt.Errorf("person: passphrase: %w", err)
	}
	return nil
}

// ErrNoPassphrase says that a person has to set one first.
var ErrNoPassphrase = errors.New("no passphrase is set; run: trainmedic approvals --set-passphrase")

// lock holds back who guesses: after some wrong passphrases in a row none is
// looked at for a while, a right one neither.
type lock struct {
	kept kept

	mu     sync.Mutex
	wrong  int
	until  time.Time
	locked time.Duration
}

// After maxWrong the page is shut for firstLock, then for twice as long each time.
const (
	maxWrong  = 5
	firstLock = 5 * time.Minute
	longLock  = 4 * time.Hour
)

func openLock(dir string) (*lock, error) {
	b, err := os.ReadFile(filepath.Join(dir, passphraseFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("person: %w", ErrNoPassphrase)
	}
	l := &lock{}
	if err == nil {
		err = json.Unmarshal(b, &l.kept)
	}
	if err != nil || len(l.kept.Hash) != sha256.Size || l.kept.Rounds < 1000 {
		return nil, fmt.Errorf("person: passphrase: its file is damaged; set it anew: %w", errors.Join(err, ErrNoPassphrase))
	}
	return l, nil
}

var (
	errWrong  = errors.New("That is not the passphrase.")                                                        //nolint:revive,staticcheck // a sentence on the page
	errLocked = errors.New("Too many wrong passphrases. Wait, or decide with trainmedic approve in a terminal.") //nolint:revive,staticcheck // a sentence on the page
)

// try says whether a passphrase is right. One guess at a time is looked at.
func (l *lock) try(text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.until) {
		return errLocked
	}
	got, err := pbkdf2.Key(sha256.New, text, l.kept.Salt, l.kept.Rounds, sha256.Size)
	if err == nil && subtle.ConstantTimeCompare(got, l.kept.Hash) == 1 {
		l.wrong, l.locked = 0, 0
		return nil
	}
	if l.wrong++; l.wrong < maxWrong {
		return errWrong
	}
	l.wrong = 0
	l.locked = min(max(2*l.locked, firstLock), longLock)
	l.until = time.Now().Add(l.locked)
	return errLocked
}
