package transport_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/transport"
)

const token = "tm_ATESTTOKENATESTTOKEN"

// paths are all that a server answers, with the method that each is asked by.
func (s *site) paths() map[string]string {
	return map[string]string{
		s.http: http.MethodPost, s.sse: http.MethodGet,
		strings.Replace(s.sse, "/sse", "/message?sessionId=tms_MADEUP", 1): http.MethodPost,
	}
}

func TestStrangersDoNotComeIn(t *testing.T) {
	s := open(t, transport.Network{Token: token, Hosts: []string{"ml.example"}, Origins: []string{"https://app.example"}})
	right := header("Authorization", "Bearer "+token)
	for _, tc := range []struct {
		name string
		edit []func(*http.Request)
		want int
	}{
		{"without a token", nil, 401},
		{"with a wrong token", []func(*http.Request){header("Authorization", "Bearer tm_WRONGWRONGWRONGWRONG")}, 401},
		{"with the token as a password", []func(*http.Request){func(r *http.Request) { r.SetBasicAuth("tm", token) }}, 401},
		{"with the token in the address only", []func(*http.Request){func(r *http.Request) { r.URL.RawQuery = "token=" + token }}, 401},
		{"from a strange page that has the token", []func(*http.Request){right, header("Origin", "https://evil.example")}, 403},
		{"from a page that looks like an allowed one", []func(*http.Request){right, header("Origin", "https://app.example.evil.example")}, 403},
		{"from a page of no origin", []func(*http.Request){right, header("Origin", "null")}, 403},
		{"from the page of another program here", []func(*http.Request){right, header("Origin", "http://localhost:1")}, 403},
		{"by a name bound anew to this machine", []func(*http.Request){right, header("Host", "evil.example:80")}, 403},
		{"by a name that begins like ours", []func(*http.Request){right, header("Host", "localhost.evil.example")}, 403},
		{"by a name that begins like an address", []func(*http.Request){right, header("Host", "127.0.0.1.evil.example")}, 403},
		{"from a page at a name bound anew", []func(*http.Request){right, header("Host", "evil.example"), header("Origin", "http://evil.example")}, 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for path, method := range s.paths() {
				a := mustAsk(t, method, path, hello, tc.edit...)
				if a.status != tc.want || a.header.Get("Mcp-Session-Id") != "" || a.header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s: want %d, got %+v", path, tc.want, a)
				}
				if strings.Contains(a.body, token) {
					t.Errorf("%s tells the token", path)
				}
			}
		})
	}
	for _, edit := range []func(*http.Request){right, header("Origin", "https://app.example"), header("Host", "ml.example:443")} {
		if a := mustAsk(t, http.MethodPost, s.http, hello, right, edit); a.status != 200 {
			t.Errorf("who may come in gets %+v", a)
		}
	}
}

// TestAPageMayReadOnlyWhereItIsAllowed: a browser asks first, without the token.
func TestAPageMayReadOnlyWhereItIsAllowed(t *testing.T) {
	for _, n := range []transport.Network{{Token: token, Origins: []string{"https://app.example"}}, {}} {
		s := open(t, n)
		for origin, want := range map[string]bool{"https://app.example": n.Origins != nil, "https://evil.example": false, "null": false} {
			for path := range s.paths() {
				a := mustAsk(t, http.MethodOptions, path, "", header("Origin", origin), header("Access-Control-Request-Method", "POST"), header("Access-Control-Request-Headers", "authorization"))
				if got := a.header.Get("Access-Control-Allow-Origin"); (got == origin) != want || got == "*" {
					t.Errorf("allowed %v, %s at %s: %+v", n.Origins, origin, path, a)
				}
			}
		}
	}
}

// TestAFormOfAWebPageIsRefused: what a page can send without asking first.
func TestAFormOfAWebPageIsRefused(t *testing.T) {
	s := open(t, transport.Network{})
	for path, method := range s.paths() {
		for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""} {
			if method != http.MethodPost {
				continue
			}
			if a := mustAsk(t, method, path, hello, header("Content-Type", media)); a.status != http.StatusUnsupportedMediaType {
				t.Errorf("%s as %q: %+v", path, media, a)
			}
		}
	}
}

func TestABodyOf30MBIsNotTakenIn(t *testing.T) {
	s := open(t, transport.Network{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for path, method := range s.paths() {
		if method != http.MethodPost {
			continue
		}
		for name, length := range map[string]int64{"of a known length": 30 << 20, "in pieces": -1} {
			r, err := http.NewRequestWithContext(t.Context(), method, path, io.LimitReader(blanks{}, 30<<20))
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = length
			r.Header.Set("Content-Type", "application/json")
			a, err := http.DefaultClient.Do(r)
			if err != nil { // the server may hang up while we still send
				continue
			}
			a.Body.Close()
			if a.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s, %s: %s", path, name, a.Status)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 80<<20 { // four bodies of at most 4 MiB, read into growing buffers
		t.Errorf("four bodies took %d MB in all", took>>20)
	}
	if a := mustAsk(t, http.MethodPost, s.http, hello); a.status != 200 {
		t.Errorf("the server is not well after it: %+v", a)
	}
}

type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestThoseWhoSayNothingHoldNobodyUp: a hundred connections stay in the middle of
// a header or of a body; the quick ones are answered as ever.
func TestThoseWhoSayNothingHoldNobodyUp(t *testing.T) {
	s := open(t, transport.Network{})
	for _, at := range []string{s.http, s.sse} {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			c, err := net.Dial("tcp", u.Host)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			part := "POST /mcp HTTP/1.1\r\nHost: loc"
			if i%2 == 0 {
				part = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
			}
			io.WriteString(c, part)
		}
	}
	me, l := session(t, s), older(t, s)
	began := time.Now()
	for i := range 20 {
		if a := mustAsk(t, http.MethodPost, s.http, call(i+2, "echo"), me); text(a.body) != "here" {
			t.Fatalf("%+v", a)
		}
		mustAsk(t, http.MethodPost, l.post, call(i+2, "echo"))
		if e := l.next(t); text(e) != "here" {
			t.Fatal(e)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("forty quick calls took %v", took)
	}
	began = time.Now()
	if err := s.stop(); err != nil || time.Since(began) > 8*time.Second {
		t.Errorf("the server ends after %v: %v", time.Since(began), err)
	}
}

// TestAHeaderIsBounded: a client that sends headers without end is cut off.
func TestAHeaderIsBounded(t *testing.T) {
	s := open(t, transport.Network{})
	u, _ := url.Parse(s.http)
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n")
		for i := range 20_000 {
			if _, err := fmt.Fprintf(c, "X-%d: %060d\r\n", i, i); err != nil {
				return
			}
		}
	}()
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil { // cut off in the middle of what we send
		return
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%s", a.Status)
	}
}
