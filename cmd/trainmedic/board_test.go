package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/trainmedic/trainmedic/internal/chromium"
	"github.com/trainmedic/trainmedic/internal/cli"
)

// TestTheWatchesOfAServerInABrowser: an agent starts a watch over HTTP; a person
// shows the token to the page of the same server and sees the run go on.
func TestTheWatchesOfAServerInABrowser(t *testing.T) {
	const token = "tm_ATESTTOKENATESTTOKEN"
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	log, file := filepath.Join(dir, "train.log"), filepath.Join(dir, "token")
	grow := func(from, to int, loss string) {
		t.Helper()
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for i := from; i <= to; i++ {
			fmt.Fprintf(f, "step %d/100 loss=%s lr=1e-4\n", i, loss)
		}
	}
	grow(1, 20, "2.5")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	out, said := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, []string{"serve", "--http", "0", "--token-file", file}, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: said})
		said.Close()
		ended <- code
	}()
	page, mcpURL := "", ""
	lines := make([]byte, 0, 1000)
	for page == "" || mcpURL == "" {
		b := make([]byte, 1000)
		n, err := out.Read(b)
		if err != nil {
			t.Fatalf("%v: %s", err, lines)
		}
		lines = append(lines, b[:n]...)
		for line := range strings.Lines(string(lines)) {
			if _, url, ok := strings.Cut(line, "in a browser on "); ok && strings.HasSuffix(url, "\n") {
				page = strings.TrimSpace(url)
			}
			if _, url, ok := strings.Cut(line, "streamable HTTP on "); ok && strings.HasSuffix(url, "\n") {
				mcpURL = strings.TrimSpace(url)
			}
		}
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // the rest of what it says
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("the server ended with %d", code)
		}
	})

	c, err := client.NewStreamableHttpClient(mcpURL, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: "agent", Version: "1"}
	if _, err := c.Initialize(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	var call mcp.CallToolRequest
	call.Params.Name, call.Params.Arguments = "monitor_run", map[string]any{"target": log, "interval": 1, "no_backoff": true}
	if res, err := c.CallTool(t.Context(), call); err != nil || res.IsError {
		t.Fatalf("%v: %+v", err, res)
	}

	b := chromium.Start(t, chromium.Phone)
	chromium.Do(t, b, chromedp.Navigate(page))
	chromium.Do(t, b, chromedp.SendKeys("#token", token+"\r"))
	chromium.Sees(t, b, `document.body.innerText.includes("20 of 100 steps")`)
	grow(21, 30, "nan")
	chromium.Sees(t, b, `document.querySelector("article.bad .open").innerText.includes("nan-inf") && document.body.innerText.includes("30 of 100 steps") && document.title.startsWith("(1)")`)
	chromium.Shot(t, b, "served")
	if res, err := http.Get(page + "watches"); err != nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the cookie: %v, %v", res, err)
	} else {
		res.Body.Close()
	}
	if res, err := http.Get(page + ".well-known/oauth-protected-resource"); err != nil || res.StatusCode != http.StatusNotFound {
		t.Errorf("what clients look for: %v, %v", res, err)
	} else {
		res.Body.Close()
	}
}
