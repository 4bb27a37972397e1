package diagnose

import (
	"fmt"
	"regexp"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
)

// vertexName is the full name of a job of Vertex AI.
var vertexName = regexp.MustCompile(`^projects/([\w:.-]+)/locations/([\w-]+)/(pipelineJobs|customJobs)/([\w.-]+)$`)

// jobCommands show a job of Vertex AI, the job behind its first failed task, and
// that one's log. For pipelines gcloud has no command.
func jobCommands(p *run.Pipeline) []string {
	if p == nil {
		return nil
	}
	m := vertexName.FindStringSubmatch(p.Resource)
	if m == nil {
		return nil
	}
	project, region, job := m[1], m[2], m[4]
	var out []string
	if m[3] == "pipelineJobs" {
		out = append(out, fmt.Sprintf(`curl -s -H "Authorization: Bearer $(gcloud auth print-access-token)" https://%s-aiplatform.googleapis.com/v1/%s`, region, p.Resource))
		job = ""
		for _, t := range p.Failed() {
			if b := vertexName.FindStringSubmatch(t.Job); b != nil {
				job = b[4]
				break
			}
		}
	}
	logged := fmt.Sprintf(`resource.type="aiplatform.googleapis.com/PipelineJob" AND resource.labels.pipeline_job_id="%s"`, m[4])
	if job != "" {
		out = append(out, fmt.Sprintf("gcloud ai custom-jobs describe %s --project=%s --region=%s", job, project, region))
		logged = fmt.Sprintf(`resource.type="ml_job" AND resource.labels.job_id="%s"`, job)
	}
	if !p.Start.IsZero() { // without a time gcloud looks back one day
		logged += fmt.Sprintf(` AND timestamp>="%s"`, p.Start.Add(-time.Hour).UTC().Format(time.RFC3339))
	}
	return append(out, fmt.Sprintf("gcloud logging read '%s' --project=%s --limit=200", logged, project))
}
