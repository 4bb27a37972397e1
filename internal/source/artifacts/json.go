package artifacts

import (
	"path"
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
)

var (
	resultName = regexp.MustCompile(`(?i)(?:^|[_-])(?:results?|metrics|scores|wandb-summary)\.json$`)
	// A key that only a document with a purpose has; it decides what a file is that
	// is too large to be read whole.
	logEntry = regexp.MustCompile(`"(?:insertId|logName|textPayload|jsonPayload)"\s*:`)
)

// putJSON reads every JSON document and sorts it by its shape.
func putJSON(l *look, e entry, head string) bool {
	if looksLikeLines(head) {
		return putJSONLines(l, e, head)
	}
	if logEntry.MatchString(head) {
		l.entriesOf(e)
		return true
	}
	if !l.fresh(e) {
		l.restream(e)
		return true
	}
	text, ok := l.text(e, maxResource)
	if !ok {
		return true
	}
	n, err := doc.JSON([]byte(text))
	if err != nil {
		if rows, _ := doc.JSONLines([]byte(text), 2); len(rows) == 2 {
			return putJSONLines(l, e, head)
		}
		l.damaged(e, err)
		return true
	}
	t := export.NewText(e.name, text)
	base := path.Base(e.name)
	switch {
	case n.Get("log_history") != nil:
		l.keepState(t, n)
	case base == "error.json" && n.Get("message") != nil:
		l.elastic(e, t, n)
	case resultName.MatchString(base) && n.Kind == doc.Map:
		l.results(t, n)
	case l.hasLabel(n):
		l.jsonLabels(t, n.Items)
	case len(text) > maxConfig && shapeless(t, n):
		l.gap(e.name, "is a large JSON file of no kind that is known here", "the configuration of this run alone")
	default:
		l.document(e, text, n)
	}
	return true
}

func shapeless(t *export.Text, n *doc.Node) bool {
	_, shape := export.Resource(t, n)
	return shape == ""
}

// restream goes on with a document that is a stream already.
func (l *look) restream(e entry) {
	if prev, ok := l.since[e.name]; ok {
		l.obs.Next[e.name] = prev
	}
}

// looksLikeLines reports whether the first line is a whole JSON object and
// another one follows.
func looksLikeLines(head string) bool {
	first, rest, ok := strings.Cut(head, "\n")
	if !ok || !strings.HasPrefix(strings.TrimSpace(first), "{") || !strings.HasPrefix(strings.TrimSpace(rest), "{") {
		return false
	}
	_, err := doc.JSON([]byte(first))
	return err == nil
}

// rowOfLog tells a row that a program wrote while it ran from a row of data.
var rowOfLog = regexp.MustCompile(`"(?:msg|message|level|levelname|severity|loss|train_loss|eval_loss|lr|learning_rate|step|global_step|iter|epoch|time|timestamp|ts|asctime|textPayload|jsonPayload|event)"\s*:`)

// putJSONLines takes logs and metrics written a JSON object a line; rows of data
// are looked at for labels only.
func putJSONLines(l *look, e entry, head string) bool {
	switch {
	case logEntry.MatchString(head):
		l.entriesOf(e)
	case l.opt.LabelColumn != "" && strings.Contains(head, `"`+l.opt.LabelColumn+`"`):
		l.labelLines(e)
	case rowOfLog.MatchString(head) || export.IsLogName(e.name):
		l.stream(e, "log")
	}
	return true
}
