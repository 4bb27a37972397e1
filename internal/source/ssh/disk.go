package ssh

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/trainmedic/trainmedic/internal/remote"
	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

// Bounds of what is fetched and kept.
const (
	page      = 4 << 10   // what a fetch is aligned to
	first     = 1 << 20   // of a log at the first look
	further   = 256 << 10 // of what a log gained, together with the look itself
	window    = 8 << 20   // at once, of a log that is read through
	maxCached = 48 << 20  // of a target that is looked at once
	maxIdle   = 2 << 20   // between two looks of a watch
	look      = 16 << 20  // bytes of logs that a look of a watch gives
)

// disk is a folder of a host, and what is kept of its files.
type disk struct {
	host *remote.Host
	dir  string // begins with / or ./
	opt  source.Options
	most int64  // see kind
	mark string // begins the records of an answer; nothing else does

	mu     sync.Mutex
	ctx    context.Context // of the look at hand
	quick  bool            // what was listed is taken as it was: this is the look itself
	cache  *cache
	broken error             // of the look at hand: a question that was not answered
	known  map[string]string // by name: what stat said of a file when it was asked for last
	seen   map[string]info   // the same, of this look
}

func (k *kind) newDisk(h *remote.Host, dir string, opt source.Options) *disk {
	if !strings.HasPrefix(dir, "/") && dir != "." && !strings.HasPrefix(dir, "./") {
		dir = "./" + dir // path.Dir and path.Join take it away
	}
	return &disk{host: h, dir: dir, opt: opt, most: k.most, mark: rand.Text(), cache: newCache(maxCached), known: map[string]string{}, seen: map[string]info{}}
}

// begin starts a look, and end ends it.
func (d *disk) begin(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ctx, d.quick, d.seen, d.broken = ctx, true, map[string]info{}, nil
}

func (d *disk) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.quick = false; d.opt.Watch {
		d.cache.shrink(maxIdle)
	}
}

// path is a file of the folder, quoted for the shell.
func (d *disk) path(name string) string { return shell.Quote(d.dir + "/" + name) }

