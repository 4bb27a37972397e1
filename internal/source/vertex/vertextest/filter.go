package vertextest

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
	"time"

	lpb "cloud.google.com/go/logging/apiv2/loggingpb"
	mrpb "google.golang.org/genproto/googleapis/api/monitoredres"
)

// filter is a parsed filter of the Logging query language, as far as tests need
// it: comparisons, NOT, OR and AND in this order of binding, and parentheses.
type filter struct {
	match    func(*lpb.LogEntry) bool
	from, to time.Time // bounds of timestamp that hold for the whole; zero for none
	searches bool      // it looks for words
}

func (f *filter) matches(e *lpb.LogEntry) bool { return f.match(e) }

// bounds are the entries within the bounds of time.
func (f *filter) bounds(l Log) (from, to int) {
	from, to = 0, l.Len()
	if !f.from.IsZero() {
		from = sort.Search(l.Len(), func(i int) bool { return !l.Time(i).Before(f.from) })
	}
	if !f.to.IsZero() {
		to = sort.Search(l.Len(), func(i int) bool { return l.Time(i).After(f.to) })
	}
	return from, to
}

type parser struct {
	tokens []string
	f      *filter
}

var token = regexp.MustCompile(`\(|\)|>=|<=|!=|=~|[=<>:]|"(?:[^"\\]|\\.)*"|[\w.@/-]+`)

func parseFilter(s string) (*filter, error) {
	if left := strings.TrimSpace(token.ReplaceAllString(s, "")); left != "" {
		return nil, fmt.Errorf("unexpected %.40q", left)
	}
	p := &parser{tokens: token.FindAllString(s, -1), f: &filter{match: func(*lpb.LogEntry) bool { return true }}}
	if len(p.tokens) == 0 {
		return p.f, nil
	}
	m, err := p.all(true)
	if err == nil && len(p.tokens) > 0 {
		err = fmt.Errorf("unexpected %q", p.tokens[0])
	}
	p.f.match = m
	return p.f, err
}

func (p *parser) take() string {
	if len(p.tokens) == 0 {
		return ""
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

func (p *parser) next(word string) bool {
	if len(p.tokens) > 0 && p.tokens[0] == word {
		p.tokens = p.tokens[1:]
		return true
	}
	return false
}

type matcher = func(*lpb.LogEntry) bool

// all is alternatives joined by AND; top says that nothing is around it.
func (p *parser) all(top bool) (matcher, error) {
	out, err := p.any(top)
	for err == nil && p.next("AND") {
		a := out
		var b matcher
		if b, err = p.any(top); err == nil {
			out = func(e *lpb.LogEntry) bool { return a(e) && b(e) }
		}
	}
	return out, err
}

func (p *parser) any(top bool) (matcher, error) {
	from, to := p.f.from, p.f.to
	out, err := p.one(top)
	for err == nil && p.next("OR") {
		p.f.from, p.f.to = from, to // a bound of one alternative is none of the whole
		a := out
		var b matcher
		if b, err = p.one(false); err == nil {
			out = func(e *lpb.LogEntry) bool { return a(e) || b(e) }
		}
	}
	return out, err
}

func (p *parser) one(top bool) (matcher, error) {
	switch {
	case p.next("NOT"):
		m, err := p.one(false)
		return func(e *lpb.LogEntry) bool { return !m(e) }, err
	case p.next("("):
		m, err := p.all(false)
		if err == nil && !p.next(")") {
			err = fmt.Errorf("a parenthesis is not closed")
		}
		return m, err
	}
	field, op := p.take(), p.take()
	var values []string
	if p.next("(") {
		for {
			values = append(values, p.value())
			if !p.next("OR") {
				break
			}
		}
		if !p.next(")") {
			return nil, fmt.Errorf("a parenthesis is not closed")
		}
	} else {
		values = []string{p.value()}
	}
	return p.compare(field, op, values, top)
}

func (p *parser) value() string {
	v := p.take()
	if strings.HasPrefix(v, `"`) {
		return unescape(v[1 : len(v)-1])
	}
	return v
}

func (p *parser) compare(field, op string, values []string, top bool) (matcher, error) {
	if field == "timestamp" || field == "receiveTimestamp" {
		return p.time(field, op, values[0], top)
	}
	read, ok := fields[field]
	if !ok {
		return nil, fmt.Errorf("field %q is not known", field)
	}
	switch op {
	case "=":
		return func(e *lpb.LogEntry) bool {
			for _, v := range values {
				if strings.EqualFold(read(e), v) {
					return true
				}
			}
			return false
		}, nil
	case "=~":
		p.f.searches = true
		re, err := regexp.Compile(values[0])
		return func(e *lpb.LogEntry) bool { return re.MatchString(read(e)) }, err
	}
	return nil, fmt.Errorf("%s %s is not known", field, op)
}

func (p *parser) time(field, op, value string, top bool) (matcher, error) {
	at, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		return nil, err
	}
	read := func(e *lpb.LogEntry) time.Time { return e.GetTimestamp().AsTime() }
	if field == "receiveTimestamp" {
		read = func(e *lpb.LogEntry) time.Time { return e.GetReceiveTimestamp().AsTime() }
	}
	bound := top && field == "timestamp"
	switch op {
	case ">=":
		if bound && at.After(p.f.from) {
			p.f.from = at
		}
		return func(e *lpb.LogEntry) bool { return !read(e).Before(at) }, nil
	case "<=":
		if bound && (p.f.to.IsZero() || at.Before(p.f.to)) {
			p.f.to = at
		}
		return func(e *lpb.LogEntry) bool { return !read(e).After(at) }, nil
	}
	return nil, fmt.Errorf("%s %s is not known", field, op)
}

// fields are those that a filter may name.
var fields = map[string]func(*lpb.LogEntry) string{
	"resource.type":                   func(e *lpb.LogEntry) string { return e.GetResource().GetType() },
	"resource.labels.job_id":          func(e *lpb.LogEntry) string { return e.GetResource().GetLabels()["job_id"] },
	"resource.labels.task_name":       func(e *lpb.LogEntry) string { return e.GetResource().GetLabels()["task_name"] },
	"resource.labels.pipeline_job_id": func(e *lpb.LogEntry) string { return e.GetResource().GetLabels()["pipeline_job_id"] },
	"textPayload":                     func(e *lpb.LogEntry) string { return e.GetTextPayload() },
	"jsonPayload.message":             func(e *lpb.LogEntry) string { return e.GetJsonPayload().GetFields()["message"].GetStringValue() },
}

func resourceOf(job, replica string) *mrpb.MonitoredResource {
	return &mrpb.MonitoredResource{Type: "ml_job", Labels: map[string]string{"job_id": job, "task_name": replica}}
}
