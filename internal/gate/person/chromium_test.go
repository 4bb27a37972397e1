package person

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/trainmedic/trainmedic/internal/gate"
)

// browser starts a real headless Chromium with the window of a phone.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	switch {
	case path == "" && os.Getenv("CI") != "":
		t.Fatal("no Chromium is installed; .ci/run installs one")
	case path == "":
		t.Skip("no Chromium is installed")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(390, 844))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}

// do runs one action of the browser, which has to work.
func do[T any](t *testing.T, ctx context.Context, a chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sees waits until the page that is there says so; between two pages nothing does.
func sees(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); ; {
		if ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`document.readyState == "complete" && !!(`+expression+`)`)); err == nil && ok {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("the page does not come to %s: %s", expression, do(t, ctx, chromedp.OuterHTML("body")))
		}
	}
}

// shot keeps a picture where SCREENSHOTS names a folder, to be looked at.
func shot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	b := do(t, ctx, chromedp.FullScreenshot(100))
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestThePageInARealBrowser(t *testing.T) {
	ctx := browser(t)
	l, err := ListenLoopback("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, d, r := waiting(t, gate.Policy{})
	p := pageOf(t, d)
	p.hosts = []string{l.Addr().String()}
	served, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.Serve(served, l) }()
	t.Cleanup(func() { stop(); <-done })
	url := "http://" + l.Addr().String() + "/"

	do(t, ctx, chromedp.EmulateViewport(390, 844))
	do(t, ctx, chromedp.Navigate(url))
	shot(t, ctx, "1-passphrase")
	do(t, ctx, chromedp.SendKeys("#p", "not the passphrase\r"))
	sees(t, ctx, `document.querySelector(".said")`)
	wrong := do(t, ctx, chromedp.Text(".said"))
	do(t, ctx, chromedp.SendKeys("#p", passphrase+"\r"))
	sees(t, ctx, `document.querySelector("article")`)
	plan := do(t, ctx, chromedp.Text("article"))
	shot(t, ctx, "2-waiting")
	wide := do(t, ctx, chromedp.Evaluate[bool]("document.documentElement.scrollWidth > window.innerWidth"))
	for _, want := range []string{"end process 12:", "python <script>alert(1)</script>", r.Short(), "agent (its own word)"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the page does not show %q: %s", want, plan)
		}
	}
	if wrong != errWrong.Error() || wide {
		t.Errorf("after a wrong passphrase: %q; wider than a phone: %v", wrong, wide)
	}

	// another site posts into the page that is open
	key := do(t, ctx, chromedp.Evaluate[string](`document.querySelector("input[name=key]").value`))
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(`<form id="f" method="post" action="` + url + `"><input name="key" value="` + key + `"><input name="id" value="` + r.ID + `"><input name="digest" value="` + r.Digest + `"><input name="decision" value="approve"></form><script>document.getElementById("f").submit()</script>`))
	}))
	defer evil.Close()
	other, cancel := chromedp.NewContext(ctx)
	defer cancel()
	do(t, other, chromedp.Navigate(evil.URL))
	sees(t, other, `location.href == "`+url+`"`)
	blocked := do(t, other, chromedp.Text("body"))
	if s := state(t, g, r.ID); s != gate.Pending || !strings.Contains(blocked, "cross-origin") {
		t.Errorf("another site's post: %s, %q", s, blocked)
	}

	do(t, ctx, chromedp.Click("button.yes"))
	sees(t, ctx, `document.querySelector(".said")`)
	after := do(t, ctx, chromedp.Text(".said"))
	shot(t, ctx, "3-approved")
	if s := state(t, g, r.ID); s != gate.Approved || !strings.Contains(after, "Approved "+r.ID) {
		t.Errorf("%s, %q", s, after)
	}
}
