package artifacts_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

// wandbFolder is the folder of a project with W&B runs in it; each run has the
// recorded log, and the files that are named.
func wandbFolder(t *testing.T, runs map[string][]string) string {
	t.Helper()
	dir := t.TempDir()
	log, err := os.ReadFile("wandblog/testdata/0.31.0.wandb")
	if err != nil {
		t.Fatal(err)
	}
	for name, files := range runs {
		id := name[strings.LastIndexByte(name, '-')+1:]
		write(t, filepath.Join(dir, "wandb", name, "run-"+id+".wandb"), string(log))
		write(t, filepath.Join(dir, "wandb", name, "logs", "debug-internal.log"), "step 7 loss=nan\n")
		for _, f := range files {
			write(t, filepath.Join(dir, "wandb", name, "files", f), "step 1 loss=0.5\n")
		}
	}
	return dir
}

func streamsOf(obs run.Observation) (out []string) {
	for _, s := range obs.Streams {
		if s.Kind == "log" {
			out = append(out, s.Name)
		}
	}
	slices.Sort(out)
	return out
}

func TestWandbRuns(t *testing.T) {
	const first, second, rank1 = "offline-run-20260101_120000-aaa", "offline-run-20260102_120000-bbb", "offline-run-20260102_120030-ccc"
	for name, c := range map[string]struct {
		runs    map[string][]string
		streams []string
		samples int // 180 of each run
		gap     string
	}{
		"its log has the console output": {map[string][]string{first: nil}, []string{"wandb/" + first + "/run-aaa.wandb.log"}, 180, ""},
		"a file has the console output":  {map[string][]string{first: {"output.log"}}, []string{"wandb/" + first + "/files/output.log"}, 180, ""},
		"the summary repeats the log":    {map[string][]string{first: {"output.log", "wandb-summary.json"}}, []string{"wandb/" + first + "/files/output.log"}, 180, ""},
		"the newest of several":          {map[string][]string{first: {"output.log"}, second: {"output.log"}}, []string{"wandb/" + second + "/files/output.log"}, 180, "1 older W&B runs in wandb"},
		"one for each rank": {
			map[string][]string{first: nil, second: {"output.log"}, rank1: {"output.log"}},
			[]string{"wandb/" + second + "/files/output.log", "wandb/" + rank1 + "/files/output.log"},
			360, "1 older W&B runs in wandb",
		},
		"one that was resumed": {
			map[string][]string{first: {"output.log"}, "run-20260105_120000-aaa": {"output.log"}},
			[]string{"wandb/" + first + "/files/output.log", "wandb/run-20260105_120000-aaa/files/output.log"},
			360, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := wandbFolder(t, c.runs)
			obs, err := open(t, dir, source.Options{}).Observe(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.streams, streamsOf(obs)); d != "" {
				t.Errorf("logs (-want +got):\n%s", d)
			}
			if len(obs.Samples) != c.samples {
				t.Errorf("%d samples, want %d", len(obs.Samples), c.samples)
			}
			var gap string
			if len(obs.Gaps) > 0 {
				gap = obs.Gaps[0].What
			}
			if gap != c.gap {
				t.Errorf("gap %q, want %q", gap, c.gap)
			}
			sourcetest.Run(t, func(t *testing.T) source.Source { return open(t, dir, source.Options{}) })
		})
	}
}

func TestADamagedWandbLogIsAGap(t *testing.T) {
	dir := wandbFolder(t, map[string][]string{"run-20260101_120000-aaa": {"output.log"}})
	write(t, filepath.Join(dir, "wandb/run-20260101_120000-aaa/run-aaa.wandb"), "<html>504 Gateway Timeout</html>")
	obs, err := open(t, dir, source.Options{}).Observe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(obs.Gaps) != 1 || !strings.Contains(obs.Gaps[0].Why, "transaction log") || len(obs.Streams) != 1 {
		t.Errorf("gaps %v, %d streams", obs.Gaps, len(obs.Streams))
	}
}
