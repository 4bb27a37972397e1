package cloudquota

import (
	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

// The fixes that several causes share.
var (
	showIdentity = report.Fix{
		Action: "Find out as whom the run really acts (the job's service account or role, not the person who submits it)",
		Risk:   report.Safe, ExpectedImpact: "names the account that needs the right", Validate: "the account equals the one in the message",
		TimeToTrySeconds: 120, Confidence: 0.75, Impact: 0.4, Reversible: true, LeavesCause: true,
	}
	grantRole = report.Fix{
		Action: "Have an administrator give exactly the named account the missing permission on the named resource",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: "the same request passes; the job enters RUNNING",
		TimeToTrySeconds: 900, Confidence: 0.88, Impact: 0.95, Reversible: true,
	}
	askQuota = report.Fix{
		Action: "Ask for a higher limit of the named quota in the named region",
		Risk:   report.NeedsApproval, ExpectedImpact: "removes the failure once granted; that can take days", Validate: "the quota page shows the new limit; the job is provisioned",
		TimeToTrySeconds: 86400, Confidence: 0.75, Impact: 0.95, Reversible: true,
	}
	askLess = report.Fix{
		Action: "Ask for less of what the quota counts (machines, GPUs, disk, processing jobs), or submit in a region where the limit suffices",
		Risk:   report.NeedsApproval, ExpectedImpact: "gets the run going within the limit", Validate: "the job is provisioned and stays RUNNING for 10 minutes",
		TimeToTrySeconds: 900, Confidence: 0.8, Impact: 0.9, Reversible: true,
	}
	waitAndRetry = report.Fix{
		Action: "Submit again unchanged later: capacity comes and goes",
		Risk:   report.Safe, ExpectedImpact: "may get the run going; nobody knows when", Validate: "the job leaves PENDING",
		TimeToTrySeconds: 3600, Confidence: 0.45, Impact: 0.7, Reversible: true, LeavesCause: true, Operation: new("restart"),
	}
	elsewhere = report.Fix{
		Action: "Submit in another zone or region, with another machine type, or with a reservation or a queued request",
		Risk:   report.NeedsApproval, ExpectedImpact: "gets the run going where there is capacity", Validate: "the job is provisioned and stays RUNNING for 10 minutes",
		TimeToTrySeconds: 1200, Confidence: 0.75, Impact: 0.95, Reversible: true,
	}
)

// change is a change of the job or of the project; a person approves it.
func change(action, validate string, seconds int, confidence float64) report.Fix {
	return report.Fix{
		Action: action, Risk: report.NeedsApproval, ExpectedImpact: "removes the failure", Validate: validate,
		TimeToTrySeconds: seconds, Confidence: confidence, Impact: 0.95, Reversible: true,
	}
}

var causes = []failure.Cause{
	{
		Name:   "missing-role",
		Root:   "The account that the run acts as has no right to do this on this resource. The training code is not the reason.",
		Detail: lacks,
		Fixes:  []report.Fix{showIdentity, grantRole},
	},
	{
		Name:  "token-scope",
		Root:  "The access token of the job was issued with too few OAuth scopes, so the request is refused whatever roles the account has. Jobs without a service account of their own run as a service agent whose token is limited.",
		When:  inBody("gcp-scope-insufficient"),
		Fixes: []report.Fix{showIdentity, change("Give the job its own service account (with the roles it needs), or the machine the cloud-platform scope, and submit again", "the refused call passes in the new job", 900, 0.9)},
	},
	{
		Name:   "act-as",
		Root:   "The caller may not use the account or role that the job should run as, or that account does not exist.",
		Detail: standsFor,
		Fixes:  []report.Fix{showIdentity, change("Name an existing account for the job and give the caller the right to act as it (Service Account User, or iam:PassRole), then submit again", "the job is created", 900, 0.9)},
	},
	{
		Name:   "image-access",
		Root:   "The account that pulls the image may not read the registry or repository. For managed services that is the service's own agent, not the person or the job's account.",
		Detail: lacks,
		Fixes:  []report.Fix{showIdentity, change("Give the pulling account (the service agent that the message names) reader rights on the repository, or copy the image into a repository that it may read", "the image is pulled and the container starts", 900, 0.92)},
	},
	{
		Name:  "hub-terms",
		Root:  "The account whose token the run uses has not been granted access to the gated repository. The token itself may be valid: logging in again does not help.",
		Fixes: []report.Fix{showIdentity, change("Have the account of the token accept the terms and be granted access, or use the token of an account that has it", "the config file of the model downloads with this token", 3600, 0.9)},
	},
	{
		Name:  "api-or-billing",
		Root:  "An API that the run needs, or billing, is switched off in the project.",
		Fixes: []report.Fix{change("Have an administrator enable the named API or billing in the project", "the same request passes some minutes later", 900, 0.93), showIdentity},
	},
	{
		Name:  "account-disabled",
		Root:  "The account or subscription itself may not be used for this: it is disabled, not yet verified, or not registered for the service. Roles within it cannot lift that.",
		Fixes: []report.Fix{change("Have the owner of the account lift the state that the message names (payment, verification, registration, key) and submit again", "the same request passes", 86400, 0.85), showIdentity},
	},
	{
		Name:  "write-token",
		Root:  "The token that the run pushes with may read but not write in that namespace, or the storage of the account is used up. What was trained is still on the local disk.",
		Fixes: []report.Fix{showIdentity, change("Use a token with the write role for the namespace (or switch pushing off) and resume from the newest local checkpoint", "the next save is pushed, or the run passes the next save without pushing", 600, 0.9)},
	},
	{
		Name:  "policy",
		Root:  "A policy of the organisation or a service perimeter forbids the request; roles in the project cannot lift it.",
		When:  inBody("gcp-org-policy"),
		Fixes: []report.Fix{change("Have the owners of the policy or perimeter allow the request, or run where the policy does not apply", "the same request passes", 86400, 0.8), showIdentity},
	},
	{
		Name:  "credentials",
		Root:  "The run had no usable credentials: none were found, or they expired while it ran.",
		Fixes: []report.Fix{showIdentity, change("Give the job credentials that last as long as it runs (an attached account or role instead of a personal token)", "the same request passes; no expiry within the job's length", 900, 0.88)},
	},
	{
		Name:   "quota",
		Root:   "A quota or limit of the account, project, namespace or queue does not allow what the run asks for. It is the limit that the message names, which need not be the GPUs.",
		Detail: exceeds,
		Fixes:  []report.Fix{askLess, askQuota},
	},
	{
		Name:   "stockout",
		Root:   "There was no free capacity of the kind that was asked for; quota and permissions are not the reason.",
		Detail: without,
		Fixes:  []report.Fix{waitAndRetry, elsewhere},
	},
}

// sameRefusal is how many lines one refusal may have.
const sameRefusal = 20

// inBody is a refusal whose first line speaks of a permission, and whose body, on
// lines of its own, of what the sign says: no role lifts it.
func inBody(sign string) func(*casefile.File) (float64, []casefile.Evidence) {
	return func(f *casefile.File) (float64, []casefile.Evidence) {
		for _, p := range f.EventsOf(sign) {
			for _, e := range f.Events {
				behind := p.Ref.Line - e.Ref.Line
				if e.Sign.Cause == "missing-role" && e.Stream == p.Stream && behind > 0 && behind <= sameRefusal {
					return 0.8, []casefile.Evidence{p.Cite()}
				}
			}
		}
		return 0, nil
	}
}
