package tensorboard

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// torchPython is a python with torch and TensorBoard: test/trackers.sh makes one.
func torchPython(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	python := cmp.Or(os.Getenv("TRAINMEDIC_TORCH_PYTHON"), filepath.Join(cache, "trainmedic", "trackers-torch", "bin", "python"))
	if out, err := exec.Command(python, "-c", "import torch.utils.tensorboard").CombinedOutput(); err != nil {
		say := t.Skipf
		if os.Getenv("CI") != "" {
			say = t.Fatalf
		}
		say("%s cannot import torch.utils.tensorboard (install python3-torch and run test/trackers.sh, or set TRAINMEDIC_TORCH_PYTHON): %v: %s", python, err, out)
	}
	return python
}

// TestWhatTorchWrites: the scalars of torch's own SummaryWriter are read as they
// were written: one by one, of add_scalars and add_hparams, and after a resume.
func TestWhatTorchWrites(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(torchPython(t), "testdata/summary.py", dir)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	want := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		run, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, value, _ := strings.Cut(text, "=")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		want[run] = append(want[run], fmt.Sprintf("%s=%v", name, v))
	}
	if len(want) != 2 || len(want["once"]) != 31 || len(want["resumed"]) != 12 {
		t.Fatalf("written: %v", want)
	}
	got := map[string][]string{}
	for run := range want {
		samples, obs := seen(t, opened(t, filepath.Join(dir, run), false), nil)
		if len(obs.Gaps) > 0 {
			t.Errorf("%s: %+v", run, obs.Gaps)
		}
		got[run] = samples
	}
	slices.Sort(want["once"]) // of one run several files, which come one after the other
	slices.Sort(got["once"])
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, obs := seen(t, opened(t, filepath.Join(dir, "once"), false), nil)
	config := map[string]string{}
	for _, f := range obs.Facts {
		config[f.Key] = f.Value
	}
	if config["config.lr"] != "0.5" || config["config.optimizer"] != "adam" {
		t.Errorf("configuration %v", config)
	}
}
