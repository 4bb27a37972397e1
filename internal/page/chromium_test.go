package page_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/trainmedic/trainmedic/internal/chromium"
	"github.com/trainmedic/trainmedic/internal/page"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// lostAt47 is a diagnosis with everything that a report shows, and its metrics.
func lostAt47() (*report.Diagnosis, func(string) *run.Series) {
	d := report.NewDiagnosis()
	step, total, rank, best := int64(47), int64(80), 3, "checkpoint-40.pt"
	saved := int64(40)
	d.Decision, d.Target, d.RunStatus, d.PrimaryCause, d.CauseConfidence = report.NoGo, "runs/exp42", report.Diverged, report.NaNInf, 0.95
	d.Framework, d.Timestamp, d.FailingRank = "pytorch", "2026-07-14T05:40:12Z", &rank
	d.RootCause = "The loss became non-finite after many stable steps: a gradient explosion, or a corrupt batch."
	d.EvidenceRefs = []report.EvidenceRef{{File: "train.log", Line: 49, Step: &step, Role: report.RoleCause, Text: "step 47/80 loss inf grad_norm nan lr 0.0500"}}
	d.Evidence = []string{"train.log:49: step 47/80 loss inf grad_norm nan lr 0.0500"}
	d.FailureContext = report.FailureContext{File: "train.log", FirstLine: 48, Lines: []string{"step 46/80 loss 1.65 grad_norm 0.64 lr 0.0500", "step 47/80 loss inf grad_norm nan lr 0.0500", "step 48/80 loss nan grad_norm nan lr 0.0500 with a very long tail that does not fit on the line of a phone at all"}}
	d.RuledOut = []report.RuledOut{{Class: report.OOM, Why: "no refused allocation was seen"}}
	command := "torchrun train.py --resume checkpoint-40.pt"
	d.Fixes = []report.Fix{{Action: "Resume from the last checkpoint", Risk: report.NeedsApproval, ExpectedImpact: "finite weights", Validate: "200 finite steps", Command: &command}}
	d.NextCommands = []string{"sed -n '29,69p' runs/exp42/train.log"}
	d.LastProgress = report.Progress{Step: &total, TotalSteps: &total}
	d.Checkpoints, d.BestCheckpoint = []report.Checkpoint{{Path: best, Step: &saved}}, &best
	loss := &run.Series{Name: "loss"}
	for i := range 80 {
		v := 3*math.Exp(-float64(i)/30) + 0.1*math.Sin(float64(i))
		if i == 20 {
			v *= 4
		}
		if i >= 47 {
			v = math.Inf(1)
		}
		loss.Add(run.Point{Step: int64(i), Value: v})
	}
	return d, func(name string) *run.Series {
		if name == "loss" {
			return loss
		}
		return nil
	}
}

// TestTheReportInARealBrowser looks at the page as people do: on a phone and on a
// desk, by day and by night.
func TestTheReportInARealBrowser(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		d, series := lostAt47()
		if err := page.Write(w, d, series); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	for name, window := range map[string][2]int{"phone": chromium.Phone, "desk": chromium.Desk} {
		ctx := chromium.Start(t, window)
		for scheme, want := range map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(17, 22, 28)"} {
			chromium.Scheme(ctx, t, scheme)
			chromium.Do(ctx, t, chromedp.Navigate(s.URL))
			chromium.Shot(ctx, t, "report-"+name+"-"+scheme)
			if got := chromium.Do(ctx, t, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`)); got != want {
				t.Errorf("%s, %s: the page is %s", name, scheme, got)
			}
			if chromium.TooWide(ctx, t) {
				t.Errorf("%s: the page is wider than its window", name)
			}
		}
	}
}

// hostPage is a host of MCP Apps as the specification has it: it shows the app in
// a sandbox and gives it the result of a call once it is ready.
const hostPage = `<!doctype html><title>host</title><body style="margin:0">
<iframe id="app" sandbox="allow-scripts" src="/app" style="border:0;width:100%%;height:50px"></iframe>
<script>
const app = document.getElementById("app"), seen = [], result = %s;
addEventListener("message", (e) => {
  const m = e.data, say = (x) => app.contentWindow.postMessage({jsonrpc: "2.0", ...x}, "*");
  seen.push(m.method || "answer " + m.id);
  if (m.method === "ui/initialize") say({id: m.id, result: {protocolVersion: m.params.protocolVersion, hostCapabilities: {}, hostInfo: {name: "t", version: "1"}, hostContext: {theme: "dark"}}});
  if (m.method === "ui/notifications/initialized") {
    say({method: "ui/notifications/tool-input", params: {arguments: {target: "runs/exp42"}}});
    say({method: "ui/notifications/tool-result", params: result});
  }
  if (m.method === "ui/notifications/size-changed") app.style.height = m.params.height + "px";
  if (m.method === "ui/notifications/size-changed" && m.params.height > 300 && !seen.includes("goodbye")) { seen.push("goodbye"); say({id: 7, method: "ui/resource-teardown", params: {reason: "end"}}); }
});
</script>`

// TestTheAppInsideAHost: the app shakes hands, shows the report that a result
// brings along, or its words, in the host's colours, and tells its height.
func TestTheAppInsideAHost(t *testing.T) {
	d, series := lostAt47()
	html, err := page.Report(d, series)
	if err != nil {
		t.Fatal(err)
	}
	app, err := page.App()
	if err != nil {
		t.Fatal(err)
	}
	ctx := chromium.Start(t, chromium.Desk)
	for name, result := range map[string]map[string]any{
		"report": {"structuredContent": d, "content": []any{}, "_meta": map[string]any{page.ReportKey: html}},
		"words":  {"structuredContent": d, "content": []any{}},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				if r.URL.Path == "/app" { // the strictest policy that the specification lets a host set
					w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'none'")
					fmt.Fprint(w, app)
					return
				}
				fmt.Fprintf(w, hostPage, b)
			}))
			defer s.Close()
			chromium.Do(ctx, t, chromedp.Navigate(s.URL))
			chromium.Sees(ctx, t, `seen.includes("answer 7")`)
			chromium.Shot(ctx, t, "app-"+name)
			if h := chromium.Do(ctx, t, chromedp.Evaluate[int](`parseInt(app.style.height)`)); h < 300 {
				t.Errorf("the app says that it is %d pixels high", h)
			}
		})
	}
}
