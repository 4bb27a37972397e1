// Package observe tells operators how the server itself does: metrics for
// Prometheus, and traces by OTLP. Both are off until somebody asks for them, and
// neither says which runs are looked at: a tool, how long it took, how it ended.
package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// OK is how a call ended that went well; any other end is the kind of its error.
const OK = "ok"

// Observer notes calls. The zero value notes nothing. The caller closes it.
type Observer struct {
	Watches func() map[string]int // how many there are by state, when somebody asks; nil for none

	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	running  prometheus.Gauge
	tracer   trace.Tracer
	provider *sdk.TracerProvider
}

// Traced reports whether the environment asks for traces, as OpenTelemetry has it:
// an endpoint is named, and nothing switches them off.
func Traced() bool {
	named := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != ""
	return named && !strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") && os.Getenv("OTEL_TRACES_EXPORTER") != "none"
}

// Trace sends a span for each call to the endpoint that the environment names; say
// is told what goes wrong with it.
func (o *Observer) Trace(ctx context.Context, version string, say func(string)) error {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := os.Getenv(name); p != "" && p != "http/protobuf" {
			return fmt.Errorf("observe: %s=%s: only http/protobuf is spoken", name, p)
		}
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return fmt.Errorf("observe: traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "trainmedic"), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		return fmt.Errorf("observe: traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { say("traces: " + err.Error()) }))
	o.provider = sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	o.tracer = o.provider.Tracer("github.com/trainmedic/trainmedic")
	return nil
}

// Measure counts, for Handler to show.
func (o *Observer) Measure() {
	o.registry = prometheus.NewRegistry()
	o.calls = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "trainmedic_calls_total", Help: "Calls of tools, by how they ended: ok or the kind of the error."}, []string{"tool", "end"})
	o.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "trainmedic_call_seconds", Help: "How long calls took; monitor_run and await_approval wait on purpose.", Buckets: []float64{.01, .03, .1, .3, 1, 3, 10, 30, 60, 300, 3600},
	}, []string{"tool"})
	o.running = prometheus.NewGauge(prometheus.GaugeOpts{Name: "trainmedic_calls_running", Help: "Calls that go on now."})
	o.registry.MustRegister(o.calls, o.seconds, o.running, watches{o}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// Handler shows the metrics; Measure has to come first.
func (o *Observer) Handler() http.Handler {
	m := http.NewServeMux()
	m.Handle("GET /metrics", promhttp.HandlerFor(o.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second}))
	return m
}

// Serve shows the metrics on a listener until ctx ends.
func (o *Observer) Serve(ctx context.Context, l net.Listener) error {
	s := &http.Server{Handler: o.Handler(), ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 32 << 10}
	stop := context.AfterFunc(ctx, func() { s.Close() }) //nolint:errcheck // the process ends
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("observe: metrics: %w", err)
	}
	return nil
}

// Call notes a call of a tool, as a child of the caller's span if it named one by
// its traceparent. The caller calls end with how it ended.
func (o *Observer) Call(ctx context.Context, tool, traceparent string) (context.Context, func(end string)) {
	began := time.Now()
	var span trace.Span
	if o.tracer != nil {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
		ctx, span = o.tracer.Start(ctx, "tools/call "+tool, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
			attribute.String("mcp.method.name", "tools/call"), attribute.String("gen_ai.tool.name", tool)))
	}
	if o.registry != nil {
		o.running.Inc()
	}
	return ctx, func(end string) {
		if span != nil {
			if end != OK {
				span.SetAttributes(attribute.String("error.type", end))
				span.SetStatus(codes.Error, end)
			}
			span.End()
		}
		if o.registry != nil {
			o.running.Dec()
			o.calls.WithLabelValues(tool, end).Inc()
			o.seconds.WithLabelValues(tool).Observe(time.Since(began).Seconds())
		}
	}
}

// Close sends what is left to send.
func (o *Observer) Close(ctx context.Context) error {
	if o.provider == nil {
		return nil
	}
	if err := o.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("observe: traces: %w", err)
	}
	return nil
}

// watches counts them when somebody asks.
type watches struct{ o *Observer }

var watchesDesc = prometheus.NewDesc("trainmedic_watches", "Watches by the state of their run.", []string{"state"}, nil)

// Describe implements prometheus.Collector.
func (watches) Describe(c chan<- *prometheus.Desc) { c <- watchesDesc }

// Collect implements prometheus.Collector.
func (w watches) Collect(c chan<- prometheus.Metric) {
	if w.o.Watches == nil {
		return
	}
	for state, n := range w.o.Watches() {
		c <- prometheus.MustNewConstMetric(watchesDesc, prometheus.GaugeValue, float64(n), state)
	}
}
