package export

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
)

// Entry is one entry of Cloud Logging: what was logged, and when.
type Entry struct {
	Line  int // of its message
	At    time.Time
	Texts []string // its message, and what stands beside it of an exception
}

// NewEntry takes the message off an entry, of which raw is the JSON; one without
// a message is shown whole, on one line.
func NewEntry(n *doc.Node, raw []byte) Entry {
	g := Entry{Line: n.Line}
	g.At, _ = time.Parse(time.RFC3339Nano, n.First("timestamp", "receiveTimestamp").Str())
	g.At = g.At.UTC()
	take := func(m *doc.Node) bool {
		if strings.TrimSpace(m.Str()) == "" {
			return false
		}
		if len(g.Texts) == 0 {
			g.Line = m.Line
		}
		g.Texts = append(g.Texts, m.Str())
		return true
	}
	payload := n.Get("jsonPayload")
	if take(n.Get("textPayload")) || take(payload.First("message", "msg", "log", "MESSAGE")) || take(n.Get("protoPayload", "status", "message")) {
		for _, k := range []string{"exc_info", "exception", "stack_trace", "traceback"} {
			take(payload.Get(k))
		}
		return g
	}
	if at := n.First("jsonPayload", "protoPayload"); at != nil {
		g.Line = at.Line
	}
	var flat bytes.Buffer
	if json.Compact(&flat, raw) == nil {
		g.Texts = []string{flat.String()}
	}
	return g
}
