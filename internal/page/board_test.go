package page_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/trainmedic/trainmedic/internal/chromium"
	"github.com/trainmedic/trainmedic/internal/page"
	"github.com/trainmedic/trainmedic/internal/report"
)

// watched are watches in every state that a board shows.
func watched() []report.Glimpse {
	at := time.Now().Add(-12 * time.Second)
	step := int64(1450)
	var falls []float64
	for i := range 60 {
		falls = append(falls, 0.3+2*math.Exp(-float64(i)/20)+0.05*math.Sin(float64(3*i)))
	}
	disk := report.Anomaly{
		Type: report.AnomalyDiskFilling, Severity: report.High, Step: &step,
		Description: "/ckpt has 61 GB free; a checkpoint takes 42 GB every 500 steps: the one at step 2500 will not fit (in about 52 min). Nothing is lost yet.",
		Ref:         &report.EvidenceRef{File: "train.log", Line: 1812, Text: "saved /ckpt/step-1500 <script>alert(1)</script> (42.1 GB)"},
	}
	return []report.Glimpse{
		{
			ID: "w00f1", Target: "file:/home/ml/runs/llama-3-8b-continued-pretraining/2026-07-14/train.log", State: report.StateRunning, At: at,
			Line: "Step 1450/10000 (14.5%) | loss=0.338 | lr=1e-4 | 142 samples/s",
			Live: report.Live{Step: 1450, Total: 10000, Loss: falls, ETA: &report.Span{Seconds: 4700, Low: 4620, High: 5040}, Open: []report.Anomaly{disk}},
			Events: []report.Event{
				{Kind: report.EventOpened, At: "2026-07-14T05:40:12Z", Text: "Critical nan-inf: loss is NaN from step 900 on"},
				{Kind: report.EventOpened, At: "2026-07-14T06:40:12Z", Text: "High disk-filling: /ckpt has 61 GB free"},
			},
		},
		{ID: "w00f2", Target: "slurm:4711", State: report.StateRunning, At: at, Line: "Step 88/200 (44%) | loss=1.2", Live: report.Live{Step: 88, Total: 200, Loss: falls[:30]}},
		{ID: "w00f3", Target: "wandb:team/vision/ab12cd", State: report.StateRunning, Blind: "wandb: the service does not answer"},
		{ID: "w00f4", Target: "pid:4242", State: report.StateFailed, Decision: report.NoGo, Reason: "the process was ended by signal 9", At: at.Add(-3 * time.Hour), Live: report.Live{Step: -1, Total: -1}},
		{ID: "w00f5", Target: "artifacts:/runs/exp41", State: report.StateSucceeded, Decision: report.Go, Reason: "the log says that training is complete", At: at.Add(-30 * time.Hour), Line: "Step 3000/3000 (100%) | loss=0.21", Live: report.Live{Step: 3000, Total: 3000, Loss: falls}},
		{ID: "w00f6", Target: "user@gpu-node-17.cluster.example.org:/scratch/ml/runs/x", State: report.StateRunning, Resting: true, At: at.Add(-50 * time.Hour), Line: "Step 12"},
	}
}

// TestTheBoardInARealBrowser looks at all watches on a phone and on a desk, by
// day and by night, and sees news come by themselves.
func TestTheBoardInARealBrowser(t *testing.T) {
	var mu sync.Mutex
	all := watched()
	board := &page.Board{Watches: func() []report.Glimpse { mu.Lock(); defer mu.Unlock(); return all }}
	s := httptest.NewServer(board)
	defer s.Close()
	for name, window := range map[string][2]int{"phone": chromium.Phone, "desk": chromium.Desk} {
		ctx := chromium.Start(t, window)
		for _, scheme := range []string{"light", "dark"} {
			chromium.Scheme(ctx, t, scheme)
			chromium.Do(ctx, t, chromedp.Navigate(s.URL))
			chromium.Sees(ctx, t, `document.querySelectorAll("article").length == 6 && document.title.startsWith("(3)")`)
			chromium.Shot(ctx, t, "board-"+name+"-"+scheme)
			if chromium.TooWide(ctx, t) {
				t.Errorf("%s: the board is wider than its window", name)
			}
		}
		if text := chromium.Do(ctx, t, chromedp.Text("main")); !strings.Contains(text, "<script>alert(1)</script>") || !strings.Contains(text, "s ago") {
			t.Errorf("%s: %s", name, text)
		}
	}

	ctx := chromium.Start(t, chromium.Phone)
	chromium.Do(ctx, t, chromedp.Navigate(s.URL))
	chromium.Do(ctx, t, chromedp.Click("#w00f1 summary"))
	mu.Lock()
	all = watched()
	all[1].State, all[1].Decision, all[1].Reason = report.StateFailed, report.NoGo, "the job ended with exit code 1"
	mu.Unlock()
	chromium.Sees(ctx, t, `document.title.startsWith("(4)") && document.body.innerText.includes("exit code 1")`)
	chromium.Sees(ctx, t, `document.getElementById("w00f1").open`)
	chromium.Shot(ctx, t, "board-unfolded")
	s.CloseClientConnections()
	s.Listener.Close()
	chromium.Sees(ctx, t, `document.getElementById("link").innerText.includes("does not answer")`)
}

func TestTheBoardSaysWhenNothingIsNew(t *testing.T) {
	all := watched()
	board := &page.Board{Watches: func() []report.Glimpse { return all }}
	get := func(path, tag string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("If-None-Match", tag)
		w := httptest.NewRecorder()
		board.ServeHTTP(w, r)
		return w
	}
	first := get("/watches", "")
	tag := first.Header().Get("ETag")
	if first.Code != 200 || tag == "" {
		t.Fatal(first.Code)
	}
	if w := get("/watches", tag); w.Code != http.StatusNotModified {
		t.Errorf("the same again: %d", w.Code)
	}
	all = all[1:]
	if w := get("/watches", tag); w.Code != 200 {
		t.Errorf("other watches: %d", w.Code)
	}
	if w := get("/other", ""); w.Code != 404 {
		t.Errorf("another path: %d", w.Code)
	}
	if w := get("/", ""); !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("the policy: %v", w.Header())
	}
}

func TestTheFormForTheToken(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(&page.Board{}).Ask(w, r.Method == http.MethodPost)
	}))
	defer s.Close()
	ctx := chromium.Start(t, chromium.Phone)
	chromium.Do(ctx, t, chromedp.Navigate(s.URL))
	chromium.Do(ctx, t, chromedp.SendKeys("#token", "not the token\r"))
	chromium.Sees(ctx, t, `document.querySelector("[role=alert]")`)
	chromium.Shot(ctx, t, "login")
}
