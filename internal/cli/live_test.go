package cli

import (
	"math"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/trainmedic/trainmedic/internal/report"
)

func TestTheViewShowsProgressLossAndWhatIsOpen(t *testing.T) {
	stopped := false
	var m tea.Model = view{width: 80, stop: func() { stopped = true }}
	u := &report.Update{Lines: []string{"[10:03:01] Step 30/60 (50%) | loss=0.3", "  ETA: ~3m | next poll in 30s"}}
	u.Live = report.Live{Step: 30, Total: 60, Loss: []float64{8, 4, 2, math.NaN(), 1}, Open: []report.Anomaly{{Type: report.AnomalyNaNInf, Severity: report.Blocker, Description: "loss is NaN"}}}
	m, _ = m.Update(u)
	got := ansi.Strip(m.(view).text())
	for _, want := range []string{"Step 30/60 (50%)", "ETA: ~3m", strings.Repeat("█", 30) + strings.Repeat("░", 30), "loss █▄▂?▁", "nan-inf (Critical): loss is NaN"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if m.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}); !stopped {
		t.Error("Ctrl-C does not end the watch")
	}
	if s := sparkline([]float64{math.NaN()}); s != "" {
		t.Errorf("no finite loss: %q", s)
	}
}
