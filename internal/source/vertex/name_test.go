package vertex

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/source"
)

func TestNames(t *testing.T) {
	for ref, want := range map[string]string{
		"projects/p/locations/us-central1/pipelineJobs/train-2026":                                                                      "p us-central1 pipelineJobs train-2026",
		"//aiplatform.googleapis.com/projects/1/locations/r/customJobs/456":                                                             "1 r customJobs 456",
		"https://europe-west4-aiplatform.googleapis.com/v1/projects/1/locations/europe-west4/customJobs/456":                            "1 europe-west4 customJobs 456",
		"https://console.cloud.google.com/vertex-ai/pipelines/locations/us-central1/runs/train-2026?project=p":                          "p us-central1 pipelineJobs train-2026",
		"https://console.cloud.google.com/vertex-ai/locations/us-central1/training/456/cpu?project=p":                                   "p us-central1 customJobs 456",
		"https://console.cloud.google.com/logs/viewer?project=66&resource=ml_job%2Fjob_id%2F881&advancedFilter=resource.type%3D%22x%22": "66  customJobs 881",
		"https://console.cloud.google.com/logs/query;query=resource.labels.pipeline_job_id%3D%22train-2026%22?project=p":                "p  pipelineJobs train-2026",
		"456":               "   456",
		" My Training Run ": "   My Training Run",
	} {
		n, err := parse(ref)
		if err != nil {
			t.Errorf("%s: %v", ref, err)
			continue
		}
		if got := fmt.Sprintf("%s %s %s %s", n.project, n.region, n.collection, n.id); got != want {
			t.Errorf("%s: want %q, got %q", ref, want, got)
		}
	}
	for _, ref := range []string{"", " ", "projects/p/pipelineJobs/x", "https://example.com/x", "https://console.cloud.google.com/storage/browser", "a\nb"} {
		if _, err := parse(ref); !errors.Is(err, source.ErrBadTarget) {
			t.Errorf("%q: want a bad target, got %v", ref, err)
		}
	}
}

func TestAJobOfAnotherKindNamesItsFlag(t *testing.T) {
	n, err := parse("projects/p/locations/r/customJobs/1")
	if err != nil {
		t.Fatal(err)
	}
	if err := n.fits(pipelineJobs); !errors.Is(err, source.ErrBadTarget) || !strings.Contains(err.Error(), "--vertex-training") {
		t.Errorf("got %v", err)
	}
	n.collection = "trainingPipelines"
	if err := n.fits(customJobs); !errors.Is(err, source.ErrBadTarget) {
		t.Errorf("got %v", err)
	}
}

func FuzzName(f *testing.F) {
	f.Add("projects/p/locations/r/pipelineJobs/x")
	f.Add("https://console.cloud.google.com/logs/viewer?resource=ml_job%2Fjob_id%2F881")
	f.Add("https://console.%zz")
	f.Fuzz(func(t *testing.T, ref string) {
		n, err := parse(ref)
		if (err == nil) == (n.id == "") {
			t.Errorf("%q: id %q, error %v", ref, n.id, err)
		}
		if strings.Contains(n.id, "/") && n.collection != "" {
			t.Errorf("%q: id %q", ref, n.id)
		}
	})
}
