package failure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/scan"
)

// Signature is one recognisable line, as its YAML file states it. A line
// matches when it contains one of Any and Regexp (if any) matches; both see the
// line without escapes and without the launcher's prefix.
type Signature struct {
	ID       string            `yaml:"-" json:"id"`
	Says     string            `yaml:"says" json:"says,omitempty"`           // what the line means, one sentence
	Role     report.Role       `yaml:"role" json:"role,omitempty"`           // cause, symptom, context, benign
	Weight   float64           `yaml:"weight" json:"weight,omitempty"`       // 0..1: how surely an unrecovered line of this kind is its class
	Any      []string          `yaml:"any" json:"any,omitempty"`             // one of these occurs, ASCII case ignored; at least 7 bytes each
	Regexp   string            `yaml:"regexp" json:"regexp,omitempty"`       // RE2; named groups become facts' values
	Frames   string            `yaml:"frames" json:"frames,omitempty"`       // RE2 over the traceback's "file:function: code" frames; the line is then an exception line
	NoFrames string            `yaml:"no_frames" json:"no_frames,omitempty"` // RE2 that no frame may match
	Kinds    []string          `yaml:"kinds" json:"kinds,omitempty"`         // stream kinds it is looked for in; empty: all but configs
	Cause    string            `yaml:"cause" json:"cause,omitempty"`         // the name of a Cause of the class
	YieldsTo []report.Class    `yaml:"yields_to" json:"yields_to,omitempty"` // classes whose cause-lines make this one a consequence
	Sticky   bool              `yaml:"sticky" json:"sticky,omitempty"`       // training that goes on does not heal it
	Live     bool              `yaml:"live" json:"live,omitempty"`           // it means that the run stands or is alive
	Each     bool              `yaml:"each" json:"each,omitempty"`           // every line counts (it states a value), not one for a stretch
	Sets     map[string]string `yaml:"sets" json:"sets,omitempty"`           // facts: key -> value, "$name" is a group
	From     string            `yaml:"from" json:"from,omitempty"`           // where the wording comes from
	Examples []string          `yaml:"examples" json:"-"`
	Not      []string          `yaml:"not" json:"-"`
}

// Load reads the signatures of a class as Pack wrote them.
func Load(packed []byte) []Signature {
	var out []Signature
	if err := json.Unmarshal(packed, &out); err != nil {
		panic(fmt.Sprintf("failure: embedded signatures: %v", err))
	}
	return out
}

// Pack is what a class embeds of its signatures: all but what only their own
// proof needs. A program that starts reads it ten times as fast as the YAML.
func Pack(signatures []Signature) ([]byte, error) {
	out := []byte("[\n")
	for i, s := range signatures {
		s.Examples, s.Not = nil, nil
		b, err := json.Marshal(s)
		if err != nil {
			return nil, fmt.Errorf("failure: pack %s: %w", s.ID, err)
		}
		out = append(out, b...)
		if i < len(signatures)-1 {
			out = append(out, ',')
		}
		out = append(out, '\n')
	}
	return append(out, "]\n"...), nil
}

// Parse reads one signature's YAML; the id is the name of its file.
func Parse(id string, b []byte) (Signature, error) {
	s := Signature{ID: id}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("failure: signature %s: %w", id, err)
	}
	return s, nil
}

// sign is what the case file matches.
func (s *Signature) sign(class report.Class) *casefile.Sign {
	return &casefile.Sign{
		ID: s.ID, Class: class, Says: s.Says, Role: s.Role, Weight: s.Weight, Literals: s.Any,
		Regexp: casefile.NewPattern(s.Regexp), Frames: casefile.NewPattern(s.Frames), NoFrames: casefile.NewPattern(s.NoFrames),
		Kinds: s.Kinds, Cause: s.Cause, YieldsTo: s.YieldsTo, Sticky: s.Sticky, Live: s.Live, Each: s.Each, Sets: s.Sets,
	}
}

// Prove checks a signature as its YAML states it and holds it to its own
// examples and counter-examples.
func (s *Signature) Prove() error {
	if s.Says == "" || len(s.Any) == 0 || len(s.Examples) == 0 || s.From == "" {
		return errors.New("says, any, from and examples are required")
	}
	switch s.Role {
	case report.RoleCause, report.RoleSymptom:
		if s.Weight <= 0 || s.Weight > 1 {
			return fmt.Errorf("weight %v: want 0..1", s.Weight)
		}
	case report.RoleContext, report.RoleBenign:
	default:
		return fmt.Errorf("role %q: want cause, symptom, context or benign", s.Role)
	}
	for _, l := range s.Any {
		if len(l) < scan.MinLiteral {
			return fmt.Errorf("literal %q is shorter than %d bytes", l, scan.MinLiteral)
		}
	}
	for _, re := range []string{s.Regexp, s.Frames, s.NoFrames} {
		if _, err := regexp.Compile(re); err != nil {
			return fmt.Errorf("regexp: %w", err)
		}
	}
	sign := s.sign("")
	for _, e := range s.Examples {
		if _, ok := sign.Match([]byte(e)); !ok {
			return fmt.Errorf("example does not match: %q", e)
		}
	}
	for _, e := range s.Not {
		if _, ok := sign.Match([]byte(e)); ok {
			return fmt.Errorf("counter-example matches: %q", e)
		}
	}
	return nil
}
