package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// flags is one command's flag set; flags may stand before or after the target.
type flags struct {
	*pflag.FlagSet
	err io.Writer
}

func newFlags(name string, err io.Writer) *flags {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard) // we say it ourselves
	fs.SortFlags = false
	fs.Usage = func() {}
	return &flags{FlagSet: fs, err: err}
}

// parse reports ok=false, and the exit status, when the command is done already:
// help was asked for, or the line cannot be understood.
func (f *flags) parse(args []string, out io.Writer, help string) (code int, ok bool) {
	err := f.Parse(args)
	switch {
	case err == nil:
		return 0, true
	case errors.Is(err, pflag.ErrHelp):
		if asked, ok := out.(*describing); ok {
			asked.flags = f
		}
		fmt.Fprint(out, help)
		return exitGo, false
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return f.fail("unknown flag --%s%s", unknown.GetSpecifiedName(), f.suggest(unknown.GetSpecifiedName())), false
	}
	return f.fail("%s", err), false
}

// fail prints a usage error and returns its exit status.
func (f *flags) fail(format string, args ...any) int {
	fmt.Fprintf(f.err, "trainmedic %s: %s\n", f.Name(), fmt.Sprintf(format, args...))
	fmt.Fprintf(f.err, "Run 'trainmedic %s --help' for the flags.\n", f.Name())
	return exitUsage
}

// suggest names the flag that was probably meant.
func (f *flags) suggest(name string) string {
	var best string
	f.VisitAll(func(g *pflag.Flag) {
		if best == "" && near(g.Name, name) {
			best = g.Name
		}
	})
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean --%s?)", best)
}

// near reports whether two names differ by a prefix or by one letter dropped,
// added or changed.
func near(a, b string) bool {
	if len(b) > 2 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
		return true
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1
}
