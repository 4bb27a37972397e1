package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/cli"
	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
)

type doctor struct {
	got  diagnose.Request
	d    *report.Diagnosis
	fail error
}

func (d *doctor) Diagnose(_ context.Context, r diagnose.Request) (*diagnose.Result, error) {
	d.got = r
	if d.fail != nil {
		return nil, d.fail
	}
	return &diagnose.Result{Diagnosis: d.d}, nil
}

var kinds = source.Registry{
	{Scheme: "file", Type: "local-log", Doc: "a local log", Example: "run.log"},
	{Scheme: "traceback", Type: "traceback", Flag: "traceback", Doc: "a pasted error", Example: "--traceback"},
	{Scheme: "pid", Type: "pid", Flag: "--pid", Doc: "a process", Example: "--pid 1"},
}

func run(t *testing.T, d *doctor, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Chdir(t.TempDir())
	var out, err bytes.Buffer
	code = cli.Main(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err}, cli.Deps{Doctor: d, Sources: kinds, Version: "1"})
	return code, out.String(), err.String()
}

func TestTheDecisionIsTheExitStatus(t *testing.T) {
	for decision, want := range map[report.Decision]int{report.Go: 0, report.NoGo: 3, report.Conditional: 3} {
		d := report.NewDiagnosis()
		d.Decision = decision
		if code, _, _ := run(t, &doctor{d: d}, "check", "x.log"); code != want {
			t.Errorf("%s: exit %d, want %d", decision, code, want)
		}
	}
}

func TestAnErrorIsAKindWithAnAsk(t *testing.T) {
	for _, tc := range []struct {
		err  error
		kind report.ErrorKind
		code int
	}{
		{source.ErrNotFound, report.KindNotFound, 1},
		{source.ErrDenied, report.KindDenied, 1},
		{source.ErrUnreachable, report.KindUnreachable, 1},
		{source.ErrNoEvidence, report.KindNoEvidence, 1},
		{context.DeadlineExceeded, report.KindTimeout, 1},
		{context.Canceled, report.KindCancelled, 1},
		{errors.New("something else"), report.KindInternal, 1},
		{source.ErrBadTarget, "", 2},
	} {
		t.Run(tc.err.Error(), func(t *testing.T) {
			code, stdout, stderr := run(t, &doctor{fail: fmt.Errorf("file: open x.log: %w", tc.err)}, "check", "x.log", "--json")
			if code != tc.code || !strings.Contains(stderr, "x.log") {
				t.Errorf("exit %d, want %d; %s", code, tc.code, stderr)
			}
			if tc.code == 2 {
				return
			}
			var e report.ErrorEnvelope
			if err := json.Unmarshal([]byte(stdout), &e); err != nil || e.Error.Kind != tc.kind || e.Error.Ask == "" {
				t.Errorf("envelope %+v, %v", e, err)
			}
		})
	}
}

func TestFlagsBecomeOptions(t *testing.T) {
	d := &doctor{d: report.NewDiagnosis()}
	code, _, stderr := run(t, d, "check", "--last", "200", "x.log", "--target", "label", "--artifacts", "out", "--run-id", "r", "--project", "p", "--task", "regression")
	o := d.got.Options
	if code != 3 || d.got.Target != "x.log" || d.got.RunID != "r" || o.Last != 200 || o.LabelColumn != "label" ||
		o.Artifacts != "out" || o.Project != "p" || o.Region != "" || o.Task != "regression" {
		t.Errorf("exit %d, %+v\n%s", code, d.got, stderr)
	}
}

func TestAKindsFlagIsATarget(t *testing.T) {
	for want, args := range map[string][]string{
		"pid:12": {"check", "--pid", "12"}, "traceback:-": {"check", "--traceback"}, "-": {"check", "-"},
	} {
		d := &doctor{d: report.NewDiagnosis()}
		if code, _, stderr := run(t, d, args...); code != 3 || d.got.Target != want {
			t.Errorf("%v: exit %d, target %q, want %q\n%s", args, code, d.got.Target, want, stderr)
		}
	}
}

func TestSecretsDoNotReachTheReport(t *testing.T) {
	d := report.NewDiagnosis()
	d.RootCause = "login with DB_PASSWORD=hunter22 failed\x1b[2J"
	_, stdout, _ := run(t, &doctor{d: d}, "check", "x.log")
	if strings.Contains(stdout, "hunter22") || strings.Contains(stdout, "\x1b") {
		t.Error(stdout)
	}
}
