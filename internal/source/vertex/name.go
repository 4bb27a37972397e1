package vertex

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/source"
)

// The collections of resources that the kinds look at.
const (
	pipelineJobs = "pipelineJobs"
	customJobs   = "customJobs"
)

// flagOf is the flag that a collection is given with.
var flagOf = map[string]string{pipelineJobs: "--vertex-pipeline", customJobs: "--vertex-training"}

// name is what a target says of its job; what it does not say is empty.
type name struct {
	project, region string
	collection      string // "" of a bare id or display name
	id              string // the last part of the full name, or what may be a display name
}

var (
	fullName = regexp.MustCompile(`(?:^|/)projects/([^/]+)/locations/([^/]+)/([A-Za-z]+)/([^/?#]+)$`)
	runsPath = regexp.MustCompile(`^/vertex-ai/pipelines/locations/([^/]+)/runs/([^/]+)`)
	jobPath  = regexp.MustCompile(`^/vertex-ai/(?:locations/([^/]+)/)?training/(?:custom-jobs/)?(?:locations/([^/]+)/)?(\d+)`)
	jobInLog = regexp.MustCompile(`ml_job/job_id/(\d+)|resource\.labels\.job_id="?(\d+)`)
	runInLog = regexp.MustCompile(`pipeline_job_id="?([\w-]+)`)
)

// parse reads a full resource name, the address of the API, a URL of the console
// or of its log viewer, or takes the ref for a bare id or a display name.
func parse(ref string) (name, error) {
	ref = strings.TrimSpace(ref)
	if ref == "" || len(ref) > 2000 || strings.ContainsAny(ref, "\n\x00") {
		return name{}, fmt.Errorf("vertex: %.60q names no job: %w", ref, source.ErrBadTarget)
	}
	if u, err := url.Parse(ref); err == nil && strings.HasPrefix(u.Host, "console.") {
		return console(ref, u)
	}
	if m := fullName.FindStringSubmatch(ref); m != nil {
		return name{project: m[1], region: m[2], collection: m[3], id: m[4]}, nil
	}
	if strings.HasPrefix(ref, "projects/") || strings.Contains(ref, "://") {
		return name{}, fmt.Errorf("vertex: %.200q is no name of a job; one is projects/PROJECT/locations/REGION/pipelineJobs/ID or …/customJobs/ID: %w", ref, source.ErrBadTarget)
	}
	return name{id: ref}, nil
}

// console reads a URL of Google's console.
func console(ref string, u *url.URL) (name, error) {
	n := name{project: u.Query().Get("project")}
	whole, err := url.QueryUnescape(ref)
	if err != nil {
		whole = ref
	}
	switch {
	case runsPath.MatchString(u.Path):
		m := runsPath.FindStringSubmatch(u.Path)
		n.region, n.collection, n.id = m[1], pipelineJobs, m[2]
	case jobPath.MatchString(u.Path):
		m := jobPath.FindStringSubmatch(u.Path)
		n.region, n.collection, n.id = m[1]+m[2], customJobs, m[3]
	case jobInLog.MatchString(whole):
		m := jobInLog.FindStringSubmatch(whole)
		n.collection, n.id = customJobs, m[1]+m[2]
	case runInLog.MatchString(whole):
		n.collection, n.id = pipelineJobs, runInLog.FindStringSubmatch(whole)[1]
	default:
		return name{}, fmt.Errorf("vertex: %.200q is no page of a pipeline run or a custom job; give the job's id: %w", ref, source.ErrBadTarget)
	}
	return n, nil
}

// fits refuses a job of another kind than the flag's.
func (n name) fits(collection string) error {
	switch n.collection {
	case "", collection:
		return nil
	case pipelineJobs, customJobs:
		return fmt.Errorf("vertex: %s is one of %s: give it with %s: %w", n.id, n.collection, flagOf[n.collection], source.ErrBadTarget)
	}
	return fmt.Errorf("vertex: %s is one of %s, which are not looked at; give the custom job or the pipeline job behind it: %w", n.id, n.collection, source.ErrBadTarget)
}

var digits = regexp.MustCompile(`^\d+$`)

// mayBeID reports whether a bare ref can be the id of a job: those of custom jobs
// are numbers, those of pipelines are their own user's.
func (n name) mayBeID(collection string) bool {
	if collection == customJobs {
		return digits.MatchString(n.id)
	}
	return pipelineID.MatchString(n.id)
}

var pipelineID = regexp.MustCompile(`^[a-z0-9][-a-z0-9]{0,127}$`)

// claims reports whether a bare target is a full name or a console URL of a
// collection.
func claims(collection string) func(string) bool {
	return func(target string) bool {
		if !strings.Contains(target, "projects/") && !strings.Contains(target, "://console.") {
			return false
		}
		n, err := parse(target)
		return err == nil && n.collection == collection
	}
}
