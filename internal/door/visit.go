package door

import (
	"crypto/rand"
	"net"
	"net/http"
	"sync"
	"time"
)

// How long a browser that showed the token is known, how many are, and how large
// the form is in which it does.
const (
	visitTime = 12 * time.Hour
	maxVisits = 100
	maxForm   = 4 << 10
	loginPath = "/login"
)

// Visits guards pages that a browser only looks at, as Wrap guards the transports.
// A browser shows the token once, in the form that ask writes (wrong: after
// another one); the cookie that it gets opens the pages and nothing else, since
// other servers of the same machine are given it too.
func (d *Door) Visits(next http.Handler, ask func(w http.ResponseWriter, wrong bool)) http.Handler {
	known := &visits{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+loginPath, func(w http.ResponseWriter, r *http.Request) { d.login(w, r, known, ask) })
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie(cookie(r)); d.free() || err == nil && known.has(c.Value, time.Now()) {
			next.ServeHTTP(w, r)
			return
		}
		ask(w, false)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w = &patient{ResponseWriter: w, control: http.NewResponseController(w)}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "same-origin") // without one a form has no origin
		if !d.addressed(w, r) || !d.fromHere(w, r) {
			return
		}
		leave := d.Limits.enter("", host(r.RemoteAddr), false)
		if leave == nil {
			d.busy(w, http.StatusTooManyRequests, "too many requests at once")
			return
		}
		defer leave()
		mux.ServeHTTP(w, r)
	})
}

// login takes the token of the form and gives a cookie for it.
func (d *Door) login(w http.ResponseWriter, r *http.Request, known *visits, ask func(http.ResponseWriter, bool)) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(or(d.BodyTime, bodyTime))) // a writer without deadlines is a test's
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if d.free() || d.whose(r.PostFormValue("token")) == "" {
		ask(w, true)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookie(r), Value: known.open(time.Now()), Path: "/", MaxAge: int(visitTime / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// cookie is the name of the cookie of one server: those of other ports are sent
// along.
func cookie(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "trainmedic" + port
}

// visits are the browsers that showed the token.
type visits struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (v *visits) open(now time.Time) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.until == nil {
		v.until = map[string]time.Time{}
	}
	oldest := ""
	for k, t := range v.until {
		if now.After(t) {
			delete(v.until, k)
		} else if oldest == "" || t.Before(v.until[oldest]) {
			oldest = k
		}
	}
	if len(v.until) >= maxVisits {
		delete(v.until, oldest)
	}
	key := rand.Text() + rand.Text()
	v.until[key] = now.Add(visitTime)
	return key
}

func (v *visits) has(key string, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	t, ok := v.until[key]
	return ok && now.Before(t)
}
