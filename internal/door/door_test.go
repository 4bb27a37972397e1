package door_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trainmedic/trainmedic/internal/door"
)

const token = "tm_ATESTTOKENATESTTOKEN"

// inside answers what got in with its body.
func inside(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }

// of takes the session from a header and knows two paths: /open and /free.
func of(r *http.Request, _ []byte) door.Session {
	return door.Session{ID: r.Header.Get("Session"), Needs: r.URL.Path == "/", Opens: r.URL.Path == "/open"}
}

func newDoor(d *door.Door) (http.Handler, *door.Door) {
	d.Books, d.Limits = &door.Sessions{}, &door.Limits{}
	return d.Wrap(http.HandlerFunc(inside), of), d
}

func TestWhoComesIn(t *testing.T) {
	for _, tc := range []struct {
		name string
		door door.Door
		edit func(r *http.Request)
		want int
	}{
		{"a program of this machine", door.Door{Local: true}, func(*http.Request) {}, 200},
		{"by another name of the loopback", door.Door{Local: true}, func(r *http.Request) { r.Host = "[::1]:8765" }, 200},
		{"by a name bound anew to the loopback", door.Door{Local: true}, func(r *http.Request) { r.Host = "evil.example:8765" }, 403},
		{"by an address of another network", door.Door{Local: true}, func(r *http.Request) { r.Host = "10.1.2.3:8765" }, 403},
		{"by no name", door.Door{Local: true}, func(r *http.Request) { r.Host = "" }, 403},
		{"by an address, bound to all", door.Door{}, func(r *http.Request) { r.Host = "10.1.2.3:8765" }, 200},
		{"by a strange name, bound to all", door.Door{}, func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"by an allowed name", door.Door{Local: true, Hosts: []string{"ml.example"}}, func(r *http.Request) { r.Host = "ML.example:443" }, 200},
		{"from our own page", door.Door{Local: true}, func(r *http.Request) { r.Header.Set("Origin", "http://localhost:8765") }, 200},
		{"from a strange page", door.Door{Local: true}, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		{"from another program's page of this machine", door.Door{Local: true}, func(r *http.Request) { r.Header.Set("Origin", "http://localhost:8888") }, 403},
		{"from a page without origin", door.Door{Local: true}, func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		{"from an allowed page", door.Door{Local: true, Origins: []string{"https://app.example"}}, func(r *http.Request) { r.Header.Set("Origin", "https://app.example") }, 200},
		{"without the token", door.Door{Token: token}, func(*http.Request) {}, 401},
		{"with another token", door.Door{Token: token}, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token+"x") }, 401},
		{"with an empty token", door.Door{Token: token}, func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, 401},
		{"with the token in another scheme", door.Door{Token: token}, func(r *http.Request) { r.Header.Set("Authorization", "Basic "+token) }, 401},
		{"with the token", door.Door{Token: token}, func(r *http.Request) { r.Header.Set("Authorization", "bearer "+token) }, 200},
		{"a form of a web page", door.Door{}, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		{"without a type", door.Door{}, func(r *http.Request) { r.Header.Del("Content-Type") }, 415},
		{"a session that was not given", door.Door{}, func(r *http.Request) { r.URL.Path = "/"; r.Header.Set("Session", "tms_MADEUP") }, 404},
		{"a name chosen by who opens", door.Door{}, func(r *http.Request) { r.URL.Path = "/open"; r.Header.Set("Session", "tms_MADEUP") }, 200},
		{"30 MB", door.Door{}, func(r *http.Request) { r.Body = io.NopCloser(io.LimitReader(zeros{}, 30<<20)) }, 413},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, _ := newDoor(&tc.door)
			r := httptest.NewRequest(http.MethodPost, "/free", strings.NewReader("{}"))
			r.Host = "localhost:8765"
			r.Header.Set("Content-Type", "application/json; charset=utf-8")
			tc.edit(r)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tc.want || tc.want == 200 && w.Body.String() != "{}" || strings.Contains(w.Body.String(), token) {
				t.Errorf("want %d, got %d %s", tc.want, w.Code, w.Body)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestABodyThatDripsInIsGivenUp(t *testing.T) {
	h, _ := newDoor(&door.Door{Local: true, BodyTime: 30 * time.Millisecond})
	s := httptest.NewServer(h)
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "POST /free HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusRequestTimeout {
		t.Errorf("want 408, got %v", a.Status)
	}
}

func TestAHeaderThatDripsInIsGivenUp(t *testing.T) {
	h, _ := newDoor(&door.Door{Local: true})
	s := door.Server(h)
	if s.ReadHeaderTimeout <= 0 || s.ReadHeaderTimeout > 15*time.Second || s.IdleTimeout <= 0 || s.MaxHeaderBytes > 64<<10 {
		t.Errorf("the server has no bounds: %+v", s)
	}
	s.ReadHeaderTimeout = 30 * time.Millisecond
	l, local, err := door.Listen(t.Context(), "0")
	if err != nil || !local {
		t.Fatalf("local %v, %v", local, err)
	}
	go s.Serve(l)
	defer s.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "POST /free HTTP/1.1\r\nHost: loc")
	if b, err := io.ReadAll(c); err != nil || strings.Contains(string(b), "200") {
		t.Errorf("the connection is still open: %q, %v", b, err)
	}
}

func TestAnAddressWithoutAHostIsThisMachine(t *testing.T) {
	for addr, want := range map[string]bool{"0": true, ":0": true, "localhost:0": true, "0.0.0.0:0": false, "[::]:0": false} {
		l, local, err := door.Listen(t.Context(), addr)
		if err != nil {
			if strings.Contains(addr, "::") { // no such network here
				continue
			}
			t.Fatal(err)
		}
		l.Close()
		if local != want {
			t.Errorf("%s: local %v, want %v", addr, local, want)
		}
	}
	if _, _, err := door.Listen(t.Context(), "a:b:c"); err == nil {
		t.Error("a:b:c is taken for an address")
	}
}

func TestASessionEndsWhenNobodyUsesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []string
		s := &door.Sessions{Most: 2, Idle: time.Hour, Ended: func(id string) { ended = append(ended, id) }}
		first, second := s.Generate(""), s.Generate("")
		done := s.Use(second)
		time.Sleep(59 * time.Minute)
		if !s.Has(first, "") || s.Has("tms_MADEUP", "") || s.Has("", "") {
			t.Error("the first session is gone, or one that was never given is there")
		}
		time.Sleep(2 * time.Minute)
		if s.Has(first, "") || !s.Has(second, "") {
			t.Error("want the first to be over, the second is in use")
		}
		third := s.Generate("")
		if len(ended) != 1 || ended[0] != first || third == "" {
			t.Errorf("ended: %q", ended)
		}
		if !s.Full() || s.Generate("") != "" {
			t.Error("one session is in use and one is new: there is no room")
		}
		done()
		time.Sleep(2 * time.Minute)
		if s.Full() || s.Generate("") == "" || len(ended) != 2 {
			t.Errorf("the one that was idle for longest makes room: ended %q", ended)
		}
		s.Terminate(third)
		if _, err := (door.Of{Sessions: s}).Validate(third); err == nil {
			t.Error("a session that was ended goes on")
		}
	})
}

