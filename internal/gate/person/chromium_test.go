package person

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/trainmedic/trainmedic/internal/chromium"
	"github.com/trainmedic/trainmedic/internal/gate"
)

func TestThePageInARealBrowser(t *testing.T) {
	ctx := chromium.Start(t, chromium.Phone)
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

	chromium.Do(ctx, t, chromedp.Navigate(url))
	chromium.Shot(ctx, t, "1-passphrase")
	chromium.Do(ctx, t, chromedp.SendKeys("#p", "not the passphrase\r"))
	chromium.Sees(ctx, t, `document.querySelector(".said")`)
	wrong := chromium.Do(ctx, t, chromedp.Text(".said"))
	chromium.Do(ctx, t, chromedp.SendKeys("#p", passphrase+"\r"))
	chromium.Sees(ctx, t, `document.querySelector("article")`)
	plan := chromium.Do(ctx, t, chromedp.Text("article"))
	chromium.Shot(ctx, t, "2-waiting")
	wide := chromium.TooWide(ctx, t)
	for _, want := range []string{"end process 12:", "python <script>alert(1)</script>", r.Short(), "agent (its own word)"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the page does not show %q: %s", want, plan)
		}
	}
	if wrong != errWrong.Error() || wide {
		t.Errorf("after a wrong passphrase: %q; wider than a phone: %v", wrong, wide)
	}

	// another site posts into the page that is open
	key := chromium.Do(ctx, t, chromedp.Evaluate[string](`document.querySelector("input[name=key]").value`))
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(`<form id="f" method="post" action="` + url + `"><input name="key" value="` + key + `"><input name="id" value="` + r.ID + `"><input name="digest" value="` + r.Digest + `"><input name="decision" value="approve"></form><script>document.getElementById("f").submit()</script>`))
	}))
	defer evil.Close()
	other, cancel := chromedp.NewContext(ctx)
	defer cancel()
	chromium.Do(other, t, chromedp.Navigate(evil.URL))
	chromium.Sees(other, t, `location.href == "`+url+`"`)
	blocked := chromium.Do(other, t, chromedp.Text("body"))
	if s := state(t, g, r.ID); s != gate.Pending || !strings.Contains(blocked, "cross-origin") {
		t.Errorf("another site's post: %s, %q", s, blocked)
	}

	chromium.Do(ctx, t, chromedp.Click("button.yes"))
	chromium.Sees(ctx, t, `document.querySelector(".said")`)
	after := chromium.Do(ctx, t, chromedp.Text(".said"))
	chromium.Shot(ctx, t, "3-approved")
	if s := state(t, g, r.ID); s != gate.Approved || !strings.Contains(after, "Approved "+r.ID) {
		t.Errorf("%s, %q", s, after)
	}
}
