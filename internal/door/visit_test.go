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

// answer is what a browser gets.
type answer struct {
	code    int
	header  http.Header
	cookies []*http.Cookie
}

func visit(h http.Handler, method, path string, form url.Values, edit func(*http.Request)) answer {
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
	return answer{w.Code, w.Header(), (&http.Response{Header: w.Header()}).Cookies()}
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
			if res := visit(pages(&tc.door), http.MethodGet, "/", nil, tc.edit); res.code != tc.want || res.header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("want %d, got %d %v", tc.want, res.code, res.header)
			}
		})
	}
}

func TestABrowserShowsTheTokenOnce(t *testing.T) {
	h := pages(&door.Door{Local: true, Token: token})
	for name, form := range map[string]url.Values{"a wrong token": {"token": {"tm_wrong"}}, "none": {}, "a huge form": {"token": {strings.Repeat("x", 1<<20)}}} {
		if res := visit(h, http.MethodPost, "/login", form, nil); res.code != 401 || len(res.cookies) > 0 {
			t.Errorf("%s: %d %v", name, res.code, res.cookies)
		}
	}
	if res := visit(h, http.MethodPost, "/login", url.Values{"token": {token}}, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }); res.code != 403 {
		t.Errorf("from a strange page: %d", res.code)
	}
	res := visit(h, http.MethodPost, "/login", url.Values{"token": {token}}, func(r *http.Request) { r.Header.Set("Origin", "http://localhost:8765") })
	if res.code != http.StatusSeeOther || len(res.cookies) != 1 {
		t.Fatalf("%d %v", res.code, res.cookies)
	}
	c := res.cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || strings.Contains(c.Value, token) {
		t.Errorf("the cookie: %v", c)
	}
	with := func(r *http.Request) { r.AddCookie(c) }
	if res := visit(h, http.MethodGet, "/", nil, with); res.code != 200 {
		t.Errorf("with the cookie: %d", res.code)
	}
	if res := visit(h, http.MethodGet, "/", nil, func(r *http.Request) { with(r); r.Host = "localhost:8766" }); res.code != 401 {
		t.Errorf("the cookie of another port: %d", res.code)
	}
	if res := visit(pages(&door.Door{Local: true, Token: token}), http.MethodGet, "/", nil, with); res.code != 401 {
		t.Errorf("the cookie of another server: %d", res.code)
	}
	mcp, _ := newDoor(&door.Door{Local: true, Token: token})
	if res := visit(mcp, http.MethodPost, "/free", url.Values{}, func(r *http.Request) { with(r); r.Header.Set("Content-Type", "application/json") }); res.code != 401 {
		t.Errorf("the cookie at a transport: %d", res.code)
	}
}
