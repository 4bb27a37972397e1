package artifacts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

// Bounds of an export of log entries that is put in order; one that has more bytes
// is read as it lies.
const (
	maxExport  = 64 << 20
	maxEntries = 300_000
	maxTasks   = 20_000 // events of a pipeline's tasks
)

// entriesOf takes Cloud Logging entries. One a line and oldest first they are
// the log as they are; newest first or as a JSON array (which is printed over
// many lines) the log is their messages in the order of time. Task events in
// them tell the state of a pipeline.
func (l *look) entriesOf(e entry) {
	_, asIs := l.since[e.name]
	changed := l.fresh(e)
	if !changed || e.size > maxExport {
		if l.keep("entries " + e.name); asIs || l.since["entries "+e.name] == "" {
			l.stream(e, "log")
		}
		return
	}
	text, ok := l.text(e, maxExport)
	if !ok {
		return
	}
	t := export.NewText(e.name, text)
	list := strings.HasPrefix(strings.TrimSpace(text), "[")
	all, tasks, err := readEntries(text, list)
	if err != nil {
		l.gap("the rest of "+e.name, err.Error(), "a complete export of the log")
	}
	reversed := newestFirst(all)
	if reversed {
		l.fact("logging.order", "newest-first", t.Ref(all[0].Line))
	}
	l.found(export.Found{Pipeline: export.Tasks(t, tasks)})
	if asIs || len(all) == 0 || !list && !reversed {
		l.stream(e, "log")
		return
	}
	l.messages(e, t, all, reversed)
}

func (l *look) keep(key string) {
	if v, ok := l.since[key]; ok {
		l.obs.Next[key] = v
	}
}

// messages makes a stream of entries, of those that are newer than at the last
// look.
func (l *look) messages(e entry, t *export.Text, all []export.Entry, reversed bool) {
	if reversed {
		slices.Reverse(all)
	}
	key := "entries " + e.name
	seen, _ := time.Parse(time.RFC3339Nano, l.since[key])
	var b lines
	newest := seen
	for _, g := range all {
		if g.At.After(newest) {
			newest = g.At
		}
		if l.since[key] != "" && !g.At.After(seen) {
			continue
		}
		if !reversed && l.opt.Last == 0 {
			b.pad(g.Line)
		}
		prefix := ""
		if !g.At.IsZero() {
			prefix = g.At.Format(time.RFC3339Nano) + " "
		}
		for _, text := range g.Texts {
			b.add(t.Ref(g.Line), prefix, ends(text))
			prefix = ""
		}
	}
	l.obs.Next[key] = newest.Format(time.RFC3339Nano)
	if b.keepLast(l.opt.Last); b.text.Len() > 0 {
		l.logs = append(l.logs, b.stream(e, file.RankOf(e.name)))
	}
}

// newestFirst reports whether entries stand in the order in which the console
// and gcloud print them. Time stamps within a second of each other say nothing.
func newestFirst(all []export.Entry) bool {
	if len(all) < 2 || all[0].At.Sub(all[len(all)-1].At) < time.Second {
		return false
	}
	up, down := 0, 0
	for i := 1; i < len(all); i++ {
		switch d := all[i].At.Sub(all[i-1].At); {
		case d > 0:
			up++
		case d < 0:
			down++
		}
	}
	return down > up && !all[len(all)-1].At.IsZero()
}

// readEntries splits an export into entries, and gives the task events among
// them whole. After an error what was read before it counts.
func readEntries(text string, list bool) (all []export.Entry, tasks []*doc.Node, err error) {
	err = split(text, list, func(raw []byte, line int) {
		if len(all) == maxEntries {
			return
		}
		n, err := doc.JSON(raw)
		if err != nil || n.Kind != doc.Map {
			return
		}
		n.Shift(line - 1)
		all = append(all, export.NewEntry(n, raw))
		if len(tasks) < maxTasks && n.Get("jsonPayload", "pipelineName") != nil {
			tasks = append(tasks, n)
		}
	})
	if err == nil && len(all) == maxEntries {
		err = fmt.Errorf("it has more than %d entries", maxEntries)
	}
	return all, tasks, err
}

// split gives each entry and the line where it begins.
func split(text string, list bool, each func(raw []byte, line int)) error {
	if !list {
		line := 0
		for l := range strings.SplitSeq(text, "\n") {
			if line++; strings.TrimSpace(l) != "" {
				each([]byte(l), line)
			}
		}
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	line, at := 1, 0
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("it breaks off or is damaged after line %d: %w", line, err)
		}
		start := int(dec.InputOffset()) - len(raw)
		line += strings.Count(text[at:start], "\n")
		at = start
		each(raw, line)
	}
	if _, err := dec.Token(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("it breaks off or is damaged after line %d: %w", line, err)
	} else if err != nil {
		return fmt.Errorf("it breaks off after line %d", line)
	}
	return nil
}

// elasticLines is what a torchelastic worker would have logged: its call stack
// and its message.
func elasticLines(t *export.Text, stack, message *doc.Node) *lines {
	b := &lines{}
	if stack.Str() != "" {
		b.add(t.Ref(stack.Line), "", ends(stack.Str()))
	}
	b.add(t.Ref(message.Line), "", ends(message.Str()))
	return b
}

// maxMessage is how much of one message is taken, half from either end.
const maxMessage = 1 << 20

// ends is a text without its middle where it is too long.
func ends(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return s[:maxMessage/2] + "\n[…]\n" + s[len(s)-maxMessage/2:]
}
