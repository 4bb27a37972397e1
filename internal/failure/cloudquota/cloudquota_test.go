package cloudquota_test

import (
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

func TestTheWordsOfARefusedTask(t *testing.T) {
	for _, c := range []struct{ text, cause string }{
		{"PERMISSION_DENIED: the caller lacks permission", "missing-role"},
		{"RESOURCE_EXHAUSTED: quota NVIDIA_A100_GPUS", "quota"},
		{"the zone does not have enough resources available", "stockout"},
		{"RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes", ""},
		{"exit code 1", ""},
	} {
		f := failuretest.File(t, "\n")
		f.Pipeline = &run.Pipeline{State: "FAILED", Tasks: []run.Task{{Name: "fit", State: "FAILED", Error: c.text}}}
		got := failuretest.Run(t, report.CloudQuota, "refused-before-start", f)
		if len(got) > 0 != (c.cause != "") || len(got) > 0 && got[0].Cause != c.cause {
			t.Errorf("%q: want cause %q, got %+v", c.text, c.cause, got)
		}
	}
}

func TestAScopeIsNotARole(t *testing.T) {
	f := failuretest.File(t, "google.api_core.exceptions.PermissionDenied: 403 Request had insufficient authentication scopes. [reason: \"ACCESS_TOKEN_SCOPE_INSUFFICIENT\"\n")
	best, cause := 0.0, ""
	for _, e := range f.Events {
		if e.Sign.Class == report.CloudQuota && e.Sign.Weight > best {
			best, cause = e.Sign.Weight, e.Sign.Cause
		}
	}
	if cause != "token-scope" {
		t.Fatalf("want the scope as the cause, got %q", cause)
	}
}

// The body of a refusal may stand on lines of its own: a perimeter or a scope is
// no role.
func TestWhatTheBodyOfARefusalSays(t *testing.T) {
	const denied = "PermissionDeniedError: Error executing an HTTP request: HTTP response code 403 with body '{\n"
	const perimeter = "    \"message\": \"Request is prohibited by organization's policy. vpcServiceControlsUniqueIdentifier: x\",\n"
	const status = "\tstatus = StatusCode.PERMISSION_DENIED\n"
	const scope = "\tdetails = \"Request had insufficient authentication scopes.\"\n"
	for _, c := range []struct {
		cause, log string
		speaks     bool
	}{
		{"policy", denied + "  \"error\": {\n" + perimeter, true},
		{"policy", denied + strings.Repeat("step 1 loss 2\n", 30) + perimeter, false},
		{"policy", denied, false},
		{"token-scope", status + scope, true},
		{"token-scope", status, false},
	} {
		f := failuretest.File(t, c.log)
		for _, cause := range failuretest.Book(t).Class(report.CloudQuota).Causes {
			if cause.Name != c.cause {
				continue
			}
			if strength, _ := cause.When(f); strength > 0.5 != c.speaks {
				t.Errorf("%s: %.80q: strength %.1f", c.cause, c.log, strength)
			}
		}
	}
}
