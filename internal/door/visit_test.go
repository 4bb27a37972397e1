package door_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/door"
)

// pages is a guarded page that says "page"; who is asked for the token reads "ask".
func pages(d *door.Door) http.Handler {
	d.Books, d.Limits = &door.Sessions{}, &door.Limits{}
	return d.Visits(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page") }), func(w http.ResponseWriter, wrong bool) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, "ask ", wrong)
	})
}

func visit(h http.Handler, method, path string, form url.Values, edit func(*http.Request)) *http.Response {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.Host = "localhost:8765"
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestWhoSeesThePages(t *testing.T) {
	for _, tc := range []struct {
		name string
		door door.Door
		edit func(r *http.Request)
		want int
	}{
		{"this machine, without a token", door.Door{Local: true}, nil, 200},
		{"without the token", door.Door{Local: true, Token: token}, nil, 401},
		{"the token in a header opens the transports, not the pages", door.Door{Token: token}, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }, 401},
		{"a cookie that was not given", door.Door{Token: token}, func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "trainmedic8765", Value: token}) }, 401},
		{"a name bound anew to the loopback", door.Door{Local: true}, func(r *http.Request) { r.Host = "evil.example:8765" }, 403},
		{"from a strange page", door.Door{Local: true}, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if res := visit(pages(&tc.door), http.MethodGet, "/", nil, tc.edit); res.StatusCode != tc.want || res.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("want %d, got %s %v", tc.want, res.Status, res.Header)
			}
		})
	}
}

func TestABrowserShowsTheTokenOnce(t *testing.T) {
	h := pages(&door.Door{Local: true, Token: token})
	for name, form := range map[string]url.Values{"a wrong token": {"token": {"tm_wrong"}}, "none": {}, "a huge form": {"token": {strings.Repeat("x", 1<<20)}}} {
		if res := visit(h, http.MethodPost, "/login", form, nil); res.StatusCode != 401 || len(res.Cookies()) > 0 {
			t.Errorf("%s: %s %v", name, res.Status, res.Cookies())
		}
	}
	if res := visit(h, http.MethodPost, "/login", url.Values{"token": {token}}, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }); res.StatusCode != 403 {
		t.Errorf("from a strange page: %s", res.Status)
	}
	res := visit(h, http.MethodPost, "/login", url.Values{"token": {token}}, func(r *http.Request) { r.Header.Set("Origin", "http://localhost:8765") })
	if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		t.Fatalf("%s %v", res.Status, res.Cookies())
	}
	c := res.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || strings.Contains(c.Value, token) {
		t.Errorf("the cookie: %v", c)
	}
	with := func(r *http.Request) { r.AddCookie(c) }
	if res := visit(h, http.MethodGet, "/", nil, with); res.StatusCode != 200 {
		t.Errorf("with the cookie: %s", res.Status)
	}
	if res := visit(h, http.MethodGet, "/", nil, func(r *http.Request) { with(r); r.Host = "localhost:8766" }); res.StatusCode != 401 {
		t.Errorf("the cookie of another port: %s", res.Status)
	}
	if res := visit(pages(&door.Door{Local: true, Token: token}), http.MethodGet, "/", nil, with); res.StatusCode != 401 {
		t.Errorf("the cookie of another server: %s", res.Status)
	}
	mcp, _ := newDoor(&door.Door{Local: true, Token: token})
	if res := visit(mcp, http.MethodPost, "/free", url.Values{}, func(r *http.Request) { with(r); r.Header.Set("Content-Type", "application/json") }); res.StatusCode != 401 {
		t.Errorf("the cookie at a transport: %s", res.Status)
	}
}
