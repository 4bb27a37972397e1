package tools_test

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/transport"
	"github.com/trainmedic/trainmedic/tools"
)

// TestSessionsComeAndGo: clients of every kind call, are gone in the middle of a
// call, and close or do not. The server holds no more than before.
func TestSessionsComeAndGo(t *testing.T) {
	n := listen(t, newServer(t, tools.Config{}), transport.Network{})
	log := trainLog(t, 300)
	held := func() (goroutines, files int) {
		runtime.GC()
		all, _ := os.ReadDir("/proc/self/fd") // 0 where there is none
		return runtime.NumGoroutine(), len(all)
	}
	visit := func(way string, at int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := connect(t, n, way, nil)
		if _, err := c.CallTool(ctx, request("classify_failure", map[string]any{"target": log})); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		if at%2 == 0 { // it goes in the middle of a call
			time.AfterFunc(time.Millisecond, cancel)
			c.CallTool(ctx, request("check_failed_run", map[string]any{"target": log}))
		}
		c.Close()
	}
	for _, way := range allWays {
		visit(way, 0)
	}
	goroutines, files := held()
	for i := range 40 {
		for _, way := range allWays {
			visit(way, i)
		}
	}
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if g, f := held(); g <= goroutines+8 && f <= files+8 { // idle connections of the test's own clients
			return
		}
	}
	g, f := held()
	t.Errorf("%d goroutines and %d files, after 120 clients %d and %d", goroutines, files, g, f)
}
