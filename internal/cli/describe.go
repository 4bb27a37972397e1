package cli

import (
	"context"
	"io"

	"github.com/spf13/pflag"
)

// described is a command with its flags, for completion and the manual.
type described struct {
	Name, Args, Doc string
	Flags           []flag
}

// flag is a flag in words; Value is the name of its value, "" of a switch.
type flag struct{ Name, Value, Doc string }

// describe asks each command for its help, where it has all its flags.
func describe(d Deps) []described {
	var out []described
	for _, c := range commands() {
		asked := &describing{}
		c.run(context.Background(), []string{"--help"}, Streams{Out: asked, Err: io.Discard}, d)
		v := described{Name: c.name, Args: c.args, Doc: c.doc}
		if asked.flags != nil {
			asked.flags.VisitAll(func(f *pflag.Flag) {
				value, doc := pflag.UnquoteUsage(f)
				v.Flags = append(v.Flags, flag{f.Name, value, doc})
			})
		}
		v.Flags = append(v.Flags, flag{Name: "help", Doc: "help for this command"})
		out = append(out, v)
	}
	return out
}

// describing is where the help goes when only the flags are wanted.
type describing struct{ flags *flags }

func (*describing) Write(b []byte) (int, error) { return len(b), nil }
