package diagnose_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/remote"
	"github.com/trainmedic/trainmedic/internal/remote/sshdtest"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/artifacts"
	"github.com/trainmedic/trainmedic/internal/source/ssh"
)

// TestOverSSH: a case says over SSH what it says here.
func TestOverSSH(t *testing.T) {
	s := sshdtest.Start(t)
	home := sshdtest.NewHome(t, s)
	home.Config(sshdtest.Box("box", s))
	pool := &remote.Pool{Client: remote.Client{Home: home.Dir}}
	defer pool.Close()
	doctor := newDoctor(t)
	far := &diagnose.Doctor{Book: doctor.Book, Sources: source.Registry{ssh.Kind(pool, artifacts.Over, artifacts.Kind())}, Now: doctor.Now}
	cases, err := filepath.Glob("testdata/cases/*/want.json")
	if err != nil || len(cases) < 20 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, file := range cases {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			files := t.TempDir()
			if err := os.CopyFS(files, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			os.Remove(filepath.Join(files, "want.json"))
			if diff := cmp.Diff(said(t, doctor, files), said(t, far, "ssh:box:"+files)); diff != "" {
				t.Errorf("here and there (-here):\n%s", diff)
			}
		})
	}
}

// said is a diagnosis but for what names the target and the moment.
func said(t *testing.T, doctor *diagnose.Doctor, target string) map[string]any {
	t.Helper()
	res, err := doctor.Diagnose(t.Context(), diagnose.Request{Target: target, RunID: "run"})
	if err != nil {
		t.Fatal(err)
	}
	d := res.Diagnosis
	d.Target, d.TargetType, d.Timestamp, d.DurationSeconds, d.NextCommands = "", "", "", 0, nil
	b, err := json.Marshal(d)
	var out map[string]any
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
