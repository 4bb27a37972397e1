package person

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
)

// Page serves decisions to a browser that knows the passphrase. There is no
// cookie, because other servers of this machine would get it too, and nothing
// secret in an address: what opens the page travels in its forms.
type Page struct {
	decider *gate.Decider
	lock    *lock
	hosts   []string // that a request may name

	mu   sync.Mutex
	keys map[string]time.Time // of the pages that are open, until when
}

// openFor is how long a page that was opened may decide.
const openFor = 15 * time.Minute

// maxOpen bounds the pages that are open at once.
const maxOpen = 20

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"left": func(r gate.Record) string { return max(0, time.Until(r.Expires).Round(time.Second)).String() },
}).Parse(pageHTML))

// NewPage is the page with the passphrase that is kept in dir. addr is where it
// is served; hosts are further names that a browser may call it by, as behind a
// tunnel.
func NewPage(d *gate.Decider, dir, addr string, hosts []string) (*Page, error) {
	l, err := openLock(dir)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("person: page: %w", err)
	}
	own := []string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port}
	return &Page{decider: d, lock: l, hosts: append(own, hosts...), keys: map[string]time.Time{}}, nil
}

// ListenLoopback listens on an address of this machine that no other one reaches.
func ListenLoopback(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("person: page: want ADDRESS:PORT: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("person: page: %s is not a loopback address; use 127.0.0.1 and a tunnel (ssh -L)", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("person: page: %w", err)
	}
	return l, nil
}

// Serve answers until ctx ends.
func (p *Page) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: p, ReadTimeout: readTimeout, WriteTimeout: 2 * readTimeout, MaxHeaderBytes: 32 << 10}
	stop := context.AfterFunc(ctx, func() { srv.Close() }) //nolint:errcheck // the process ends
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("person: page: %w", err)
	}
	return nil
}

// ServeHTTP implements http.Handler: every request has to name this host, and
// what changes something has to come from the page itself.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	nonce := rand.Text()
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+nonce+"'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if !slices.Contains(p.hosts, r.Host) {
		http.Error(w, "this page has another name", http.StatusForbidden)
		return
	}
	m := http.NewServeMux()
	m.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { p.show(w, http.StatusOK, view{Nonce: nonce}) })
	m.HandleFunc("POST /{$}", func(w http.ResponseWriter, r *http.Request) { p.post(w, r, nonce) })
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	http.NewCrossOriginProtection().Handler(m).ServeHTTP(w, r)
}

// view is what the page shows.
type view struct {
	Nonce   string
	Key     string // "" asks for the passphrase
	Said    string // about what was done last
	Waiting []gate.Record
	Past    []gate.Record
}

// post opens the page, or takes a decision.
func (p *Page) post(w http.ResponseWriter, r *http.Request, nonce string) {
	v := view{Nonce: nonce, Key: r.PostFormValue("key")}
	if v.Key == "" {
		if err := p.lock.try(r.PostFormValue("passphrase")); err != nil {
			v.Said = err.Error()
			p.decider.Warn(r.RemoteAddr+" on the approval page", v.Said)
			p.show(w, http.StatusForbidden, v)
			return
		}
		v.Key = p.open()
	}
	if !p.isOpen(v.Key) {
		p.show(w, http.StatusForbidden, view{Nonce: nonce, Said: "This page was open too long."})
		return
	}
	status := http.StatusOK
	if id := r.PostFormValue("id"); id != "" {
		v.Said, status = p.decide(r, id)
	}
	for _, rec := range p.decider.List() {
		if rec.State == gate.Pending {
			v.Waiting = append(v.Waiting, rec)
		} else {
			v.Past = append(v.Past, rec)
		}
	}
	v.Past = v.Past[:min(len(v.Past), 20)]
	p.show(w, status, v)
}

func (p *Page) decide(r *http.Request, id string) (string, int) {
	yes := r.PostFormValue("decision") == "approve"
	if !yes && r.PostFormValue("decision") != "deny" {
		return "That was no decision.", http.StatusBadRequest
	}
	rec, err := p.decider.Decide(gate.Decision{
		ID: id, Digest: r.PostFormValue("digest"), Yes: yes, By: "who knows the passphrase, on the approval page from " + r.RemoteAddr,
	})
	if err != nil {
		return "Nothing was decided: " + strings.TrimPrefix(err.Error(), "gate: ") + ".", http.StatusConflict
	}
	return fmt.Sprintf("%s %s (%s).", strings.ToUpper(string(rec.State[:1]))+string(rec.State[1:]), rec.ID, rec.Short()), http.StatusOK
}

// open makes a key for a page that may decide.
func (p *Page) open() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, key := time.Now(), rand.Text()+rand.Text()
	for k, until := range p.keys {
		if now.After(until) || len(p.keys) >= maxOpen {
			delete(p.keys, k)
		}
	}
	p.keys[key] = now.Add(openFor)
	return key
}

func (p *Page) isOpen(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, ok := p.keys[key]
	return ok && time.Now().Before(until)
}

func (p *Page) show(w http.ResponseWriter, status int, v view) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	pageTemplate.Execute(w, v) //nolint:errcheck // the browser has gone
}
