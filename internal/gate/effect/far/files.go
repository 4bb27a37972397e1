package far

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source/ssh"
)

// maxPrinted is the largest file whose bytes are compared.
const maxPrinted = 16 << 20

// Prints are the fingerprints of the regular files among some paths, each
// "PATH DIGEST"; of a large one "PATH SIZE bytes of TIME".
func (h *Host) Prints(ctx context.Context, paths []string) ([]string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `f() { [ -f "$1" ] || return 0
s=$(stat -Lc %%s -- "$1") || return 0
if [ "$s" -le %d ]; then d=$(sha256sum <"$1") && printf '%%s %%.32s\n' "$1" "$d" || printf '%%s cannot be read\n' "$1"
else printf '%%s %%s\n' "$1" "$(stat -Lc '%%s bytes of %%Y' -- "$1")"; fi; }
`, maxPrinted)
	for _, p := range paths {
		if strings.HasPrefix(p, "/") && !strings.ContainsAny(p, "\n\x00") {
			b.WriteString("f " + shell.Quote(p) + "\n")
		}
	}
	a, err := h.look(ctx, "{ "+b.String()+"} 2>/dev/null; true")
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(a.Out), "\n"), "\n"), nil
}

// First is the first of some paths that is a program, and the file that it leads
// to; "" if none is.
func (h *Host) First(ctx context.Context, paths []string) (path, real string, err error) {
	var b strings.Builder
	for _, p := range paths {
		fmt.Fprintf(&b, "[ -f %[1]s ] && [ -x %[1]s ] && { printf '%%s\\n' %[1]s; readlink -f -- %[1]s; exit 0; }\n", shell.Quote(p))
	}
	a, err := h.look(ctx, b.String()+"true")
	path, real, _ = strings.Cut(strings.TrimSuffix(string(a.Out), "\n"), "\n")
	return path, real, err
}

// IsDir reports whether a path is a folder.
func (h *Host) IsDir(ctx context.Context, path string) (bool, error) {
	a, err := h.look(ctx, "[ -d "+shell.Quote(path)+" ]")
	return a.Status == 0, err
}

// Home is the folder where the account's own files lie.
func (h *Host) Home(ctx context.Context) (string, error) {
	a, err := h.look(ctx, "pwd -P")
	return strings.TrimSuffix(string(a.Out), "\n"), err
}

// Dir is a folder of the host; it is read until ctx ends.
func (h *Host) Dir(ctx context.Context, path string) (fs.FS, error) {
	return ssh.Look(ctx, h.host, path)
}

// Readlink is what a symbolic link says.
func (h *Host) Readlink(ctx context.Context, path string) (string, error) {
	a, err := h.look(ctx, "readlink -- "+shell.Quote(path))
	if err == nil && a.Status != 0 {
		err = fmt.Errorf("far: %s: %s: %w", h.name, path, fs.ErrNotExist)
	}
	return strings.TrimSuffix(string(a.Out), "\n"), err
}

// Point makes a link or a file of text say something else, in one step, if it
// still says what it said.
func (h *Host) Point(ctx context.Context, path string, link bool, was, to string) error {
	const head = `p=@path; w=@was; t=@to; n=$p.trainmedic-new
`
	how := `[ -f "$p" ] && [ ! -h "$p" ] && [ "$(tr -d '\t\r\n ' <"$p")" = "$(printf %s "$w" | tr -d '\t\r\n ')" ] || exit 66
rm -f -- "$n" && printf %s "$t" >"$n" && chmod "$(stat -c %a -- "$p")" "$n" && mv -f -- "$n" "$p"`
	if link {
		how = `[ -h "$p" ] && [ "$(readlink -- "$p")" = "$w" ] || exit 66
rm -f -- "$n" && ln -s -- "$t" "$n" && mv -fT -- "$n" "$p"`
	}
	text := strings.NewReplacer("@path", shell.Quote(path), "@was", shell.Quote(was), "@to", shell.Quote(to)).Replace(head) + how
	a, err := h.act(ctx, text, 0)
	switch {
	case err != nil:
		return err
	case a.Status == 66:
		return gate.Refusal{Kind: "target_changed", Why: path + " does not say any more what it said: it was not changed"}
	case a.Status != 0:
		return fmt.Errorf("far: %s: %s: %.300s", h.name, path, strings.TrimSpace(a.Said))
	}
	return nil
}
