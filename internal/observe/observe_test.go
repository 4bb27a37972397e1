package observe_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/trainmedic/trainmedic/internal/observe"
)

// TestPrometheusReadsTheMetrics has the format's own parser read what is served.
func TestPrometheusReadsTheMetrics(t *testing.T) {
	o := &observe.Observer{Watches: func() map[string]int { return map[string]int{"RUNNING": 3, "FAILED": 1} }}
	o.Measure()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- o.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for _, end := range []string{observe.OK, observe.OK, "not-found"} {
		_, note := o.Call(t.Context(), "check_failed_run", "")
		note(end)
	}
	_, _ = o.Call(t.Context(), "monitor_run", "") // goes on

	res, err := http.Get("http://" + l.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			key := name
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			got[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	want := map[string]float64{
		"trainmedic_calls_total ok check_failed_run": 2, "trainmedic_calls_total not-found check_failed_run": 1, "trainmedic_call_seconds check_failed_run": 3,
		"trainmedic_calls_running": 1, "trainmedic_watches RUNNING": 3, "trainmedic_watches FAILED": 1,
	}
	for key, v := range want {
		if got[key] != v {
			t.Errorf("%s: want %v, got %v", key, v, got[key])
		}
	}
	if got["go_goroutines"] == 0 {
		t.Error("nothing of the process itself")
	}
}

// TestSpansReachTheCollector sends real OTLP to a server that reads it.
func TestSpansReachTheCollector(t *testing.T) {
	asked := make(chan *collector.ExportTraceServiceRequest, 8)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
			z, zerr := gzip.NewReader(bytes.NewReader(b))
			if zerr != nil {
				t.Error(zerr)
				return
			}
			b, err = io.ReadAll(z)
		}
		var v collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(b, &v)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
			return
		}
		asked <- &v
	}))
	defer s.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	t.Setenv("OTEL_SERVICE_NAME", "lab")
	if !observe.Traced() {
		t.Fatal("an endpoint asks for traces")
	}
	o := &observe.Observer{}
	if err := o.Trace(t.Context(), "1.2.3", func(line string) { t.Error(line) }); err != nil {
		t.Fatal(err)
	}
	const parent = "4bf92f3577b34da6a3ce929d0e0e4736"
	_, end := o.Call(t.Context(), "check_failed_run", "00-"+parent+"-00f067aa0ba902b7-01")
	end("not-found")
	_, end = o.Call(t.Context(), "tail_log", "nonsense")
	end(observe.OK)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := o.Close(ctx); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	rs := (<-asked).GetResourceSpans()[0]
	for _, a := range rs.GetResource().GetAttributes() {
		got[a.GetKey()] = a.GetValue().GetStringValue()
	}
	for _, span := range rs.GetScopeSpans()[0].GetSpans() {
		got[span.GetName()] = span.GetStatus().GetMessage()
		if in := hex.EncodeToString(span.GetTraceId()) == parent; in != (span.GetName() == "tools/call check_failed_run") {
			t.Errorf("%s is in the trace of the caller: %v", span.GetName(), in)
		}
	}
	want := map[string]string{"service.name": "lab", "service.version": "1.2.3", "tools/call check_failed_run": "not-found", "tools/call tail_log": ""}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestNothingIsToldUnlessAsked(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"nothing":      {},
		"switched off": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		"no exporter":  {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range env {
				t.Setenv(k, v)
			}
			if observe.Traced() {
				t.Error("traces are sent")
			}
		})
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if err := (&observe.Observer{}).Trace(t.Context(), "1", func(string) {}); err == nil {
		t.Error("a protocol that is not spoken is taken")
	}
	ctx, end := (&observe.Observer{}).Call(t.Context(), "tail_log", "")
	end(observe.OK)
	if ctx != t.Context() {
		t.Error("the zero value does something")
	}
}
