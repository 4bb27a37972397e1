package failure

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/scan"
)

// Signature is one recognisable line, as its YAML file states it. A line
// matches when it contains one of Any and Regexp (if any) matches; both see the
// line without escapes and without the launcher's prefix.
type Signature struct {
	ID       string            `yaml:"-"`
	Says     string            `yaml:"says"`      // what the line means, one sentence
	Role     report.Role       `yaml:"role"`      // cause, symptom, context, benign
	Weight   float64           `yaml:"weight"`    // 0..1: how surely an unrecovered line of this kind is its class
	Any      []string          `yaml:"any"`       // one of these occurs, ASCII case ignored; at least 7 bytes each
	Regexp   string            `yaml:"regexp"`    // RE2; named groups become facts' values
	Frames   string            `yaml:"frames"`    // RE2 over the traceback's "file:function: code" frames; the line is then an exception line
	NoFrames string            `yaml:"no_frames"` // RE2 that no frame may match
	Kinds    []string          `yaml:"kinds"`     // stream kinds it is looked for in; empty: all but configs
	Cause    string            `yaml:"cause"`     // the name of a Cause of the class
	YieldsTo []report.Class    `yaml:"yields_to"` // classes whose cause-lines make this one a consequence
	Sticky   bool              `yaml:"sticky"`    // training that goes on does not heal it
	Live     bool              `yaml:"live"`      // it means that the run stands or is alive
	Each     bool              `yaml:"each"`      // every line counts (it states a value), not one for a stretch
	Sets     map[string]string `yaml:"sets"`      // facts: key -> value, "$name" is a group
	From     string            `yaml:"from"`      // where the wording comes from
	Examples []string          `yaml:"examples"`
	Not      []string          `yaml:"not"`
}

// Load reads every *.yaml of dir, one signature a file; the id is the file name.
func Load(files fs.FS, dir string) []Signature {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		panic(fmt.Sprintf("failure: embedded signatures: %v", err))
	}
	var out []Signature
	for _, e := range entries {
		if path.Ext(e.Name()) != ".yaml" {
			continue
		}
		b, err := fs.ReadFile(files, path.Join(dir, e.Name()))
		if err != nil {
			panic(fmt.Sprintf("failure: embedded signature %s: %v", e.Name(), err))
		}
		s, err := parse(e.Name(), b)
		if err != nil {
			panic(err.Error())
		}
		out = append(out, s)
	}
	return out
}

func parse(name string, b []byte) (Signature, error) {
	s := Signature{ID: strings.TrimSuffix(name, ".yaml")}
	dec := yaml.NewDecoder(strings.NewReader(string(b)))
	dec.KnownFields(true)
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("failure: signature %s: %w", name, err)
	}
	return s, nil
}

// compile checks the signature and turns it into what the case file matches.
func (s *Signature) compile(class report.Class) (*casefile.Sign, error) {
	sign := &casefile.Sign{
		ID: s.ID, Class: class, Says: s.Says, Role: s.Role, Weight: s.Weight, Literals: s.Any,
		Kinds: s.Kinds, Cause: s.Cause, YieldsTo: s.YieldsTo, Sticky: s.Sticky, Live: s.Live, Each: s.Each, Sets: s.Sets,
	}
	if s.Says == "" || len(s.Any) == 0 || len(s.Examples) == 0 || s.From == "" {
		return nil, fmt.Errorf("says, any, from and examples are required")
	}
	switch s.Role {
	case report.RoleCause, report.RoleSymptom:
		if s.Weight <= 0 || s.Weight > 1 {
			return nil, fmt.Errorf("weight %v: want 0..1", s.Weight)
		}
	case report.RoleContext, report.RoleBenign:
	default:
		return nil, fmt.Errorf("role %q: want cause, symptom, context or benign", s.Role)
	}
	for _, l := range s.Any {
		if len(l) < scan.MinLiteral {
			return nil, fmt.Errorf("literal %q is shorter than %d bytes", l, scan.MinLiteral)
		}
	}
	for _, re := range []struct {
		src string
		dst **regexp.Regexp
	}{{s.Regexp, &sign.Regexp}, {s.Frames, &sign.Frames}, {s.NoFrames, &sign.NoFrames}} {
		if re.src == "" {
			continue
		}
		r, err := regexp.Compile(re.src)
		if err != nil {
			return nil, fmt.Errorf("regexp: %w", err)
		}
		*re.dst = r
	}
	return sign, s.prove(sign)
}

// prove holds the signature to its own examples and counter-examples.
func (s *Signature) prove(sign *casefile.Sign) error {
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
