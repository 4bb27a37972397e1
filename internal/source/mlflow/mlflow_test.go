package mlflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

// seen looks at a source until there is no more, and spells what it saw.
func seen(t *testing.T, s source.Source, since run.Cursor) (samples, facts []string, obs run.Observation) {
	t.Helper()
	obs = run.Observation{More: true, Next: since}
	for obs.More {
		var err error
		if obs, err = s.Observe(t.Context(), obs.Next); err != nil {
			t.Fatal(err)
		}
		for _, x := range obs.Samples {
			samples = append(samples, fmt.Sprintf("%s@%d=%v", x.Name, x.Step, x.Value))
		}
		for _, x := range obs.Facts {
			facts = append(facts, x.Key+"="+x.Value)
		}
	}
	return samples, facts, obs
}

func opened(t *testing.T, ref string, opt source.Options) source.Source {
	t.Helper()
	s, err := Kind().Open(t.Context(), ref, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

const oldRun, newRun = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"

// folderStore writes two runs as MLflow does.
func folderStore(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "mlruns")
	put(t, root, "0/meta.yaml", "experiment_id: '0'\nname: Default\n")
	put(t, root, "0/"+oldRun+"/meta.yaml", "run_id: "+oldRun+"\nrun_name: old\nstart_time: 1700000000000\nend_time: null\nstatus: 4\nlifecycle_stage: active\n")
	put(t, root, "0/"+newRun+"/meta.yaml", "run_id: "+newRun+"\nrun_name: new\nstart_time: 1700000001000\nend_time: null\nstatus: 1\nlifecycle_stage: active\n")
	put(t, root, "0/"+newRun+"/metrics/loss", "1700000002000 0.5 1\n1700000003000 nan 2\n")
	put(t, root, "0/"+newRun+"/metrics/val/acc", "1700000002000 inf 1 dataset digest\n")
	put(t, root, "0/"+newRun+"/params/optim/lr", "0.1")
	put(t, root, "0/"+newRun+"/tags/mlflow.source.name", "train.py")
	return root
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// othersAre holds that the run that was not read is named, and that what the gap
// says to point at is that run.
func othersAre(t *testing.T, obs run.Observation, target string) {
	t.Helper()
	want := []run.Gap{{
		What: "1 more MLflow run: “old (" + oldRun + ")”", Why: "only the newest one was read: “new (" + newRun + ")”", Ask: "if another one is meant, point at it: --mlflow " + target,
	}}
	if diff := cmp.Diff(want, obs.Gaps); diff != "" {
		t.Error(diff)
	}
	if _, facts, _ := seen(t, opened(t, target, source.Options{}), nil); facts[1] != "tracker.run=old ("+oldRun+")" {
		t.Errorf("%s is %v", target, facts)
	}
}

func TestFolder(t *testing.T) {
	root := folderStore(t)
	_, _, obs := seen(t, opened(t, root, source.Options{}), nil)
	othersAre(t, obs, root+"/0/"+oldRun)
	for _, ref := range []string{root, "file://" + root, root + "/0/" + newRun, filepath.Dir(root), "file:" + root + "#new"} {
		samples, facts, _ := seen(t, opened(t, ref, source.Options{}), nil)
		if diff := cmp.Diff([]string{"loss@1=0.5", "loss@2=NaN", "val/acc@1=+Inf"}, samples); diff != "" {
			t.Errorf("%s: %s", ref, diff)
		}
		want := []string{"tracker.kind=MLflow", "tracker.run=new (" + newRun + ")", "tracker.state=RUNNING", "tracker.started_at=2023-11-14T22:13:21Z", "launch.script=train.py", "config.optim.lr=0.1"}
		if diff := cmp.Diff(want, facts); diff != "" {
			t.Errorf("%s: %s", ref, diff)
		}
	}
	t.Setenv("MLFLOW_TRACKING_URI", root)
	if _, facts, _ := seen(t, opened(t, oldRun, source.Options{}), nil); facts[2] != "tracker.state=FAILED" {
		t.Errorf("the other run: %v", facts)
	}
}

// TestAFolderThatGrows: only whole lines count, and each counts once.
func TestAFolderThatGrows(t *testing.T) {
	root := folderStore(t)
	s := opened(t, root, source.Options{Watch: true})
	_, _, obs := seen(t, s, nil)
	put(t, root, "0/"+newRun+"/metrics/loss", "1700000002000 0.5 1\n1700000003000 nan 2\n1700000004000 0.2 3\n1700000005000 0.")
	samples, facts, obs := seen(t, s, obs.Next)
	if diff := cmp.Diff([]string{"loss@3=0.2"}, samples); diff != "" || len(facts) > 0 {
		t.Error(diff, facts)
	}
	put(t, root, "0/"+newRun+"/metrics/loss", "1700000002000 0.5 1\n1700000003000 nan 2\n1700000004000 0.2 3\n1700000005000 0.1 4\n")
	put(t, root, "0/"+newRun+"/meta.yaml", "run_id: "+newRun+"\nrun_name: new\nstart_time: 1700000001000\nend_time: 1700000009000\nstatus: 3\n")
	samples, facts, _ = seen(t, s, obs.Next)
	if diff := cmp.Diff([]string{"loss@4=0.1", "tracker.state=FINISHED", "tracker.ended_at=2023-11-14T22:13:29Z"}, append(samples, facts...)); diff != "" {
		t.Error(diff)
	}
}

func TestDamagedLinesAreAGap(t *testing.T) {
	root := folderStore(t)
	put(t, root, "0/"+newRun+"/metrics/loss", "1700000002000 0.5 1\nwhat\n1700000003000 x 2\n1700000004000 -inf -3\n17 1e999\n")
	samples, _, obs := seen(t, opened(t, root, source.Options{}), nil)
	if diff := cmp.Diff([]string{"loss@1=0.5", "loss@-3=-Inf", "loss@0=+Inf", "val/acc@1=+Inf"}, samples); diff != "" {
		t.Error(diff)
	}
	if len(obs.Gaps) != 2 || obs.Gaps[0].Why != "2 lines are no values, the first is line 2" {
		t.Errorf("%+v", obs.Gaps)
	}
}

func TestALongMetricComesInPieces(t *testing.T) {
	root := folderStore(t)
	var b strings.Builder
	for i := range maxSamples + 5 {
		fmt.Fprintf(&b, "1700000002000 0.5 %d\n", i)
	}
	put(t, root, "0/"+newRun+"/metrics/loss", b.String())
	s := opened(t, root, source.Options{})
	first, err := s.Observe(t.Context(), nil)
	if err != nil || !first.More || len(first.Samples) != maxSamples {
		t.Fatalf("%v: more %v, %d samples", err, first.More, len(first.Samples))
	}
	rest, err := s.Observe(t.Context(), first.Next)
	if err != nil || rest.More || len(rest.Samples) != 6 || rest.Samples[4].Ref.Line != maxSamples+5 {
		t.Errorf("%v: more %v, %d samples", err, rest.More, len(rest.Samples))
	}
}

// tables are those of MLflow 3.17 that are read.
const tables = `
CREATE TABLE runs (run_uuid VARCHAR(32) PRIMARY KEY, name VARCHAR(250), status VARCHAR(9), start_time BIGINT, end_time BIGINT, lifecycle_stage VARCHAR(20));
CREATE TABLE metrics (key VARCHAR(250) NOT NULL, value FLOAT NOT NULL, timestamp BIGINT NOT NULL, run_uuid VARCHAR(32) NOT NULL, step BIGINT DEFAULT 0 NOT NULL, is_nan BOOLEAN DEFAULT 0 NOT NULL,
  PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan));
CREATE TABLE params (key VARCHAR(250), value VARCHAR(8000), run_uuid VARCHAR(32));
CREATE TABLE tags (key VARCHAR(250), value VARCHAR(5000), run_uuid VARCHAR(32));
`

// database makes a store with two runs.
func database(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a b#c?.db")
	d, err := connectTo(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, err = d.Exec(tables + `
INSERT INTO runs VALUES ('` + oldRun + `', 'old', 'KILLED', 1, 2, 'active'), ('` + newRun + `', 'new', 'RUNNING', 1700000001000, NULL, 'active'), ('gone', 'gone', 'FINISHED', 1800000001000, NULL, 'deleted');
INSERT INTO metrics VALUES ('loss', 0.5, 1700000002000, '` + newRun + `', 1, 0), ('loss', 0, 1700000003000, '` + newRun + `', 2, 1), ('x', 7, 1, '` + oldRun + `', 1, 0),
  ('val/acc', 1.7976931348623157e308, 1700000003000, '` + newRun + `', 1, 0), ('val/acc', -1.7976931348623157e308, 1700000003000, '` + newRun + `', 2, 0);
INSERT INTO params VALUES ('optim/lr', '0.1', '` + newRun + `');`)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDatabase(t *testing.T) {
	path := database(t)
	s := opened(t, path, source.Options{Watch: true})
	samples, facts, obs := seen(t, s, nil)
	if diff := cmp.Diff([]string{"loss@1=0.5", "loss@2=NaN", "val/acc@1=+Inf", "val/acc@2=-Inf"}, samples); diff != "" {
		t.Error(diff)
	}
	want := []string{"tracker.kind=MLflow", "tracker.run=new (" + newRun + ")", "tracker.state=RUNNING", "tracker.started_at=2023-11-14T22:13:21Z", "config.optim.lr=0.1"}
	if diff := cmp.Diff(want, facts); diff != "" {
		t.Error(diff)
	}
	othersAre(t, obs, "sqlite:///"+path+"#"+oldRun)
	d, err := connectTo(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Exec("INSERT INTO metrics VALUES ('loss', 0.1, 1700000004000, '" + newRun + "', 3, 0)"); err != nil {
		t.Fatal(err)
	}
	if samples, facts, _ := seen(t, s, obs.Next); len(samples) != 1 || samples[0] != "loss@3=0.1" || len(facts) > 0 {
		t.Errorf("what is new: %v, %v", samples, facts)
	}
	t.Setenv("MLFLOW_TRACKING_URI", path)
	if _, facts, _ := seen(t, opened(t, "old", source.Options{}), nil); facts[2] != "tracker.state=KILLED" {
		t.Errorf("by its name: %v", facts)
	}
}

func TestBadStores(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "text.db", "this is no database, but it is long enough to have a header, isn't it? Oh, yes, it is: one hundred bytes.")
	put(t, dir, "empty.db", "")
	put(t, dir, "mlruns/0/meta.yaml", "experiment_id: '0'\n")
	whole, err := os.ReadFile(database(t))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "cut.db", string(whole[:len(whole)/2]))
	t.Setenv("MLFLOW_TRACKING_URI", "")
	t.Setenv("DATABRICKS_HOST", "")
	t.Chdir(dir)
	for ref, want := range map[string]error{
		"":                          source.ErrBadTarget,
		"text.db":                   source.ErrBadTarget,
		"empty.db":                  source.ErrBadTarget,
		"none.db":                   source.ErrNotFound,
		"mlruns":                    source.ErrNotFound,
		"sqlite:///text.db":         source.ErrBadTarget,
		"postgresql://h/db":         source.ErrBadTarget,
		"databricks://profile":      source.ErrBadTarget,
		newRun:                      source.ErrNotFound,
		"http://":                   source.ErrBadTarget,
		"http://user:pa%ss@h":       source.ErrBadTarget,
		"http://127.0.0.1:1#" + "x": source.ErrUnreachable,
	} {
		_, err := Kind().Open(t.Context(), ref, source.Options{})
		if !errors.Is(err, want) {
			t.Errorf("%q: want %v, got %v", ref, want, err)
		}
		if err != nil && strings.Contains(err.Error(), "pa%ss") {
			t.Errorf("a secret in %v", err)
		}
	}
	s, err := Kind().Open(t.Context(), "cut.db", source.Options{})
	if err == nil {
		defer s.Close()
		_, err = s.Observe(t.Context(), nil)
	}
	if err == nil {
		t.Error("half a database is read without a word")
	}
}

func TestWhatATargetMeans(t *testing.T) {
	t.Setenv("MLFLOW_TRACKING_URI", "http://tracking:5000")
	for ref, want := range map[string]target{
		newRun:                          {"http://tracking:5000", newRun},
		"happy-cat-12":                  {"http://tracking:5000", "happy-cat-12"},
		"runs:/" + newRun:               {"http://tracking:5000", newRun},
		"http://h:5000":                 {"http://h:5000", ""},
		"http://h:5000/sub#" + newRun:   {"http://h:5000/sub", newRun},
		"sqlite:////data/mlflow.db":     {"sqlite:////data/mlflow.db", ""},
		"sqlite:///mlflow.db#" + newRun: {"sqlite:///mlflow.db", newRun},
		"http://h:5000/#/experiments/7/runs/" + newRun:                          {"http://h:5000", newRun},
		"https://h/#/experiments/7/runs/" + newRun + "/model-metrics":           {"https://h", newRun},
		"https://h/mlflow/#/experiments/7/runs/" + newRun + "?x=1":              {"https://h/mlflow", newRun},
		"https://h/#/experiments/7?searchFilter=&orderByKey=attributes.start_t": {"https://h", ""},
	} {
		got, err := parse(ref)
		if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", ref, err, diff)
		}
	}
}

func TestConformance(t *testing.T) {
	root, path := folderStore(t), database(t)
	t.Run("folder", func(t *testing.T) {
		sourcetest.Run(t, func(t *testing.T) source.Source { return opened(t, root, source.Options{}) })
	})
	t.Run("database", func(t *testing.T) {
		sourcetest.Run(t, func(t *testing.T) source.Source { return opened(t, path, source.Options{}) })
	})
}

// FuzzLine: a line of a metric gives a sample or none, and what Python wrote is
// read as Python would.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"1700000002000 0.5 1\n", "1 nan", "1 -inf 3\r\n", "", " ", "1  2", "9223372036854775808 1 1", "1 1e999 -5 digest"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var s run.Sample
		if !parseLine([]byte(line), &s) {
			return
		}
		again := fmt.Sprintf("1 %v %d\n", strings.ToLower(fmt.Sprint(s.Value)), s.Step)
		var r run.Sample
		if !parseLine([]byte(again), &r) || r.Step != s.Step || r.Value != s.Value && !(math.IsNaN(r.Value) && math.IsNaN(s.Value)) {
			t.Errorf("%q: %v at %d is read again as %v at %d", line, s.Value, s.Step, r.Value, r.Step)
		}
	})
}

