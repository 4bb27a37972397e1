package wandb

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/source"
)

const testKey = "local-0123456789abcdef0123456789abcdef01234567"

// server is a W&B server as far as the source asks it: the documented schema,
// with rows [0, steps) of which those that every divides exist.
type server struct {
	mu    sync.Mutex
	run   map[string]any // fields of the run; nil: there is none
	steps int64
	every int64
	value func(step int64) float64 // the loss
	lines []string
	old   bool // knows no pages of console lines

	asked  map[string]int // queries by their name
	before func(w http.ResponseWriter, r *http.Request) bool
}

func newServer(steps int64) *server {
	return &server{
		steps: steps, every: 1, value: func(step int64) float64 { return 5 / math.Sqrt(float64(step+1)) }, asked: map[string]int{},
		run: map[string]any{
			"name": "abc", "displayName": "lively-fog", "state": "finished", "createdAt": "2026-03-01T10:00:00", "heartbeatAt": "2026-03-01T12:00:00",
			"host": "gpu-7", "config": `{"lr": {"value": 0.001, "desc": null}, "_wandb": {"value": {}}}`, "systemMetrics": `{"system.gpu.0.gpu": 97.5, "system.cpu": 12}`,
		},
	}
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	var q struct {
		Query     string
		Variables map[string]any
	}
	if err := json.Unmarshal(body, &q); err != nil || r.URL.Path != "/graphql" {
		http.Error(w, "no such page", http.StatusNotFound)
		return
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(q.Query, "query "), "(")
	name = strings.Fields(name)[0]
	s.asked[name]++
	if s.before != nil && s.before(w, r) {
		return
	}
	if user, key, _ := r.BasicAuth(); user != "api" || key != testKey {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var run map[string]any
	switch num := func(k string) int64 { f, _ := q.Variables[k].(float64); return int64(f) }; name {
	case "Viewer":
		answer(w, map[string]any{"viewer": map[string]any{"entity": "acme"}})
		return
	case "Run":
		if run = s.run; run != nil {
			rows := (s.steps + s.every - 1) / s.every
			last := (rows - 1) * s.every
			run["historyLineCount"], run["historyKeys"] = rows, map[string]any{"lastStep": last}
			run["summaryMetrics"], run["logLineCount"] = fmt.Sprintf(`{"_step": %d}`, last), len(s.lines)
		}
	case "History":
		run = map[string]any{"history": s.history(num("min"), num("max"), num("rows"))}
	case "Console":
		if s.old {
			answerErrors(w, `Unknown argument "useImprovedPagination" on field "logLines" of type "Run".`)
			return
		}
		from, _ := strconv.Atoi(fmt.Sprint(q.Variables["after"]))
		to := min(from+int(num("first")), len(s.lines))
		run = map[string]any{"logLines": map[string]any{
			"edges": s.edges(from, to), "pageInfo": map[string]any{"hasNextPage": to < len(s.lines), "endCursor": strconv.Itoa(to)},
		}}
	case "ConsoleTail":
		run = map[string]any{"logLines": map[string]any{"edges": s.edges(max(0, len(s.lines)-int(num("last"))), len(s.lines))}}
	}
	if v := q.Variables; v["entity"] != "acme" || v["project"] != "vision" {
		answer(w, map[string]any{"project": nil})
		return
	}
	if s.run == nil || q.Variables["run"] != "abc" {
		run = nil
	}
	answer(w, map[string]any{"project": map[string]any{"run": run}})
}

// history are the rows of [from, to), a sample where there are more than limit.
func (s *server) history(from, to, limit int64) (out []string) {
	first := (from + s.every - 1) / s.every
	last := (min(to, s.steps) + s.every - 1) / s.every
	stride := max(1, (last-first+limit-1)/max(limit, 1))
	for i := first; i < last; i += stride {
		step := i * s.every
		loss, _ := json.Marshal(s.value(step))
		if len(loss) == 0 {
			loss = []byte("NaN")
		}
		out = append(out, fmt.Sprintf(`{"_step": %d, "_timestamp": %d, "train/loss": %s, "images": {"_type": "image-file"}}`, step, 1772359200+step, loss))
	}
	return out
}

func (s *server) edges(from, to int) []any {
	out := []any{}
	for i := from; i < to; i++ {
		out = append(out, map[string]any{"node": map[string]any{"number": i, "line": s.lines[i]}})
	}
	return out
}

func answer(w http.ResponseWriter, data any) {
	json.NewEncoder(w).Encode(map[string]any{"data": data})
}

func answerErrors(w http.ResponseWriter, message string) {
	json.NewEncoder(w).Encode(map[string]any{"errors": []any{map[string]any{"message": message}}})
}

// serve starts the server and opens the run of it; pauses has how long the client
// would have waited.
func serve(t *testing.T, s *server, opt source.Options) (src *service, pauses *[]time.Duration) {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	t.Setenv("WANDB_BASE_URL", h.URL)
	t.Setenv("WANDB_API_KEY", testKey)
	opened, err := Kind(nil).Open(t.Context(), "acme/vision/abc", opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	src, pauses = opened.(*service), new([]time.Duration)
	src.pause = func(ctx context.Context, d time.Duration) error {
		*pauses = append(*pauses, d)
		return ctx.Err()
	}
	return src, pauses
}
