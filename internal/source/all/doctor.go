package all

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/trainmedic/trainmedic/internal/source"
)

// Doctor says what this machine lets trainmedic see: what the kinds say, and for
// what has no kind that looks for itself whether its program and credentials are
// there.
func Doctor(ctx context.Context) []source.Check {
	return Kinds().Doctor(ctx,
		source.Probe{Name: "ssh", Run: sshReady},
		source.Probe{Name: "gcloud", Run: gcloudReady},
		source.Probe{Name: "wandb", Run: wandbReady},
		source.Probe{Name: "mlflow", Run: mlflowReady},
	)
}

func home(elem ...string) string {
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return path != "" && err == nil
}

func sshReady(context.Context) source.Check {
	path, err := exec.LookPath("ssh")
	if err != nil {
		return source.Check{State: source.CheckMissing, Seen: "ssh is not in the PATH", Fix: "install the OpenSSH client (Debian: apt install openssh-client)"}
	}
	keys, _ := filepath.Glob(home(".ssh", "id_*")) // the pattern is well formed
	switch {
	case exists(os.Getenv("SSH_AUTH_SOCK")):
		return source.Check{State: source.CheckOK, Seen: path + ", with an agent"}
	case len(keys) > 0:
		return source.Check{State: source.CheckOK, Seen: path + ", with keys in ~/.ssh; those with a passphrase need an agent"}
	}
	return source.Check{State: source.CheckLimited, Seen: path + ", but there is neither an agent nor a key in ~/.ssh", Fix: "ssh-keygen -t ed25519, then ssh-copy-id user@host"}
}

func gcloudReady(context.Context) source.Check {
	path, err := exec.LookPath("gcloud")
	login := os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")
	if login == "" {
		login = home(".config", "gcloud", "application_default_credentials.json")
		if dir := os.Getenv("CLOUDSDK_CONFIG"); dir != "" {
			login = filepath.Join(dir, "application_default_credentials.json")
		}
	}
	const fix = "gcloud auth application-default login"
	switch {
	case exists(login) && err == nil:
		return source.Check{State: source.CheckOK, Seen: path + ", with credentials in " + login}
	case exists(login):
		return source.Check{State: source.CheckOK, Seen: "credentials in " + login + "; gcloud is not in the PATH and not needed"}
	case err == nil:
		return source.Check{State: source.CheckLimited, Seen: path + ", but no application credentials", Fix: fix}
	}
	return source.Check{State: source.CheckMissing, Seen: "neither gcloud nor application credentials", Fix: "install the Google Cloud CLI, then " + fix}
}

func wandbReady(context.Context) source.Check {
	switch {
	case os.Getenv("WANDB_API_KEY") != "":
		return source.Check{State: source.CheckOK, Seen: "a key in WANDB_API_KEY"}
	case hasMachine(netrc(), "wandb"):
		return source.Check{State: source.CheckOK, Seen: "a key in " + netrc()}
	}
	return source.Check{State: source.CheckMissing, Seen: "no key: neither WANDB_API_KEY nor an entry in " + netrc(), Fix: "wandb login, or export WANDB_API_KEY"}
}

func netrc() string {
	if p := os.Getenv("NETRC"); p != "" {
		return p
	}
	return home(".netrc")
}

// hasMachine reports whether a netrc file names a machine with a word in its name.
func hasMachine(path, word string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Split(bufio.ScanWords)
	for after := false; sc.Scan(); after = sc.Text() == "machine" {
		if after && strings.Contains(sc.Text(), word) {
			return true
		}
	}
	return false
}

func mlflowReady(context.Context) source.Check {
	if uri := os.Getenv("MLFLOW_TRACKING_URI"); uri != "" {
		if _, rest, ok := strings.Cut(uri, "@"); ok { // no password leaves
			uri = "…@" + rest
		}
		return source.Check{State: source.CheckOK, Seen: "MLFLOW_TRACKING_URI is " + uri}
	}
	for _, local := range []string{"mlruns", "mlflow.db"} {
		if exists(local) {
			return source.Check{State: source.CheckOK, Seen: "a local store in ./" + local}
		}
	}
	return source.Check{State: source.CheckMissing, Seen: "no MLFLOW_TRACKING_URI and no ./mlruns", Fix: "export MLFLOW_TRACKING_URI=http://HOST:5000, or run in the folder that holds mlruns"}
}
