package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/trainmedic/trainmedic/internal/source"
)

// targetFlags defines the flags that name a target: those of the kinds, and
// those of the kinds to come. The returned function collects the targets given.
func targetFlags(f *flags, kinds source.Registry) func() []string {
	var given []func() (string, bool)
	text := func(scheme, name, doc string) {
		v := f.String(name, "", doc)
		given = append(given, func() (string, bool) { return scheme + ":" + *v, f.Changed(name) })
	}
	for _, k := range kinds {
		name := strings.TrimLeft(k.Flag, "-")
		switch {
		case name == "":
		case k.Scheme == "traceback": // its text comes on standard input
			v := f.Bool(name, false, k.Doc)
			given = append(given, func() (string, bool) { return k.Scheme + ":-", *v })
		default:
			text(k.Scheme, name, k.Doc)
		}
	}
	for _, name := range source.Later {
		if name != "ssh" && f.Lookup(name) == nil {
			text(name, name, "")
			f.hide(name)
		}
	}
	return func() []string {
		var out []string
		for _, g := range given {
			if t, ok := g(); ok {
				out = append(out, t)
			}
		}
		return out
	}
}

func (f *flags) hide(name string) {
	f.VisitAll(func(g *pflag.Flag) {
		if g.Name == name {
			g.Hidden = true
		}
	})
}
