package mlflow

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/source"
)

// target is a store and the run in it that is meant; "" is the newest.
type target struct{ uri, run string }

var (
	runID = regexp.MustCompile(`^[0-9a-f]{32}$`)
	// The address of a run in a browser: http://host:5000/#/experiments/1/runs/ID.
	pageOf = regexp.MustCompile(`(?:^|/)runs/([^/?]+)`)
)

// parse reads a target: a run alone is looked for where MLflow would.
func parse(ref string) (target, error) {
	switch {
	case ref == "":
		return target{}, fmt.Errorf("mlflow: no run: %w", source.ErrBadTarget)
	case strings.HasPrefix(ref, "runs:/"):
		ref = strings.TrimPrefix(ref, "runs:/")
	case strings.HasPrefix(ref, "http://"), strings.HasPrefix(ref, "https://"):
		uri, id, _ := strings.Cut(ref, "#")
		if m := pageOf.FindStringSubmatch(id); m != nil {
			id = m[1]
		} else if strings.Contains(id, "/") { // another page
			id = ""
		}
		return target{strings.TrimSuffix(uri, "/"), id}, nil
	case strings.Contains(ref, "://"), strings.HasPrefix(ref, "file:"), strings.HasPrefix(ref, "sqlite:"):
		if i := strings.LastIndexByte(ref, '#'); i >= 0 { // a path may have one too
			return target{ref[:i], ref[i+1:]}, nil
		}
		return target{uri: ref}, nil
	}
	if path := home(ref); !runID.MatchString(ref) {
		if _, err := os.Stat(path); err == nil || strings.ContainsAny(ref, `/\`) || filepath.Ext(ref) == ".db" {
			return target{uri: path}, nil
		}
	}
	uri, err := trackingURI()
	return target{uri, ref}, err
}

// trackingURI is where MLflow keeps runs when nobody says otherwise: what the
// environment names, else mlflow.db or mlruns in the working folder.
func trackingURI() (string, error) {
	if uri := os.Getenv("MLFLOW_TRACKING_URI"); uri != "" {
		return uri, nil
	}
	if entries, err := os.ReadDir("mlruns"); err == nil && holdsRuns(entries) {
		return "mlruns", nil
	}
	for _, name := range []string{"mlflow.db", "mlruns"} {
		if _, err := os.Stat(name); err == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("mlflow: it is not known where the run is kept: set MLFLOW_TRACKING_URI, or name the store (mlruns, sqlite:///mlflow.db, http://server#RUN): %w", source.ErrBadTarget)
}

func holdsRuns(entries []fs.DirEntry) bool {
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join("mlruns", e.Name(), metaName)); err == nil {
			return true
		}
	}
	return false
}

// open opens the store of a target.
func (t *target) open() (store, error) {
	scheme, rest, _ := strings.Cut(t.uri, ":")
	switch strings.ToLower(scheme) {
	case "http", "https":
		return newServer(t.uri)
	case "databricks":
		host := os.Getenv("DATABRICKS_HOST")
		if host == "" {
			return nil, fmt.Errorf("mlflow: %s: set DATABRICKS_HOST and DATABRICKS_TOKEN: %w", t.uri, source.ErrBadTarget)
		}
		return newServer(host)
	case "sqlite":
		path := strings.TrimPrefix(rest, "///")
		if _, err := os.Stat(filepath.FromSlash(path)); err != nil { // it has options, then
			path, _, _ = strings.Cut(path, "?")
		}
		return openDB(filepath.FromSlash(path), filepath.Base(path))
	case "file":
		u, err := url.Parse(t.uri)
		if err != nil {
			return nil, fmt.Errorf("mlflow: %q is no address: %w", t.uri, source.ErrBadTarget)
		}
		return t.openPath(cmp.Or(u.Path, u.Opaque))
	}
	if strings.Contains(t.uri, "://") {
		return nil, fmt.Errorf("mlflow: stores of the kind %s are not read; start `mlflow server --backend-store-uri …` over it and name its address: %w", scheme, source.ErrBadTarget)
	}
	return t.openPath(t.uri)
}

// openPath opens what lies at a path: a SQLite file, a store, an experiment in it,
// or a run.
func (t *target) openPath(path string) (store, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, source.Reason("mlflow", path, err)
	}
	if !info.IsDir() {
		return openDB(path, filepath.Base(path))
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, source.Reason("mlflow", path, err)
	}
	if _, err := root.Stat(metaName); errors.Is(err, fs.ErrNotExist) { // no run and no experiment, but perhaps a project's folder
		if _, err := root.Stat("mlruns"); err == nil {
			root.Close() //nolint:errcheck // it was only looked into
			return t.openPath(filepath.Join(path, "mlruns"))
		}
	}
	return &folder{fsys: root.FS(), done: root.Close, name: path}, nil
}

func home(p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		if h, err := os.UserHomeDir(); err == nil {
			return filepath.Join(h, rest)
		}
	}
	return p
}
