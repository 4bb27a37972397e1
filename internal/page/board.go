package page

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/report"
)

// Board is the live page of all watches: the document at /, and what changes in it
// at /watches, which the document asks for every few seconds. It only shows; who
// may look is for others to say.
type Board struct {
	Watches func() []report.Glimpse
}

// ServeHTTP implements http.Handler.
func (b *Board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		send(w, http.StatusOK, "board.html", view{Watches: cards(b.Watches())})
	case "/watches":
		b.fragment(w, r)
	default:
		http.NotFound(w, r)
	}
}

// fragment answers with the watches, unless the browser has them already.
func (b *Board) fragment(w http.ResponseWriter, r *http.Request) {
	t, err := forms()
	var body bytes.Buffer
	if err == nil {
		err = t.ExecuteTemplate(&body, "watches.html", cards(b.Watches()))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(body.Bytes())
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(body.Bytes()) // a browser that is gone asks no more
}

// Ask writes the form in which a browser shows the token; wrong says that the last
// one was.
func (*Board) Ask(w http.ResponseWriter, wrong bool) {
	send(w, http.StatusUnauthorized, "login.html", view{Wrong: wrong})
}

// view is what a document of the board shows.
type view struct {
	Watches []card
	Wrong   bool
	Nonce   string
	Style   template.CSS
	Script  template.JS
}

func send(w http.ResponseWriter, status int, form string, v view) {
	v.Nonce = rand.Text()
	css, _ := files.ReadFile("board.css") // both are embedded
	script, _ := files.ReadFile("board.js")
	v.Style, v.Script = style()+template.CSS(css), template.JS(script)
	t, err := forms()
	var body bytes.Buffer
	if err == nil {
		err = t.ExecuteTemplate(&body, form, v)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; style-src 'nonce-%s'; script-src 'nonce-%[1]s'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'", v.Nonce))
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // a browser that is gone asks no more
}

// card is a watch as the board draws it.
type card struct {
	report.Glimpse
	Mood  string // good, odd, bad or over: the colour
	Badge string
	Past  []report.Event // the newest first
	Curve string         // the points of the loss, "" when there are too few
	Left  string         // the time left, in words
}

// The box in which a curve is drawn.
const (
	curveWidth  = 240
	curveHeight = 48
	leastCurve  = 3
)

func cards(all []report.Glimpse) []card {
	out := make([]card, 0, len(all))
	for _, g := range all {
		c := card{Glimpse: g, Badge: string(g.State), Mood: mood(&g), Past: slices.Clone(g.Events), Curve: curve(g.Live.Loss)}
		slices.Reverse(c.Past)
		switch {
		case g.Blind != "":
			c.Badge = "NOTHING SEEN"
		case g.Resting:
			c.Badge = "NOT LOOKED AT"
		}
		if eta := g.Live.ETA; eta != nil && !g.State.Ended() {
			c.Left = fmt.Sprintf("%s to %s left", span(eta.Low), span(eta.High))
		}
		out = append(out, c)
	}
	return out
}

// Percent is how much of the planned steps is done, -1 when nobody knows.
func (c card) Percent() int {
	if c.Live.Total <= 0 || c.Live.Step < 0 {
		return -1
	}
	return int(min(100, 100*c.Live.Step/c.Live.Total))
}

// mood is good while nobody is needed.
func mood(g *report.Glimpse) string {
	grave := slices.ContainsFunc(g.Live.Open, func(a report.Anomaly) bool { return a.Grave() })
	switch {
	case g.Blind != "" || g.State == report.StateFailed || g.State == report.StateTimeout || grave && !g.Resting:
		return "bad"
	case g.State == report.StateCancelled || g.Resting:
		return "over"
	case len(g.Live.Open) > 0:
		return "odd"
	}
	return "good"
}

// grave counts the watches that need somebody, for the title.
func grave(all []card) int {
	n := 0
	for _, c := range all {
		if c.Mood == "bad" {
			n++
		}
	}
	return n
}

// curve is the points of a line through the values, high ones above.
func curve(v []float64) string {
	if len(v) < leastCurve {
		return ""
	}
	low, high := slices.Min(v), slices.Max(v)
	var b strings.Builder
	for i, y := range v {
		up := 0.5
		if d := high - low; d > 0 && !math.IsInf(d, 0) {
			up = (y - low) / d
		}
		fmt.Fprintf(&b, "%.1f,%.1f ", float64(i)*curveWidth/float64(len(v)-1), 2+(1-up)*(curveHeight-4))
	}
	return strings.TrimSpace(b.String())
}

// span writes seconds as a person says them.
func span(seconds float64) string {
	d := time.Duration(max(0, min(seconds, 1e8))) * time.Second
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= time.Hour:
		return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	}
	return fmt.Sprintf("%ds", int(d.Seconds()))
}
