package cloud

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// request is what a call was about, for its error.
type request struct{ verb, name string }

// call makes one call within its deadline.
func call[T any](ctx context.Context, c *Client, r request, do func(context.Context) (T, error)) (T, error) {
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(c.Deadline, usualDeadline))
	defer cancel()
	out, err := do(bounded)
	if err == nil {
		return out, nil
	}
	var none T
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	return none, c.refusal(r, err)
}

// retry asks a busy service again, a few times and within the call's deadline.
func (c *Client) retry() gax.CallOption {
	if !c.Patient {
		return gax.WithRetry(func() gax.Retryer { return never{} })
	}
	return gax.WithRetry(func() gax.Retryer {
		return &again{pause: gax.Backoff{Initial: 200 * time.Millisecond, Max: 5 * time.Second, Multiplier: 3}}
	})
}

type never struct{}

// Retry implements gax.Retryer.
func (never) Retry(error) (time.Duration, bool) { return 0, false }

type again struct {
	pause gax.Backoff
	asked int
}

// Retry implements gax.Retryer.
func (a *again) Retry(err error) (time.Duration, bool) {
	a.asked++
	busy := status.Code(err) == codes.Unavailable || status.Code(err) == codes.ResourceExhausted
	return a.pause.Pause(), busy && a.asked < attempts
}

// Quote writes a value of a filter.
func Quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
