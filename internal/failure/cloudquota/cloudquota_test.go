package cloudquota_test

import (
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
