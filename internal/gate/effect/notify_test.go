package effect_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/gate/effect"
	"github.com/trainmedic/trainmedic/internal/report"
)

func TestACommandGetsTheEventAndNotItsText(t *testing.T) {
	out := filepath.Join(t.TempDir(), "got")
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a watch that was interrupted
	e := report.Event{Kind: report.EventEnd, Text: "$(touch /tmp/never) `id`"}
	if err := effect.Notify(ctx, "cat > "+out, &e); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(out); err != nil || !strings.Contains(string(b), "$(touch /tmp/never) `id`") {
		t.Errorf("%s, %v", b, err)
	}
	if err := effect.Notify(t.Context(), "echo no >&2; exit 3", &e); err == nil || !strings.Contains(err.Error(), "no") {
		t.Errorf("want what it said, got %v", err)
	}
}
