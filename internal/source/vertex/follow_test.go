package vertex_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	lpb "cloud.google.com/go/logging/apiv2/loggingpb"
	"github.com/google/go-cmp/cmp"
	mrpb "google.golang.org/genproto/googleapis/api/monitoredres"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/vertex"
)

// received is an entry that came later than it says.
func received(job string, at, received time.Time, text string) string {
	return fmt.Sprintf(`{"insertId":%q,"timestamp":%q,"receiveTimestamp":%q,"textPayload":%q,"resource":{"type":"ml_job","labels":{"job_id":%q,"task_name":"workerpool0-0"}}}`+"\n",
		"i"+text, at.Format(time.RFC3339Nano), received.Format(time.RFC3339Nano), text, job)
}

func TestNoLineTwiceAndNoneLost(t *testing.T) {
	s := serve(t, customJob("1", "x", "RUNNING"))
	src := open(t, vertex.Training(nil), "1", source.Options{Watch: true})
	at := func(sec int) time.Time { return begun.Add(time.Duration(sec) * time.Second) }
	looks := []struct {
		name, lines, want string
	}{
		{"nothing yet", "", ""},
		{"the first lines", received("1", at(1), at(1), "one") + received("1", at(2), at(2), "two"), "one two"},
		{"nothing new", "", ""},
		{"of one moment with the last", received("1", at(2), at(2), "also two"), "also two"},
		{"a line that says it is old", received("1", at(1), at(40), "late"), "late"},
		{"in order again", received("1", at(50), at(51), "b") + received("1", at(49), at(51), "a"), "a b"},
		{"received before what is known, visible after it", received("1", at(45), at(48), "slow"), "slow"},
		{"nothing at all", "", ""},
	}
	var since run.Cursor
	var offset int64
	for _, l := range looks {
		write(t, s, l.lines)
		o := observe(t, src, since)
		since = o.Next
		got := ""
		for f := range strings.Lines(logs(t, o)) {
			got += strings.TrimSuffix(strings.TrimPrefix(f, "workerpool0-0.log: "), "\n") + " "
		}
		if diff := cmp.Diff(l.want, strings.TrimSpace(got)); diff != "" {
			t.Errorf("%s: %s", l.name, diff)
		}
		for _, st := range o.Streams {
			if st.Kind == "log" {
				if st.Offset != offset {
					t.Errorf("%s: the new bytes begin at %d, want %d", l.name, st.Offset, offset)
				}
				offset += st.Size
			}
		}
		if calls := s.Calls(); len(calls) != 2 {
			t.Errorf("%s: calls %v", l.name, calls)
		}
	}
}

func TestALogThatCannotBeReadIsReadLater(t *testing.T) {
	s := serve(t, customJob("1", "x", "RUNNING"))
	src := open(t, vertex.Training(nil), "1", source.Options{Watch: true})
	write(t, s, received("1", begun, begun, "one"))
	o := observe(t, src, nil)
	s.Calls()
	write(t, s, received("1", begun.Add(time.Second), begun.Add(time.Second), "two"))
	for _, code := range []codes.Code{codes.ResourceExhausted, codes.PermissionDenied} {
		s.Refuse(func(method string, _ int) error {
			if method == "ListLogEntries" {
				return status.Error(code, "no")
			}
			return nil
		})
		o = observe(t, src, o.Next)
		if len(o.Gaps) != 1 || o.Gaps[0].What != "the log" || logs(t, o) != "" {
			t.Errorf("%s: %+v", code, o.Gaps)
		}
		if calls := s.Calls(); len(calls) != 2 {
			t.Errorf("a watch asks again at once: %v", calls)
		}
	}
	if ask := o.Gaps[0].Ask; !strings.Contains(ask, "roles/logging.viewer") {
		t.Errorf("asks for %s", ask)
	}
	s.Refuse(nil)
	if diff := cmp.Diff("workerpool0-0.log: two\n", logs(t, observe(t, src, o.Next))); diff != "" {
		t.Error(diff)
	}
}

// An error between two pages: what was read counts, and the rest comes later.
func TestAPageThatIsNotAnswered(t *testing.T) {
	s := serve(t, customJob("1", "x", "RUNNING"))
	src := open(t, vertex.Training(nil), "1", source.Options{Watch: true})
	o := observe(t, src, nil)
	write(t, s, received("1", begun, begun, "first"))
	o = observe(t, src, o.Next)
	var b strings.Builder
	for i := range 1500 {
		at := begun.Add(time.Duration(i+1) * 100 * time.Millisecond)
		b.WriteString(received("1", at, at, fmt.Sprint("line ", i)))
	}
	write(t, s, b.String())
	pages := 0
	s.Refuse(func(method string, _ int) error {
		if method == "ListLogEntries" {
			if pages++; pages == 2 {
				return status.Error(codes.Unavailable, "no")
			}
		}
		return nil
	})
	o = observe(t, src, o.Next)
	text := logs(t, o)
	o = observe(t, src, o.Next)
	text += logs(t, o)
	if n := strings.Count(text, "\n"); n != 1500 {
		t.Errorf("%d lines, want 1500", n)
	}
	if got := logs(t, observe(t, src, o.Next)); got != "" {
		t.Errorf("again: %s", got)
	}
}

