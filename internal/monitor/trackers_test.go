package monitor_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/report"
	sourceall "github.com/trainmedic/trainmedic/internal/source/all"
)

// trackerScript is found before a test changes its folder.
var trackerScript, _ = filepath.Abs("testdata/trackers/train.py")

// trackersPython is a python with mlflow, tensorboard and tensorboardX:
// test/trackers.sh makes one.
func trackersPython(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	python := cmp.Or(os.Getenv("TRAINMEDIC_TRACKERS_PYTHON"), filepath.Join(cache, "trainmedic", "trackers", "bin", "python"))
	if out, err := exec.Command(python, "-c", "import mlflow.version, tensorboard, tensorboardX").CombinedOutput(); err != nil {
		say := t.Skipf
		if os.Getenv("CI") != "" {
			say = t.Fatalf
		}
		say("%s cannot import mlflow, tensorboard and tensorboardX (run test/trackers.sh, or set TRAINMEDIC_TRACKERS_PYTHON): %v: %s", python, err, out)
	}
	return python
}

// trackerServer starts MLflow's own server on a store in dir.
func trackerServer(t *testing.T, python, dir string, options ...string) string {
	t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	host, port, _ := strings.Cut(address, ":")
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, python, append([]string{
		"-m", "mlflow", "server", "--backend-store-uri", "sqlite:///" + dir + "/server.db", "--default-artifact-root", dir, "--host", host, "--port", port, "--workers", "1",
	}, options...)...)
	var said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &said, &said, 10*time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // its workers end with it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait()
	})
	client := http.Client{Timeout: time.Second}
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		if r, err := client.Get("http://" + address + "/health"); err == nil {
			r.Body.Close()
			return "http://" + address
		}
	}
	cancel()
	cmd.Wait()
	t.Fatalf("mlflow server does not come up: %s", said.String())
	return ""
}

// stores are the trackers that a run of a name writes to and the targets that read
// them. The database is the server's own: it takes MLflow long to make one.
func stores(dir, server, base, name string) (trackers, targets []string) {
	direct, served := base+"#"+name+"-direct", server+"#"+name+"-served"
	return []string{"tensorboardX", "tensorboard", "tensors", "mlflow=" + dir + "/mlruns", "mlflow=" + direct, "mlflow=" + served}, []string{
		"tensorboard:" + dir + "/tensorboardX", "tensorboard:" + dir + "/tensorboard", "tensorboard:" + dir + "/tensors",
		"mlflow:" + dir + "/mlruns", "mlflow:" + direct, "mlflow:" + served,
	}
}

func writer(python, dir string, steps, nan int, trackers ...string) *exec.Cmd {
	cmd := exec.Command(python, append([]string{trackerScript, dir, fmt.Sprint(steps), fmt.Sprint(nan)}, trackers...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "MLFLOW_ALLOW_FILE_STORE=true")
	return cmd
}

// TestTrackers lets the trackers' own libraries write, and reads what they wrote.
func TestTrackers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts MLflow")
	}
	python, base := trackersPython(t), t.TempDir()
	server := trackerServer(t, python, base)
	t.Run("agree", func(t *testing.T) { trackersAgree(t, python, server, "sqlite:///"+base+"/server.db") })
	t.Run("are guarded", func(t *testing.T) { trackersAreGuarded(t, python, base) })
	t.Run("are watched", func(t *testing.T) { trackersAreWatched(t, python, server, "sqlite:///"+base+"/server.db") })
}

// trackersAgree: the same failing run gets the same diagnosis, step and metrics
// from each tracker.
func trackersAgree(t *testing.T, python, server, base string) {
	dir := t.TempDir()
	trackers, targets := stores(dir, server, base, "agree")
	trackers, targets = append(trackers, "wandb=agree"), append(targets, "wandb:"+dir+"/wandb/latest-run")
	if out, err := writer(python, dir, 300, 121, trackers...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	book, err := theBook()
	if err != nil {
		t.Fatal(err)
	}
	doctor := &diagnose.Doctor{Book: book, Sources: sourceall.Kinds()}
	first := ""
	for _, target := range targets {
		r, err := doctor.Diagnose(t.Context(), diagnose.Request{Target: target})
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		d := r.Diagnosis
		loss := d.Metrics["loss"]
		if d.PrimaryCause != report.NaNInf || d.RunStatus != report.Diverged || loss.FirstNonFiniteStep == nil || *loss.FirstNonFiniteStep != 121 || loss.NonFiniteCount != 180 ||
			d.LastProgress.Step == nil || *d.LastProgress.Step != 300 || !strings.Contains(d.Evidence[0], "train/loss = NaN at step 121") {
			t.Errorf("%s: %s, %s, %+v, %v", target, d.PrimaryCause, d.RunStatus, loss, d.Evidence)
		}
		metrics, err := json.Marshal(d.Metrics)
		if err != nil {
			t.Fatal(err)
		}
		said := fmt.Sprintf("%s\n%s\n%v", d.RootCause, metrics, d.CauseConfidence)
		first = cmp.Or(first, said)
		if diff := gocmp.Diff(first, said); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
	}
}

// trackersAreWatched: a watch on each follows a living writer, and the first look
// after three values of NaN were written tells of them.
func trackersAreWatched(t *testing.T, python, server, base string) {
	dir := t.TempDir()
	trackers, targets := stores(dir, server, base, "watched")
	cmd := writer(python, dir, 40, 31, trackers...)
	cmd.Env = append(cmd.Env, "PACE=0.05")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	m := newMonitor(t, sourceall.Kinds())
	var watches []*monitor.Watch
	for _, target := range targets {
		w, err := m.Open(t.Context(), monitor.Request{Target: target, Interval: 150 * time.Millisecond, NoBackoff: true}, nil)
		if err != nil {
			t.Fatalf("%s: %v", target, err)
		}
		defer w.Close()
		watches = append(watches, w)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	told := make([][]report.Event, len(watches))
	steps := make([]int64, len(watches))
	for written := false; !written; {
		select {
		case err := <-done:
			t.Fatalf("the writer ended: %v: %s", err, said.String())
		default:
		}
		_, err := os.Stat(dir + "/nan")
		written = err == nil // then this round sees it
		for i, w := range watches {
			u, err := w.Next(ctx)
			if err != nil {
				t.Fatalf("%s: %v", targets[i], err)
			}
			told[i], steps[i] = append(told[i], u.Events...), u.Live.Step
		}
	}
	for i, target := range targets {
		at := slices.IndexFunc(told[i], func(e report.Event) bool { return e.Anomaly != nil && e.Anomaly.Type == report.AnomalyNaNInf })
		if at < 0 || told[i][at].Anomaly.Step == nil || *told[i][at].Anomaly.Step != 31 || steps[i] != 33 {
			t.Errorf("%s: step %d, told %+v", target, steps[i], told[i])
		}
	}
	if err := os.WriteFile(dir+"/seen", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatalf("the writer: %v: %s", err, said.String())
	}
	for i, w := range watches[3:] { // MLflow says how it ended
		for state := report.StateRunning; !state.Ended(); {
			u, err := w.Next(ctx)
			if err != nil {
				t.Fatalf("%s: %v", targets[3+i], err)
			}
			if state = u.State; state.Ended() && (state != report.StateSucceeded || u.End.Decision != report.Conditional) {
				t.Errorf("%s: ended %s, %s: %+v", targets[3+i], state, u.End.Decision, u.End.Anomalies)
			}
		}
	}
}