func TestOneSessionMayDoSoMuch(t *testing.T) {
	h, d := newDoor(&door.Door{Local: true})
	d.Limits = &door.Limits{PerSecond: 1, Burst: 3}
	a, b := d.Books.Generate(""), d.Books.Generate("")
	post := func(session string) int {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Session", session)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
			t.Error("no word of when to come again")
		}
		return w.Code
	}
	var got []int
	for range 4 {
		got = append(got, post(a))
	}
	if got[2] != 200 || got[3] != http.StatusTooManyRequests || post(b) != 200 {
		t.Errorf("one session: %v; another one suffers from it", got)
	}
}

func TestCallsThatGoOnAreCounted(t *testing.T) {
	d := &door.Door{Local: true, Books: &door.Sessions{}, Limits: &door.Limits{AtOnce: 1}}
	inside, leave := make(chan struct{}), make(chan struct{})
	h := d.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside <- struct{}{}; <-leave }), of)
	id := d.Books.Generate("")
	post := func() *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Session", id)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	first := make(chan int)
	go func() { first <- post().Code }()
	<-inside
	if c := post().Code; c != http.StatusTooManyRequests {
		t.Errorf("a second call at once: %d", c)
	}
	close(leave)
	if c := <-first; c != 200 {
		t.Errorf("the first call: %d", c)
	}
	go func() { <-inside }()
	if c := post().Code; c != 200 {
		t.Errorf("after it: %d", c)
	}
}