func TestATaskThatBeginsIsFollowed(t *testing.T) {
	s := serve(t, pipeline("run-1", "RUNNING", "a RUNNING 1", "b PENDING"))
	src := open(t, vertex.Pipeline(nil), "run-1", source.Options{Watch: true})
	write(t, s, received("1", begun, begun, "a works"))
	o := observe(t, src, nil)
	if diff := cmp.Diff("a/workerpool0-0.log: a works\n", logs(t, o)); diff != "" {
		t.Error(diff)
	}
	if err := s.Put(pipeline("run-1", "RUNNING", "a SUCCEEDED 1", "b RUNNING 2")); err != nil {
		t.Fatal(err)
	}
	write(t, s, received("1", begun, begun.Add(time.Minute), "a is done"), received("2", begun.Add(time.Second), begun.Add(-time.Hour), "b works"))
	o = observe(t, src, o.Next)
	if diff := cmp.Diff("a/workerpool0-0.log: a is done\nb/workerpool0-0.log: b works\n", logs(t, o)); diff != "" {
		t.Error(diff)
	}
	if got := logs(t, observe(t, src, o.Next)); got != "" {
		t.Errorf("again: %s", got)
	}
}

func TestTheLastLinesOnly(t *testing.T) {
	s := serve(t, customJob("1", "x", "FAILED"))
	for i := range 2500 {
		write(t, s, received("1", begun.Add(time.Duration(i)*time.Second), begun, fmt.Sprint("line ", i)))
	}
	o := observe(t, open(t, vertex.Training(nil), "1", source.Options{Last: 1200}), nil)
	text := logs(t, o)
	if n := strings.Count(text, "\n"); n != 1200 || !strings.HasSuffix(text, "line 2499\n") {
		t.Errorf("%d lines, the last are %q", n, text[len(text)-60:])
	}
	if calls := s.Calls(); len(calls) != 3 {
		t.Errorf("calls %v", calls)
	}
}

// long is a made up log of a million lines with a failure in its middle.
type long struct{ n, failsAt int }

func (l long) Len() int { return l.n }

func (l long) Time(i int) time.Time { return begun.Add(time.Duration(i) * 30 * time.Millisecond) }

func (l long) Entry(i int) *lpb.LogEntry {
	text := fmt.Sprintf("step %d/%d | loss 0.5 | lr 1e-4", i+1, l.n)
	switch i - l.failsAt {
	case 0:
		text = "Traceback (most recent call last):"
	case 1:
		text = `  File "train.py", line 7, in <module>`
	case 2:
		text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.00 GiB is free."
	}
	if i > l.failsAt+2 {
		text = fmt.Sprintf("rank 1 waits for a message, %d s", i)
	}
	at := timestamppb.New(l.Time(i))
	return &lpb.LogEntry{
		InsertId: fmt.Sprintf("i%07d", i), Timestamp: at, ReceiveTimestamp: at, Payload: &lpb.LogEntry_TextPayload{TextPayload: text},
		Resource: &mrpb.MonitoredResource{Type: "ml_job", Labels: map[string]string{"job_id": "1", "task_name": "workerpool0-0"}},
	}
}

// Plain says which lines no search finds.
func (l long) Plain(i int) bool { return i < l.failsAt || i > l.failsAt+2 }

// A million lines: the calls and the memory are bounded, and a failure far from
// both ends is found with its traceback.
func TestAMillionLines(t *testing.T) {
	const lines = 1_000_000
	s := serve(t, customJob("1", "x", "FAILED"))
	s.SetLog(long{lines, lines * 6 / 10})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	o := observe(t, open(t, vertex.Training(nil), "1", source.Options{}), nil)
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	text := logs(t, o)
	for _, want := range []string{"step 1/", "Traceback (most recent call last)", `File "train.py", line 7`, "CUDA out of memory", fmt.Sprint("a message, ", lines-1, " s")} {
		if !strings.Contains(text, want) {
			t.Errorf("%q was not seen", want)
		}
	}
	calls, held := s.Calls(), (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>20
	t.Logf("%d lines: %d were read in %d calls and %s; %d MB held", lines, strings.Count(text, "\n"), len(calls), took.Round(time.Millisecond), held)
	if len(calls) > 10 || held > 64 {
		t.Errorf("%d calls, %d MB", len(calls), held)
	}
	if len(o.Gaps) != 1 || !strings.Contains(o.Gaps[0].Ask, "gcloud logging read") {
		t.Errorf("gaps %+v", o.Gaps)
	}
}

// A watch that falls behind reads the newest lines and says what it passed over.
func TestMoreLinesThanOneLookReads(t *testing.T) {
	s := serve(t, customJob("1", "x", "RUNNING"))
	src := open(t, vertex.Training(nil), "1", source.Options{Watch: true})
	s.SetLog(long{10, 1 << 30})
	o := observe(t, src, nil)
	s.Calls()
	s.SetLog(long{20_000, 1 << 30})
	o = observe(t, src, o.Next)
	text := logs(t, o)
	if !strings.HasPrefix(text, "workerpool0-0.log: step 11/") || !strings.Contains(text, "step 20000/") || strings.Count(text, "\n") != 4990 {
		t.Errorf("%d lines: %.60q", strings.Count(text, "\n"), text)
	}
	if len(o.Gaps) != 1 || len(s.Calls()) > 6 {
		t.Errorf("gaps %+v", o.Gaps)
	}
	if got := logs(t, observe(t, src, o.Next)); got != "" {
		t.Errorf("again: %.200s", got)
	}
}
