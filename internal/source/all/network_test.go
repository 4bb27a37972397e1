package all_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/all"
	"github.com/trainmedic/trainmedic/internal/source/vertex/cloud"
)

// peers are hosts that do not answer as one should; each is the address of one.
var peers = map[string]func(t *testing.T) string{
	"refuses": func(t *testing.T) string {
		l := listenTCP(t, nil)
		l.Close()
		return l.Addr().String()
	},
	"resets": func(t *testing.T) string {
		return listenTCP(t, func(c *net.TCPConn) {
			c.SetLinger(0)
			c.Read(make([]byte, 1))
			c.Close()
		}).Addr().String()
	},
	"hangs up": func(t *testing.T) string {
		return listenTCP(t, func(c *net.TCPConn) { c.Close() }).Addr().String()
	},
	"says nothing": func(t *testing.T) string {
		held := make(chan *net.TCPConn, 100)
		t.Cleanup(func() {
			for range len(held) {
				(<-held).Close()
			}
		})
		return listenTCP(t, func(c *net.TCPConn) { held <- c }).Addr().String()
	},
}

func listenTCP(t *testing.T, serve func(*net.TCPConn)) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if serve != nil {
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go serve(c.(*net.TCPConn))
			}
		}()
	}
	return l
}

// TestAHostThatDoesNotAnswer: every kind that asks over a network ends with its
// caller, says who did not answer, and leaves nothing behind.
func TestAHostThatDoesNotAnswer(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("CLOUDSDK_CONFIG", t.TempDir())
	for _, k := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "MLFLOW_TRACKING_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "SSH_AUTH_SOCK"} {
		t.Setenv(k, "")
	}
	before := goleak.IgnoreCurrent()
	for _, target := range []string{"mlflow:0123456789abcdef0123456789abcdef", "wandb:me/proj/abc123", "ssh://me@PEER/x.log", "vertex-training:projects/p/locations/us-central1/customJobs/1"} {
		for how, open := range peers {
			t.Run(strings.SplitN(target, ":", 2)[0]+" "+how, func(t *testing.T) {
				addr := open(t)
				t.Setenv("MLFLOW_TRACKING_URI", "http://"+addr)
				t.Setenv("WANDB_BASE_URL", "http://"+addr)
				t.Setenv("WANDB_API_KEY", strings.Repeat("a", 40))
				t.Setenv(cloud.EndpointEnv, addr)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				began := time.Now()
				err := look(ctx, strings.ReplaceAll(target, "PEER", addr))
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it took %v", took)
				}
				if !errors.Is(err, source.ErrUnreachable) && !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "lookup") {
					t.Errorf("got %v", err)
				}
			})
		}
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// look opens a target and looks at it once.
func look(ctx context.Context, target string) error {
	kind, ref, err := all.Kinds().Resolve(target)
	if err != nil {
		return err
	}
	src, err := kind.Open(ctx, ref, source.Options{})
	if err != nil {
		return err
	}
	defer src.Close()
	_, err = src.Observe(ctx, nil)
	return err
}