func TestATokenOfAFileIsItsOwnersSecret(t *testing.T) {
	p := filepath.Join(t.TempDir(), "token")
	for _, tc := range []struct {
		text string
		mode os.FileMode
		ok   bool
	}{
		{token + "\n", 0o600, true},
		{token, 0o644, false},
		{token, 0o640, false},
		{"short", 0o600, false},
		{"", 0o600, false},
		{"two words of a token here", 0o600, false},
		{"# clients\nann " + token + "\nbob " + token + "2\n", 0o600, true},
		{"ann " + token + "\nbob " + token, 0o600, false},
		{"ann " + token + "\nann " + token + "2", 0o600, false},
		{token + "\n" + token + "2", 0o600, false},
		{"ann short", 0o600, false},
		{"# nobody\n", 0o600, false},
	} {
		os.Remove(p)
		if err := os.WriteFile(p, []byte(tc.text), tc.mode); err != nil {
			t.Fatal(err)
		}
		got, err := door.ReadTokens(p)
		if (err == nil) != tc.ok || tc.ok && got[0].Secret != token {
			t.Errorf("%q %v: got %q, %v", tc.text, tc.mode, got, err)
		}
		if err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("the error tells the token: %v", err)
		}
	}
	if a, b := door.NewToken(), door.NewToken(); a == b || len(a) < 28 {
		t.Errorf("%q and %q", a, b)
	}
}

// TestASessionIsItsCallersOwn has one client go on with the session of another.
func TestASessionIsItsCallersOwn(t *testing.T) {
	d := &door.Door{Local: true, Books: &door.Sessions{}, Limits: &door.Limits{}, Tokens: []door.Token{{Name: "ann", Secret: token}, {Name: "bob", Secret: token + "2"}}}
	seen := ""
	h := d.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen, _ = door.Caller(r.Context()) }), of)
	post := func(path, secret, session string) int {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader("{}"))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Session", session)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	post("/free", token, "")
	ann := seen
	if post("/free", token+"2", ""); !strings.HasPrefix(ann, "token ann (") || seen == ann || !strings.HasPrefix(seen, "token bob (") || strings.Contains(ann, token) {
		t.Errorf("%q and %q", ann, seen)
	}
	id := d.Books.Generate(ann)
	if a, b, none := post("/", token, id), post("/", token+"2", id), post("/", token+"3", id); a != 200 || b != 404 || none != 401 {
		t.Errorf("its own %d, another client's %d, nobody's %d", a, b, none)
	}
}

func FuzzReadTokens(f *testing.F) {
	f.Add("ann " + token + "\n# bob\n")
	f.Fuzz(func(t *testing.T, text string) {
		p := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := door.ReadTokens(p)
		for i, a := range all {
			if err != nil || len(a.Secret) < 16 || strings.ContainsAny(a.Secret+a.Name, " \n") {
				t.Errorf("%q gives %+v, %v", text, a, err)
			}
			for _, b := range all[:i] {
				if a.Secret == b.Secret || a.Name == b.Name {
					t.Errorf("%q gives one client twice: %+v", text, a)
				}
			}
		}
	})
}
