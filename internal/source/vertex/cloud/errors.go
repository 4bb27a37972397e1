package cloud

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trainmedic/trainmedic/internal/source"
)

// refusal turns the answer of a service into an error that says what to do.
func (c *Client) refusal(r request, err error) error {
	st := status.Convert(err)
	ask, kind := c.advice(r, st)
	return &source.Advice{Err: fmt.Errorf("vertex: %s %s: %s: %s: %w", r.verb, r.name, word(st.Code()), brief(st.Message()), kind), Ask: ask}
}

// word is a code as Google's services and documents write it.
func word(c codes.Code) string {
	switch c {
	case codes.Unauthenticated:
		return "UNAUTHENTICATED"
	case codes.PermissionDenied:
		return "PERMISSION_DENIED"
	case codes.NotFound:
		return "NOT_FOUND"
	case codes.InvalidArgument:
		return "INVALID_ARGUMENT"
	case codes.ResourceExhausted:
		return "RESOURCE_EXHAUSTED"
	case codes.Unavailable:
		return "UNAVAILABLE"
	case codes.DeadlineExceeded:
		return "no answer in time"
	}
	return c.String()
}

// errOdd is an answer that no sentinel of package source stands for.
var errOdd = errors.New("unexpected answer")

// advice is what to run next after an answer, and its kind.
func (c *Client) advice(r request, st *status.Status) (ask string, kind error) {
	logs := strings.Contains(r.verb, "log")
	switch st.Code() {
	case codes.Unauthenticated:
		return "The credentials are expired or revoked. " + askLogin, source.ErrDenied
	case codes.PermissionDenied:
		return c.denied(r.verb, st, logs), source.ErrDenied
	case codes.NotFound:
		return fmt.Sprintf("Check the id, the project (%s) and the region (%s): a job is found only in its own. To list: %s", c.Project, c.Region, c.List(collection(r.verb+r.name))), source.ErrNotFound
	case codes.InvalidArgument:
		return fmt.Sprintf("Check the spelling of the id, the project (%s) and the region (%s). To list: %s", c.Project, c.Region, c.List(collection(r.verb+r.name))), source.ErrNotFound
	case codes.ResourceExhausted:
		return fmt.Sprintf("The quota of requests a minute is used up: try again in a minute, or look at it: gcloud alpha services quota list --service=%s --consumer=projects/%s", service(logs), c.Project), source.ErrUnreachable
	case codes.Unavailable, codes.DeadlineExceeded:
		if strings.Contains(st.Message(), "resolver") || strings.Contains(st.Message(), "no such host") {
			return fmt.Sprintf("%s has no address: check the spelling of the region with --region, or the network.", Host(c.Region)), source.ErrUnreachable
		}
		return "The service or the network did not answer: try again in a minute.", source.ErrUnreachable
	}
	return "Try again; if it stays, look at the job in the Google Cloud console.", errOdd
}

// denied reads which of the many refusals it is.
func (c *Client) denied(verb string, st *status.Status, logs bool) string {
	why := ""
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			why = info.GetReason()
		}
	}
	msg := st.Message()
	switch {
	case why == "SERVICE_DISABLED" || strings.Contains(msg, "has not been used in project") || strings.Contains(msg, "it is disabled"):
		return fmt.Sprintf("The API is disabled in this project, or it is the wrong project: gcloud services enable %s --project=%s", service(logs), c.Project)
	case why == "ACCESS_TOKEN_SCOPE_INSUFFICIENT" || strings.Contains(msg, "insufficient authentication scopes"):
		return "The credentials have too narrow a scope: gcloud auth application-default login --scopes=https://www.googleapis.com/auth/cloud-platform"
	case why == "USER_PROJECT_DENIED" || strings.Contains(msg, "serviceusage.services.use"):
		return fmt.Sprintf("The credentials may not use their quota project: gcloud auth application-default set-quota-project %s", c.Project)
	}
	role := "roles/aiplatform.viewer"
	switch {
	case logs:
		role = "roles/logging.viewer"
	case verb == verbCancel:
		role = "roles/aiplatform.user"
	}
	return fmt.Sprintf("Somebody who may has to grant the role: gcloud projects add-iam-policy-binding %s --member=user:$(gcloud config get-value account) --role=%s", c.Project, role)
}

func service(logs bool) string {
	if logs {
		return "logging.googleapis.com"
	}
	return "aiplatform.googleapis.com"
}

// List is the command that lists the newest jobs of a collection (customJobs or
// pipelineJobs): gcloud has none for pipelines.
func (c *Client) List(collection string) string {
	if collection == "customJobs" {
		return fmt.Sprintf("gcloud ai custom-jobs list --project=%s --region=%s", c.Project, c.Region)
	}
	return fmt.Sprintf(`curl -s -H "Authorization: Bearer $(gcloud auth print-access-token)" "https://%s/v1/%s/pipelineJobs?orderBy=create_time%%20desc&pageSize=10"`, Host(c.Region), c.Parent())
}

// collection is the collection that a name speaks of.
func collection(name string) string {
	if strings.Contains(name, "customJobs") {
		return "customJobs"
	}
	return "pipelineJobs"
}

const maxBrief = 300

// brief is a message of a service on one line, and no longer than one reads.
func brief(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxBrief {
		s = strings.ToValidUTF8(s[:maxBrief], "") + "…"
	}
	return s
}
