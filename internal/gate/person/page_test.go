package person

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
)

const passphrase = "correct horse battery"

func page(t *testing.T) (*gate.Gate, gate.Record, *Page) {
	t.Helper()
	g, d, r := waiting(t, gate.Policy{})
	return g, r, pageOf(t, d)
}

func pageOf(t *testing.T, d *gate.Decider) *Page {
	t.Helper()
	dir := t.TempDir()
	if _, err := NewPage(d, dir, "127.0.0.1:80", nil); !errors.Is(err, ErrNoPassphrase) {
		t.Errorf("without a passphrase: %v", err)
	}
	if err := SetPassphrase(dir, "too short"); err == nil {
		t.Error("a short passphrase is taken")
	}
	if err := keep(dir, passphrase, 1000); err != nil { // few rounds: the race detector makes many of them slow
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, passphraseFile)); err != nil || strings.Contains(string(b), "horse") {
		t.Errorf("the passphrase is kept: %s, %v", b, err)
	}
	p, err := NewPage(d, dir, "127.0.0.1:4000", []string{"box.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// post sends a form as a browser on the page does, changed by edit.
func post(p http.Handler, form url.Values, edit func(*http.Request)) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:4000/", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://127.0.0.1:4000")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	b, _ := io.ReadAll(w.Result().Body)
	return w.Code, string(b)
}

var keyIn = regexp.MustCompile(`name="key" value="(\w+)"`)

func key(t *testing.T, p http.Handler) string {
	t.Helper()
	code, body := post(p, url.Values{"passphrase": {passphrase}}, nil)
	m := keyIn.FindStringSubmatch(body)
	if code != http.StatusOK || m == nil {
		t.Fatalf("%d %s", code, body)
	}
	return m[1]
}

func TestADecisionOnThePage(t *testing.T) {
	g, r, p := page(t)
	code, body := post(p, url.Values{"passphrase": {passphrase}}, nil)
	if code != http.StatusOK || !strings.Contains(body, "Approve "+r.Short()) || strings.Contains(body, "<script>") || !strings.Contains(body, "&lt;script&gt;alert(1)") {
		t.Fatalf("%d %s", code, body)
	}
	form := url.Values{"key": {keyIn.FindStringSubmatch(body)[1]}, "id": {r.ID}, "digest": {r.Digest}, "decision": {"approve"}}
	if code, body := post(p, form, nil); code != http.StatusOK || !strings.Contains(body, "Approved "+r.ID) || !strings.Contains(body, "Nothing waits") {
		t.Errorf("%d %s", code, body)
	}
	if s := state(t, g, r.ID); s != gate.Approved {
		t.Error(s)
	}
	if code, _ := post(p, form, nil); code != http.StatusConflict {
		t.Errorf("the same form again: %d", code)
	}
}

func TestThePageRefuses(t *testing.T) {
	g, r, p := page(t)
	k := key(t, p)
	good := func(change func(url.Values)) url.Values {
		f := url.Values{"key": {k}, "id": {r.ID}, "digest": {r.Digest}, "decision": {"approve"}}
		if change != nil {
			change(f)
		}
		return f
	}
	for _, tc := range []struct {
		name string
		form url.Values
		edit func(*http.Request)
		want int
	}{
		{"a wrong passphrase", url.Values{"passphrase": {"correct horse"}}, nil, 403},
		{"no passphrase", url.Values{"id": {r.ID}, "digest": {r.Digest}, "decision": {"approve"}}, nil, 403},
		{"a made-up key", good(func(f url.Values) { f.Set("key", "AAAA") }), nil, 403},
		{"another site", good(nil), func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Origin", "https://evil.example")
		}, 403},
		{"another port of this machine", good(nil), func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "same-site")
			r.Header.Set("Origin", "http://127.0.0.1:9999")
		}, 403},
		{"another site, an old browser", good(nil), func(r *http.Request) {
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Set("Origin", "https://evil.example")
		}, 403},
		{"no origin at all", good(nil), func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "null") }, 403},
		{"a foreign host", good(nil), func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"another port's host", good(nil), func(r *http.Request) { r.Host = "127.0.0.1:4001" }, 403},
		{"a foreign digest", good(func(f url.Values) { f.Set("digest", strings.Repeat("0", 64)) }), nil, 409},
		{"a foreign plan", good(func(f url.Values) { f.Set("id", "nosuchid") }), nil, 409},
		{"no decision", good(func(f url.Values) { f.Set("decision", "perhaps") }), nil, 400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if code, body := post(p, tc.form, tc.edit); code != tc.want {
				t.Errorf("got %d, want %d: %s", code, tc.want, body)
			}
			if s := state(t, g, r.ID); s != gate.Pending {
				t.Errorf("it is %s", s)
			}
		})
	}
	get := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:4000/?"+good(nil).Encode(), nil)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, get)
	if state(t, g, r.ID) != gate.Pending || strings.Contains(w.Body.String(), r.ID) || len(w.Result().Cookies()) > 0 {
		t.Errorf("a GET: %s", w.Body)
	}
	for _, h := range []string{"frame-ancestors 'none'", "default-src 'none'"} {
		if !strings.Contains(w.Header().Get("Content-Security-Policy"), h) {
			t.Errorf("the policy of the page lacks %s", h)
		}
	}
	if code, _ := post(p, good(nil), func(r *http.Request) { r.Host = "box.example.org"; r.Header.Set("Origin", "https://box.example.org") }); code != http.StatusOK || state(t, g, r.ID) != gate.Approved {
		t.Errorf("behind a tunnel with a name: %d", code)
	}
}

func TestGuessingIsHeldBack(t *testing.T) {
	_, d, _ := waiting(t, gate.Policy{})
	p := pageOf(t, d)
	synctest.Test(t, func(t *testing.T) {
		for i := range maxWrong {
			if err := p.lock.try("guess"); (i == maxWrong-1) != errors.Is(err, errLocked) || err == nil {
				t.Errorf("guess %d: %v", i+1, err)
			}
		}
		if err := p.lock.try(passphrase); !errors.Is(err, errLocked) {
			t.Errorf("the right one while it is shut: %v", err)
		}
		<-time.After(firstLock)
		for range maxWrong {
			p.lock.try("guess")
		}
		<-time.After(firstLock)
		if err := p.lock.try(passphrase); !errors.Is(err, errLocked) {
			t.Errorf("the second time it is shut for longer: %v", err)
		}
		<-time.After(firstLock)
		if err := p.lock.try(passphrase); err != nil {
			t.Error(err)
		}
	})
}

func TestAPageThatWasOpenTooLong(t *testing.T) {
	_, d, _ := waiting(t, gate.Policy{})
	p := pageOf(t, d)
	synctest.Test(t, func(t *testing.T) {
		k := p.open()
		if !p.isOpen(k) || p.isOpen("") || p.isOpen(k[1:]) {
			t.Error("a page that was just opened")
		}
		<-time.After(openFor)
		if p.isOpen(k) {
			t.Error("it is open for ever")
		}
	})
}

func TestThePageStaysOnThisMachine(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "192.0.2.1:0", ":0", "[::]:0", "example.org:0", "127.0.0.1"} {
		if l, err := ListenLoopback(addr); err == nil {
			l.Close()
			t.Errorf("it listens on %s", addr)
		}
	}
	l, err := ListenLoopback("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
