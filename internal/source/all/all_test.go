package all_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/all"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	for target, want := range map[string]string{
		dir: "artifacts " + dir, "artifacts:x": "artifacts x", "file:x": "file x", "-": "file -", "run.log": "file run.log",
		"traceback:": "traceback ", "a/*.log": "file a/*.log",
	} {
		k, ref, err := all.Kinds().Resolve(target)
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		if diff := cmp.Diff(want, k.Scheme+" "+ref); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
	}
	if _, _, err := all.Kinds().Resolve("who knows"); !errors.Is(err, source.ErrBadTarget) {
		t.Errorf("got %v", err)
	}
}

func TestKindsAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range all.Kinds() {
		if k.Scheme == "" || k.Type == "" || k.Doc == "" || k.Example == "" || k.Open == nil || seen[k.Scheme] {
			t.Errorf("incomplete or repeated kind %+v", k)
		}
		seen[k.Scheme] = true
	}
}

func TestLogWithArtifacts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"run.log": "step 1\n", "side/other.log": "another log\n", "side/df.txt": "Filesystem Size Used Avail Use% Mounted on\nshm 64M 0 64M 0% /dev/shm\n",
		"side/ds_config.json": `{"a": 1}`, "side/checkpoint-5/trainer_state.json": `{"global_step":5}`,
	} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	open := func(t *testing.T) source.Source {
		k, ref, err := all.Kinds().Resolve(filepath.Join(dir, "run.log"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := k.Open(t.Context(), ref, source.Options{Artifacts: filepath.Join(dir, "side")})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sourcetest.Run(t, open)
	s := open(t)
	defer s.Close()
	obs, err := s.Observe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, st := range obs.Streams {
		names = append(names, st.Name)
	}
	if diff := cmp.Diff("run.log df.txt", strings.Join(names, " ")); diff != "" {
		t.Error(diff)
	}
	if len(obs.Checkpoints) != 1 || len(obs.Facts) == 0 {
		t.Errorf("%d checkpoints, %d facts", len(obs.Checkpoints), len(obs.Facts))
	}
}
