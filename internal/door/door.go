// Package door is what stands between the network and the MCP server: it lets a
// request in only if it was addressed to this server (Host), comes from no
// strange web page (Origin), carries the token, has a body of a bounded size that
// arrives in time, names a session that this server gave, and is not one too
// many. It knows HTTP and nothing of MCP but where a session's name stands.
package door

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What one request may be. A pasted log is the largest that a client sends.
const (
	maxBody    = 4 << 20
	bodyTime   = 30 * time.Second
	writeTime  = 30 * time.Second // to take one piece of an answer
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute // of a connection between two requests
	maxHeader  = 32 << 10
)

// Door decides who comes in. The zero value of a field is the strictest choice.
type Door struct {
	Hosts   []string  // names by which the server may be called, beside localhost and addresses
	Origins []string  // web pages that may call, as scheme://host[:port], beside those of the server itself
	Token   string    // what Authorization: Bearer must carry; "" for no token
	Tokens  []Token   // further ones, each of a client
	Books   *Sessions // the sessions that may be gone on with
	Limits  *Limits   // how much of it
	Local   bool      // bound to loopback: an address in Host must be loopback too

	BodyTime time.Duration // in which a body has to arrive; 30 s when 0
}

// Session is what a request says of its session.
type Session struct {
	ID    string
	Needs bool // it goes on with a session that was given
	Opens bool // it will be given a new one
}

// Wrap guards next, which gets requests whose body was read and can be read
// again. of tells the session of a request.
func (d *Door) Wrap(next http.Handler, of func(r *http.Request, body []byte) Session) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w = &patient{ResponseWriter: w, control: http.NewResponseController(w)}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !d.addressed(w, r) || !d.fromHere(w, r) {
			return
		}
		if r.Method == http.MethodOptions && r.Header.Get("Origin") != "" {
			next.ServeHTTP(w, r) // a preflight carries no token and does nothing
			return
		}
		who, ok := d.known(w, r)
		if !ok {
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, who))
		body, ok := d.read(w, r)
		if !ok {
			return
		}
		s := of(r, body)
		switch {
		case s.Needs && !d.Books.Has(s.ID, who):
			refuse(w, http.StatusNotFound, "no such session: initialize anew")
			return
		case !s.Needs:
			s.ID = "" // a name that is not needed is not believed
		}
		if s.Opens && d.Books.Full() {
			d.busy(w, http.StatusServiceUnavailable, "too many sessions are in use")
			return
		}
		leave := d.Limits.enter(s.ID, host(r.RemoteAddr), r.Method == http.MethodGet)
		if leave == nil {
			d.busy(w, http.StatusTooManyRequests, "too many requests at once")
			return
		}
		defer leave()
		defer d.Books.Use(s.ID)()
		next.ServeHTTP(w, r)
	})
}

func (d *Door) busy(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Retry-After", "1")
	refuse(w, status, why)
}

// addressed refuses a name that is not ours: a page whose own name was bound to
// our address anew could call us with it.
func (d *Door) addressed(w http.ResponseWriter, r *http.Request) bool {
	if d.named(r.Host) {
		return true
	}
	refuse(w, http.StatusForbidden, "this server is not called "+strconv.Quote(clip(r.Host))+"; --allow-host adds a name")
	return false
}

// fromHere refuses a web page that is neither our own nor named. Programs send no
// Origin.
func (d *Door) fromHere(w http.ResponseWriter, r *http.Request) bool {
	from := r.Header.Get("Origin")
	if from == "" || isOne(d.Origins, from) || strings.EqualFold(from, "http://"+r.Host) || strings.EqualFold(from, "https://"+r.Host) {
		return true
	}
	refuse(w, http.StatusForbidden, "web pages of "+strconv.Quote(clip(from))+" may not call this server; --allow-origin adds them")
	return false
}

// free reports whether no token is wanted.
func (d *Door) free() bool { return d.Token == "" && len(d.Tokens) == 0 }

// whose says whose a token is, "" for none that is known. It compares in a time
// that tells nothing of it.
func (d *Door) whose(given string) (who string) {
	all := d.Tokens
	if d.Token != "" {
		all = append(slices.Clip(all), Token{Secret: d.Token})
	}
	a := sha256.Sum256([]byte(strings.TrimSpace(given)))
	for _, t := range all {
		if b := sha256.Sum256([]byte(t.Secret)); subtle.ConstantTimeCompare(a[:], b[:]) == 1 {
			who = t.who()
		}
	}
	return who
}

// known wants a token and says whose it is.
func (d *Door) known(w http.ResponseWriter, r *http.Request) (who string, ok bool) {
	if d.free() {
		return "", true
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if who = d.whose(given); strings.EqualFold(scheme, "Bearer") && who != "" {
		return who, true
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="trainmedic"`)
	refuse(w, http.StatusUnauthorized, "the token is missing or wrong: send Authorization: Bearer TOKEN")
	return "", false
}

// read takes the body in: a form, or anything else that a web page can send
// without asking first, is refused.
func (d *Door) read(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if r.Method != http.MethodPost {
		return nil, true
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "the body has to be application/json")
		return nil, false
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(or(d.BodyTime, bodyTime))) // a writer without deadlines is a test's
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil { // the deadline stays: the server reads the rest of a body before it goes on
		w.Header().Set("Connection", "close")
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			refuse(w, http.StatusRequestEntityTooLarge, "the body has more than 4 MiB: give the path of the log instead of its text")
		} else {
			refuse(w, http.StatusRequestTimeout, "the body did not arrive")
		}
		return nil, false
	}
	_ = control.SetReadDeadline(time.Time{})
	r.Body = whole{bytes.NewReader(body), body}
	return body, true
}

// whole is a body that was read.
type whole struct {
	*bytes.Reader
	b []byte
}

// Close implements io.Closer.
func (whole) Close() error { return nil }

// Body is the body of a request that came through a door; it stays to be read.
func Body(r *http.Request) []byte {
	w, _ := r.Body.(whole)
	return w.b
}

// refuse answers with one line of text.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, why, status)
}

func clip(s string) string { return s[:min(len(s), 100)] }

// patient gives a client that does not take its answer a bounded time.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (p *patient) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(writeTime))
	n, err := p.ResponseWriter.Write(b)
	_ = p.control.SetWriteDeadline(time.Time{})
	return n, err
}

// Flush implements http.Flusher: the transports stream only through one.
func (p *patient) Flush() {
	_ = p.control.SetWriteDeadline(time.Now().Add(writeTime))
	_ = p.control.Flush() // a client that is gone shows in the request's context
	_ = p.control.SetWriteDeadline(time.Time{})
}

// Unwrap is for http.ResponseController.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }
