package wandb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/source"
)

// Bounds of what the service is asked and may answer.
const (
	maxAnswer   = 64 << 20
	askTimeout  = 30 * time.Second // for one answer
	maxTries    = 5
	silentTries = 2 // where nothing answers
	firstPause  = time.Second
	longestWait = 30 * time.Second // what the service may ask us to wait at once
)

// client asks W&B's GraphQL API. It backs off where the service is busy, and no
// error of it has the key.
type client struct {
	settings
	http  *http.Client
	pause func(ctx context.Context, d time.Duration) error // waits
	// throttled is how often the service asked us to slow down.
	throttled int
}

func newClient(s settings) *client {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // it would become a GET, and may lead to a page to log in
	return &client{settings: s, http: &http.Client{Timeout: askTimeout, CheckRedirect: stay}, pause: pause}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// errBusy is an answer that a later try may better.
var errBusy = errors.New("the service is busy")

// errSilent is none at all, which each try waits for long.
var errSilent = fmt.Errorf("the network, a proxy, or WANDB_BASE_URL may be wrong, or %w", errBusy)

// graphErrors are what the service found wrong with a query.
type graphErrors []struct {
	Message string `json:"message"`
}

// ask sends a query and reads its data into out. What it fails on is one of the
// sentinels of package source, or a *queryError.
func (c *client) ask(ctx context.Context, query string, vars map[string]any, out any) error {
	body, err := json.Marshal(map[string]any{"query": query, "variables": vars})
	if err != nil {
		return fmt.Errorf("wandb: write the query: %w", err)
	}
	wait := firstPause
	for try := 1; ; try++ {
		asked, err := c.once(ctx, body, out)
		if err == nil || !errors.Is(err, errBusy) || ctx.Err() != nil {
			return err
		}
		if try == maxTries || try == silentTries && errors.Is(err, errSilent) {
			return fmt.Errorf("wandb: %s: %w, after %d tries; try again later: %w", c.host(), err, try, source.ErrUnreachable)
		}
		if err := c.pause(ctx, min(max(wait, asked), longestWait)); err != nil {
			return err
		}
		wait *= 2
	}
}

// once asks once. asked is how long the service wants us to wait.
func (c *client) once(ctx context.Context, body []byte, out any) (asked time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/graphql", bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("wandb: %s is no address of a server: %w", c.base, source.ErrBadTarget)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "trainmedic")
	req.SetBasicAuth("api", c.key)
	res, err := c.http.Do(req)
	if err != nil {
		return 0, c.unreachable(ctx, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil:
		return 0, fmt.Errorf("its answer broke off (%w)", errBusy)
	case len(b) > maxAnswer:
		return 0, fmt.Errorf("wandb: %s: an answer of more than %d MB: %w", c.host(), maxAnswer>>20, source.ErrUnreachable)
	}
	if asked, err := c.status(res, b); err != nil {
		return asked, err
	}
	return 0, c.read(b, out)
}

// unreachable is why there is no answer. The error of net/http has the whole URL,
// which may hold a secret: only what is under it is told.
func (c *client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		if u.Timeout() {
			return fmt.Errorf("no answer within %d s (%w)", int(askTimeout.Seconds()), errSilent)
		}
		err = u.Err
	}
	return fmt.Errorf("wandb: %s: %v; check the network, a proxy (HTTPS_PROXY) and WANDB_BASE_URL: %w", c.host(), c.hide(err.Error()), source.ErrUnreachable)
}

// status judges the status of an answer.
func (c *client) status(res *http.Response, b []byte) (asked time.Duration, err error) {
	switch code := res.StatusCode; {
	case code == http.StatusOK:
		return 0, nil
	case code >= 300 && code < 400:
		to := "elsewhere"
		if u, err := res.Location(); err == nil {
			to = "to " + u.Scheme + "://" + u.Host
		}
		return 0, fmt.Errorf("wandb: %s sends us %s; set WANDB_BASE_URL to the address of the server itself: %w", c.host(), to, source.ErrUnreachable)
	case code == http.StatusUnauthorized:
		return 0, fmt.Errorf("wandb: %s refused the API key of %s; run `wandb login --relogin`, or set WANDB_API_KEY to a valid one: %w", c.host(), c.keyFrom, source.ErrDenied)
	case code == http.StatusForbidden:
		return 0, fmt.Errorf("wandb: %s: the API key of %s may not see this; ask for access to the entity, or use the key of someone who has it: %w", c.host(), c.keyFrom, source.ErrDenied)
	case code == http.StatusNotFound:
		return 0, fmt.Errorf("wandb: %s has no W&B API at %s/graphql; check WANDB_BASE_URL: %w", c.host(), c.base, source.ErrUnreachable)
	case code == http.StatusTooManyRequests:
		c.throttled++
		return retryAfter(res), fmt.Errorf("it throttles our requests, status 429 (%w)", errBusy)
	case code >= 500 || code == http.StatusRequestTimeout:
		return retryAfter(res), fmt.Errorf("it answers with status %d (%w)", code, errBusy)
	}
	var told struct {
		Errors graphErrors `json:"errors"`
	}
	if json.Unmarshal(b, &told) == nil && len(told.Errors) > 0 {
		return 0, &queryError{c.hide(told.Errors[0].Message)}
	}
	return 0, fmt.Errorf("wandb: %s answers with status %d: %w", c.host(), res.StatusCode, source.ErrUnreachable)
}

func retryAfter(res *http.Response) time.Duration {
	n, err := strconv.ParseFloat(res.Header.Get("Retry-After"), 64)
	if err != nil || !(n > 0) {
		return 0
	}
	return time.Duration(min(n, longestWait.Seconds()) * float64(time.Second))
}

// queryError is what the service says is wrong with a query.
type queryError struct{ message string }

// Error implements error.
func (e *queryError) Error() string { return "wandb: the service says: " + e.message }

// read takes the data of an answer.
func (c *client) read(b []byte, out any) error {
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Errors graphErrors     `json:"errors"`
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return fmt.Errorf("wandb: %s does not answer as a W&B server does (no JSON); check WANDB_BASE_URL: %w", c.host(), source.ErrUnreachable)
	}
	if len(answer.Errors) > 0 {
		text := c.hide(answer.Errors[0].Message)
		if low := strings.ToLower(text); strings.Contains(low, "permission") || strings.Contains(low, "access denied") || strings.Contains(low, "forbidden") || strings.Contains(low, "unauthorized") {
			return fmt.Errorf("wandb: %s: %s; use the key of someone who may see the run (now that of %s): %w", c.host(), text, c.keyFrom, source.ErrDenied)
		}
		return &queryError{text}
	}
	if err := json.Unmarshal(answer.Data, out); err != nil {
		return fmt.Errorf("wandb: %s gives an answer of another form than is known: %w", c.host(), source.ErrUnreachable)
	}
	return nil
}

func (c *client) host() string {
	u, err := url.Parse(c.base)
	if err != nil {
		return "the W&B server"
	}
	return u.Host
}

// hide takes the key out of a text, and cuts it.
func (c *client) hide(text string) string {
	text = strings.ReplaceAll(text, c.key, "…")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}
