package cloudquota

import (
	"testing"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/run"
)

func TestWhoLacksWhatOnWhat(t *testing.T) {
	for _, c := range []struct{ text, account, want string }{
		{"google.api_core.exceptions.PermissionDenied: 403 Permission 'aiplatform.customJobs.create' denied on resource '//aiplatform.googleapis.com/projects/p' (or it may not exist).", "", "What is missing is aiplatform.customJobs.create on aiplatform.googleapis.com/projects/p."},
		{"403 GET https://storage.googleapis.com/b/x: sa@p.iam.gserviceaccount.com does not have storage.objects.get access to the Google Cloud Storage object.", "other@p.iam.gserviceaccount.com", "sa@p.iam.gserviceaccount.com lacks storage.objects.get."},
		{"Vertex AI Service Agent [service-1@gcp-sa-aiplatform.iam.gserviceaccount.com] does not have permission to access Artifact Registry repository projects/x/locations/us/repositories/train.", "", "The account is service-1@gcp-sa-aiplatform.iam.gserviceaccount.com, the resource projects/x/locations/us/repositories/train."},
		{`denied: Permission "artifactregistry.repositories.downloadArtifacts" denied on resource "projects/x/locations/us/repositories/y" (or it may not exist)`, "sa@p.iam.gserviceaccount.com", "sa@p.iam.gserviceaccount.com lacks artifactregistry.repositories.downloadArtifacts on projects/x/locations/us/repositories/y."},
		{"User: arn:aws:iam::123456789012:user/ann is not authorized to perform: sagemaker:CreateTrainingJob on resource: arn:aws:sagemaker:us-east-1:1:training-job/x", "", "arn:aws:iam::123456789012:user/ann lacks sagemaker:CreateTrainingJob on arn:aws:sagemaker:us-east-1:1:training-job/x."},
		{"403 Forbidden", "none", ""},
		{"403 Forbidden", "", ""},
	} {
		f := casefile.New(nil)
		if c.account != "" {
			f.AddFact(run.Fact{Key: "vertex.service_account", Value: c.account})
		}
		if got := lacks(f, c.text); got != c.want {
			t.Errorf("%s:\nwant %q\ngot  %q", c.text, c.want, got)
		}
	}
}

func TestWhichQuotaIsExceeded(t *testing.T) {
	const at = "projects/1/locations/europe-west4/customJobs/2"
	for _, c := range []struct{ text, want string }{
		{"Quota 'SSD_TOTAL_GB' exceeded.  Limit: 500.0 in region us-central1", "The quota is SSD_TOTAL_GB, its limit 500.0, the region us-central1."},
		{"429 The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_nvidia_a100_gpus", "The quota is aiplatform.googleapis.com/custom_model_training_nvidia_a100_gpus, the region europe-west4."},
		{"RESOURCE_EXHAUSTED: Quota exceeded for quota metric 'Online prediction requests'", "The quota is “Online prediction requests”, the region europe-west4."},
		{"RESOURCE_EXHAUSTED", ""},
	} {
		f := casefile.New(nil)
		f.Pipeline = &run.Pipeline{Resource: at}
		if got := exceeds(f, c.text); got != c.want {
			t.Errorf("%s:\nwant %q\ngot  %q", c.text, c.want, got)
		}
	}
}

func TestWhereThereIsNoMachine(t *testing.T) {
	f := casefile.New(nil)
	if got := without(f, "Resources are insufficient in region: us-central1. Please try a different region."); got != "The place is us-central1." {
		t.Errorf("got %q", got)
	}
	f.AddFact(run.Fact{Key: "vertex.pool.0.machine_type", Value: "a2-highgpu-1g"})
	if got := without(f, "The zone 'projects/p/zones/us-central1-a' does not have enough resources available"); got != "It asked for a2-highgpu-1g in us-central1-a." {
		t.Errorf("got %q", got)
	}
}

func TestWhichAccountIsMeant(t *testing.T) {
	if got := standsFor(nil, "400 You do not have permission to act as service_account: 1-compute@developer.gserviceaccount.com. (or it may not exist)."); got != "It is 1-compute@developer.gserviceaccount.com." {
		t.Errorf("got %q", got)
	}
}
