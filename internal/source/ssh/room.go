package ssh

import (
	"context"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/remote"
	"github.com/trainmedic/trainmedic/internal/shell"
)

// roomEvery is how often a watch asks for the space that is left: it is a
// question of its own, and a disk fills slowly.
const roomEvery = 5 * time.Minute

// beside asks programs that answer soon on the session that all watches of a host
// share. One that does not is ended after five seconds, where the host can.
type beside struct{ at *remote.Host }

// Host implements shell.Shell.
func (b beside) Host() string { return b.at.Host() }

// Run implements shell.Shell.
func (b beside) Run(ctx context.Context, argv ...string) ([]byte, error) {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = shell.Quote(a)
	}
	a, err := b.at.Ask(ctx, remote.Script{
		Text: "t=; command -v timeout >/dev/null 2>&1 && t='timeout 5'\n$t " + strings.Join(words, " ") + " 2>/dev/null",
		Most: 64 << 10,
	})
	return a.Out, err
}
