package main

import (
	"bufio"
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

// serving starts a server until the test ends; what it returns waits for the line
// that it says with some words, and gives the rest of the line.
func serving(t *testing.T, args ...string) func(words string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	in, client := io.Pipe()
	out, said := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, append([]string{"serve"}, args...), cli.Streams{In: in, Out: io.Discard, Err: said})
		said.Close()
		ended <- code
	}()
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		client.Close()
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("the server ended with %d", code)
		}
	})
	var all []string
	return func(words string) string {
		t.Helper()
		for i := 0; ; i++ {
			if i == len(all) {
				line, ok := <-lines
				if !ok {
					t.Fatalf("it ended without %q: %q", words, all)
				}
				all = append(all, line)
			}
			if _, rest, ok := strings.Cut(all[i], words); ok {
				return rest
			}
		}
	}
}

// TestTheMetricsOfAServer: they are served beside any way to reach it.
func TestTheMetricsOfAServer(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	res, err := http.Get(serving(t, "--metrics", "0")("metrics on "))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(b), "\ntrainmedic_calls_running 0\n") {
		t.Errorf("%v: %s", err, b)
	}
}

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

	said := serving(t, "--http", "0", "--token-file", file)
	page, mcpURL := said("the watches in a browser on "), said("streamable HTTP on ")

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
	chromium.Do(b, t, chromedp.Navigate(page))
	chromium.Do(b, t, chromedp.SendKeys("#token", token+"\r"))
	chromium.Sees(b, t, `document.body.innerText.includes("20 of 100 steps")`)
	grow(21, 30, "nan")
	chromium.Sees(b, t, `document.querySelector("article.bad .open").innerText.includes("nan-inf") && document.body.innerText.includes("30 of 100 steps") && document.title.startsWith("(1)")`)
	chromium.Shot(b, t, "served")
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
