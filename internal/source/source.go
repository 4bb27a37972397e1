// Package source is what every kind of target has in common: how a target is
// named, opened and looked at. A Source is the only thing that reads the
// outside world; what it could not see it reports as a run.Gap.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

// Errors that a face turns into advice and an exit status.
var (
	ErrNotFound    = errors.New("not found")
	ErrDenied      = errors.New("permission denied")
	ErrUnreachable = errors.New("unreachable")
	ErrBadTarget   = errors.New("bad target")
	ErrNoEvidence  = errors.New("nothing to read")
)

// Source looks at one run. Observe returns what is new since the cursor; a nil
// cursor means from the start. An error means that nothing at all could be
// seen; partial sight is an observation with gaps.
type Source interface {
	Observe(ctx context.Context, since run.Cursor) (run.Observation, error)
	Close() error
}

// Options are what the user said beside the target.
type Options struct {
	Artifacts   string    // an artifact directory beside the target
	LabelColumn string    // --target COLUMN
	Framework   string    // "" or one of the --framework values
	Task        string    // "" or one of the --task values
	Last        int       // parse only the last N lines; 0 means the whole log
	Stdin       io.Reader // what "-" and --traceback read
	Project     string
	Region      string

	// AcceptNewHostKey takes the key of a host that SSH does not know yet.
	AcceptNewHostKey bool `json:",omitempty"`
	// Words gives words of failures, in any case, for a source that has to search for
	// them where a log lies because it is too large to be brought here; may be nil.
	Words func() []string `json:"-"`
	// Roots bound which local files may be read; what opens one MUST do it through
	// them.
	Roots Roots `json:",omitempty"`

	// Watch says that the target is looked at again and again. A log that is not
	// there yet is then a gap, not an error, and one look gives a bounded number of
	// bytes (run.Observation.More says that there are more).
	Watch bool
}

// Kind is one kind of target.
type Kind struct {
	Scheme  string // "file", "artifacts", "traceback"; a target may be written SCHEME:REF
	Type    string // target_type of the artifacts: "local-log", "artifact-dir", "traceback"
	Flag    string // the flag that takes the ref, "" when the target is positional
	Doc     string // one line for the help text and the tool description
	Example string
	Claim   func(target string) bool // whether a bare target is of this kind
	Open    func(ctx context.Context, ref string, opt Options) (Source, error)

	// Doctor says what this machine lets the kind see; nil where nothing can be in
	// the way. Its checks run at once and end with ctx (see Examine).
	Doctor func(ctx context.Context) []Check

	// Place names the machine that a target is on, "user@host"; nil or "" for this one.
	Place func(ref string) string
}

// Registry is the list of kinds; its order says who claims a bare target first.
type Registry []*Kind

// Resolve finds the kind of a target and the ref to open it with.
func (r Registry) Resolve(target string) (*Kind, string, error) {
	if target == "" {
		return nil, "", fmt.Errorf("source: no target: %w", ErrBadTarget)
	}
	for _, k := range r {
		if ref, ok := strings.CutPrefix(target, k.Scheme+":"); ok {
			return k, ref, nil
		}
	}
	for _, k := range r {
		if k.Claim != nil && k.Claim(target) {
			return k, target, nil
		}
	}
	return nil, "", fmt.Errorf("source: %q: %w", target, ErrBadTarget)
}

// Forms lists the ways to name a target, one a line, for help and errors.
func (r Registry) Forms() []string {
	var out []string
	for _, k := range r {
		out = append(out, fmt.Sprintf("%-34s %s", k.Example, k.Doc))
	}
	return out
}
