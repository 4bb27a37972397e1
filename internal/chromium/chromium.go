// Package chromium drives a real headless Chromium in tests of pages. Where none
// is installed a test is skipped, in CI it fails.
package chromium

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A phone and a desk, in CSS pixels.
var (
	Phone = [2]int{390, 844}
	Desk  = [2]int{1280, 900}
)

// Start starts a browser with a window; it ends with the test.
func Start(t *testing.T, window [2]int) context.Context {
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
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(window[0], window[1]))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	Do(ctx, t, chromedp.EmulateViewport(int64(window[0]), int64(window[1])))
	return ctx
}

// Do runs one action of the browser, which has to work.
func Do[T any](ctx context.Context, t *testing.T, a chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Sees waits until the page that is there says so; between two pages nothing does.
func Sees(ctx context.Context, t *testing.T, expression string) {
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
			t.Fatalf("the page does not come to %s: %s", expression, Do(ctx, t, chromedp.OuterHTML("body")))
		}
	}
}

// Scheme sets what the page takes for the user's preference: light or dark.
func Scheme(ctx context.Context, t *testing.T, scheme string) {
	t.Helper()
	Do(ctx, t, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// TooWide reports whether the page has to be pushed sideways.
func TooWide(ctx context.Context, t *testing.T) bool {
	t.Helper()
	return Do(ctx, t, chromedp.Evaluate[bool]("document.documentElement.scrollWidth > window.innerWidth"))
}

// Shot keeps a picture where SCREENSHOTS names a folder, to be looked at.
func Shot(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	b := Do(ctx, t, chromedp.FullScreenshot(100))
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
