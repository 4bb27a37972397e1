package cloud_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/vertex/cloud"
	"github.com/trainmedic/trainmedic/internal/source/vertex/vertextest"
)

func TestACallHasADeadline(t *testing.T) {
	s := vertextest.Start(t)
	t.Setenv(cloud.EndpointEnv, s.Addr)
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	s.Refuse(func(string, int) error { <-done; return nil })
	c := &cloud.Client{Project: "p", Region: "us-central1", Patient: true, Deadline: 50 * time.Millisecond}
	defer c.Close()
	_, _, err := c.Entries(t.Context(), cloud.Query{Filter: `timestamp>="2026-01-02T03:04:05Z"`})
	if !errors.Is(err, source.ErrUnreachable) || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("got %v", err)
	}
}

func TestQuote(t *testing.T) {
	if got := cloud.Quote(`a"b\c`); got != `"a\"b\\c"` {
		t.Errorf("got %s", got)
	}
}