// FuzzAnswer: whatever a server answers in place of a number, it is a number or an
// error.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{`"NaN"`, `1`, `"12"`, `null`, `"Infinity"`, `""`, `{}`, `-1e999`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b string) {
		var m wireMetric
		if json.Unmarshal([]byte(`{"value":`+b+`}`), &m) == nil && milliseconds(int64(m.Value)).Year() > 9999 {
			t.Errorf("%s is no time", b)
		}
	})
}

// BenchmarkDatabase reads as many values as one look gives.
func BenchmarkDatabase(b *testing.B) {
	path := filepath.Join(b.TempDir(), "mlflow.db")
	d, err := connectTo(path)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := d.Exec(tables + `CREATE INDEX index_metrics_run_uuid ON metrics (run_uuid);
INSERT INTO runs VALUES ('r', 'r', 'RUNNING', 1, NULL, 'active');
WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i < 65536) INSERT INTO metrics SELECT 'train/loss', 1.0/i, 1700000000000+i, 'r', i, 0 FROM n`); err != nil {
		b.Fatal(err)
	}
	d.Close()
	s, err := Kind().Open(b.Context(), path, source.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		if obs, err := s.Observe(b.Context(), nil); err != nil || len(obs.Samples) != maxSamples {
			b.Fatal(err, len(obs.Samples))
		}
	}
}
