package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/trainmedic/trainmedic/internal/report"
)

// Ruling is what may become of an action.
type Ruling string

// The rulings.
const (
	Allow  Ruling = "allow"
	Ask    Ruling = "ask"
	Refuse Ruling = "deny"
)

// Policy is what the operator said when the server started. The zero value
// refuses everything. It does not change while the server runs.
type Policy struct {
	// On says that the actions that Actions does not name follow the fix policy:
	// safe ones run, the others ask. Else they are refused.
	On      bool              `json:"on"`
	Actions map[Action]Ruling `json:"actions"`
	// Approvers are the users (UIDs) who may decide through the socket; nobody
	// listed means the user that the server runs as.
	Approvers []int `json:"approvers"`
	// Elicit says that safe actions that ask may be decided in the client's own
	// dialog, which the agent's host answers for the person.
	Elicit bool `json:"elicit"`
}

const maxPolicy = 64 << 10

// ReadPolicy reads a policy file and adds it to p. A file that others may write
// is refused: it would not be the operator's word.
func (p *Policy) ReadPolicy(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("gate: policy: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("gate: policy: %w", err)
	}
	if st.Mode().Perm()&0o022 != 0 || !st.Mode().IsRegular() {
		return fmt.Errorf("gate: policy %s: others may write it (mode %s); chmod go-w it: %w", path, st.Mode().Perm(), fs.ErrPermission)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxPolicy))
	if err == nil {
		err = p.parse(b)
	}
	if err != nil {
		return fmt.Errorf("gate: policy %s: %w", path, err)
	}
	return nil
}

// parse reads the YAML of a policy file; nothing that it does not know passes.
func (p *Policy) parse(b []byte) error {
	var file struct {
		Actions   map[Action]Ruling `yaml:"actions"`
		Approvers []int             `yaml:"approvers"`
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for a, r := range file.Actions {
		switch {
		case a.Risk() == report.Dangerous:
			return fmt.Errorf("%q is no action; those are %v", a, Names())
		case r != Allow && r != Ask && r != Refuse:
			return fmt.Errorf("%s: %q is no ruling; those are allow, ask, deny", a, r)
		case a == RestartWith && r == Allow:
			return fmt.Errorf("%s runs a command that the agent chose: ask or deny", a)
		}
	}
	p.Actions, p.Approvers = file.Actions, append(p.Approvers, file.Approvers...)
	return nil
}

// digest names the policy in a plan.
func (p Policy) digest() string {
	b, err := json.Marshal(p) // maps are written in the order of their keys
	if err != nil {           // nothing in a Policy can fail
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// Acts reports whether any action can ever be done.
func (p Policy) Acts() bool {
	for _, t := range traits {
		if p.ruling(t.action) != Refuse {
			return true
		}
	}
	return false
}

func (p Policy) ruling(a Action) Ruling {
	r, named := p.Actions[a]
	switch {
	case a.Risk() == report.Dangerous:
		return Refuse
	case named:
		return r
	case !p.On:
		return Refuse
	case a.Risk() == report.Safe:
		return Allow
	}
	return Ask
}

// Grants are what counts for one action beside the policy.
type Grants struct {
	NoFix    bool   // the caller, or the watch, wants nothing done
	Tries    int    // how often the same fix was tried on the same run
	Denied   bool   // a person has said no to just this
	Changed  string // what is not as it was, "" when all is: a safe action asks then
	Approved bool   // a person has approved just this, and it was not used yet
}

// MaxTries is how often the same fix is tried on one run: the skill's limit.
const MaxTries = 3

// Rule is the whole decision about an action, and why it is refused or asks.
func Rule(a Action, p Policy, g Grants) (Ruling, Refusal) {
	r := p.ruling(a)
	switch {
	case a.Risk() == report.Dangerous:
		return Refuse, Refusal{"no_such_action", fmt.Sprintf("%q is nothing that this server does; what deletes or overwrites is only ever printed for a person", a)}
	case g.NoFix:
		return Refuse, Refusal{"no_fix", "no_fix is set: this run is only observed"}
	case r == Refuse && !p.Acts():
		return Refuse, Refusal{"read_only", "this server changes nothing; a person may start it with --allow-actions"}
	case r == Refuse:
		return Refuse, Refusal{"policy", fmt.Sprintf("the server's policy denies %s", a)}
	case g.Denied:
		return Refuse, Refusal{"denied", "a person has denied just this; propose something else, or ask them why"}
	case g.Tries >= MaxTries:
		return Refuse, Refusal{"tries", fmt.Sprintf("%s was tried %d times on this run, the most; a person has to look", a, g.Tries)}
	case g.Approved:
		return Allow, Refusal{}
	case r == Allow && g.Changed != "":
		return Ask, Refusal{"changed", g.Changed}
	}
	return r, Refusal{}
}

// Refusal is why something is not done. Kind is one word that a program may
// branch on.
type Refusal struct{ Kind, Why string }

// Error implements error.
func (r Refusal) Error() string { return "gate: " + r.Why }