// ask runs a script. In a target that is looked at once, a cut is waited out for
// a while: what was read so far is not thrown away.
func (d *disk) ask(ctx context.Context, s remote.Script) (remote.Answer, error) {
	for end := time.Now().Add(patience); ; {
		a, err := d.host.Ask(ctx, s)
		if err != nil {
			d.broken = err
		}
		if err == nil || d.opt.Watch || d.first() || !errors.Is(err, source.ErrUnreachable) || time.Now().After(end) {
			return a, err
		}
		select {
		case <-ctx.Done():
			return a, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// patience is how long a look that was begun waits for a host that is away.
const patience = time.Minute

// first reports whether nothing was read yet.
func (d *disk) first() bool { return len(d.known) == 0 && d.cache.bytes == 0 }

// script fills in what stands in a script for words that begin with @; what comes
// from outside MUST be quoted.
func script(text string, words ...string) string { return strings.NewReplacer(words...).Replace(text) }

// poll asks for one file: what stat says of it, and if that changed, what it
// gained. The error is one of package fs, or a sentinel of source.
func (d *disk) poll(ctx context.Context, name string) (info, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.known[name]
	from, pages, pack := int64(0), first/page, true
	if old := d.cache.files[name]; known != "" && old != nil && old.info.size >= page {
		from, pages, pack = (old.info.size-page)/page, further/page, false
	}
	text := script(`f=@file
s=$(stat -Lc '@form' -- "$f" 2>&1) || { printf '\n@mark !%s\n' "$s"; exit 0; }
printf '%s\n' "$s"
[ "$s" = @known ] && exit 0
[ -f "$f" ] || exit 0
[ -r "$f" ] || { printf '\n@mark !permission denied\n'; exit 0; }
dd if="$f" bs=@page skip=@skip count=@count 2>/dev/null
printf '\n@mark %s\n' "$(stat -Lc %d:%i -- "$f" 2>/dev/null)"`,
		"@file", d.path(name), "@form", statForm, "@mark", d.mark, "@known", shell.Quote(known),
		"@page", strconv.Itoa(page), "@skip", strconv.FormatInt(from, 10), "@count", strconv.Itoa(pages))
	a, err := d.ask(ctx, remote.Script{Text: text, Pack: pack})
	if err != nil {
		return info{}, err
	}
	line, rest, _ := bytes.Cut(a.Out, []byte("\n"))
	at := bytes.LastIndex(rest, []byte("\n"+d.mark+" "))
	closing := ""
	if at >= 0 {
		closing = strings.TrimSpace(string(rest[at+len(d.mark)+2:]))
	} else if said, ok := bytes.CutPrefix(rest, []byte(d.mark+" ")); ok {
		closing = strings.TrimSpace(string(said))
	}
	if said, ok := strings.CutPrefix(closing, "!"); ok {
		delete(d.known, name)
		return info{}, complaint(said)
	}
	i, err := parseStat(string(line))
	if err != nil {
		return i, fmt.Errorf("ssh: %s: %w", d.host.Host(), err)
	}
	i.base = path.Base(name)
	if at >= 0 && closing == i.ident {
		d.keep(name, i, from*page, rest[:at], int64(pages)*page)
	}
	d.known[name], d.seen[name] = string(line), i
	return i, nil
}

// keep puts fetched bytes into the cache, but for those that came after stat had
// spoken; fewer than there should be are not kept.
func (d *disk) keep(name string, i info, off int64, data []byte, most int64) {
	want := min(i.size-off, most)
	if want > 0 && int64(len(data)) >= want {
		d.cache.put(name, i, off, bytes.Clone(data[:want]))
	}
}

// want is a stretch of a file to fetch.
type want struct {
	name string
	info info
	off  int64
	n    int64
}

// fetch brings stretches into the cache, all with one question. A file that was
// replaced meanwhile is fs.ErrNotExist if it is the only one.
func (d *disk) fetch(ctx context.Context, wants []want) error {
	var b strings.Builder
	b.WriteString(script(`r() { dd if="$1" bs="$2" skip="$3" count="$4" 2>/dev/null; k=-; [ -r "$1" ] && k=+; printf '\n@mark %s%s\n' "$k" "$(stat -Lc %d:%i -- "$1" 2>/dev/null)"; }
`, "@mark", d.mark))
	total := int64(0)
	for n := range wants {
		w := &wants[n]
		unit := int64(page)
		if w.n > 1<<20 {
			unit = 64 << 10
		}
		w.n += w.off % unit
		w.off -= w.off % unit
		count := (w.n + unit - 1) / unit
		w.n = count * unit
		total += w.n
		fmt.Fprintf(&b, "r %s %d %d %d\n", d.path(w.name), unit, w.off/unit, count)
	}
	a, err := d.ask(ctx, remote.Script{Text: b.String(), Pack: total > 2*page, Most: int(total) + len(wants)*200 + 1<<10})
	if err != nil {
		return err
	}
	out, mark := a.Out, []byte("\n"+d.mark+" ")
	for _, w := range wants {
		at := bytes.Index(out, mark)
		if at < 0 {
			return fmt.Errorf("ssh: %s: an answer breaks off: %w", d.host.Host(), source.ErrUnreachable)
		}
		data := out[:at]
		closing, rest, _ := bytes.Cut(out[at+len(mark):], []byte("\n"))
		out = rest
		ident := string(closing[min(1, len(closing)):])
		if ident == w.info.ident && closing[0] == '+' {
			d.keep(w.name, w.info, w.off, data, w.n)
			continue
		}
		if len(wants) > 1 {
			continue
		}
		if ident == w.info.ident {
			return fs.ErrPermission
		}
		return fs.ErrNotExist
	}
	return nil
}

// reason is the error of a target that cannot be seen.
func (d *disk) reason(name string, err error) error {
	for _, kind := range []error{source.ErrUnreachable, source.ErrDenied, source.ErrBadTarget, source.ErrNoEvidence, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, kind) {
			return err
		}
	}
	return file.Reason("ssh", name, err)
}
