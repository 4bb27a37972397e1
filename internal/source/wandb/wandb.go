// Package wandb is the source of W&B runs: the folder that the client writes on
// the machine of the run, online or offline, or the run as the service knows it.
// What W&B calls a run (running, crashed) is passed on as what it is, a claim;
// the judge compares it with the rest.
package wandb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/source"
)

// Kind is the source of W&B runs; dir opens a run's folder.
func Kind(dir *source.Kind) *source.Kind {
	return &source.Kind{
		Scheme: "wandb", Type: "wandb", Flag: "wandb", Example: "--wandb entity/project/run",
		Doc:   "a W&B run: its id or URL, or its local folder (wandb/latest-run), offline too",
		Claim: claim,
		Open: func(ctx context.Context, ref string, opt source.Options) (source.Source, error) {
			return open(ctx, ref, opt, dir)
		},
	}
}

var runURL = regexp.MustCompile(`^https?://[^/]*\bwandb\b[^/]*/[^/]+/[^/]+/(?:runs/)?[^/]+`)

// claim takes the URL of a run, and a transaction log.
func claim(target string) bool {
	if runURL.MatchString(target) {
		return true
	}
	info, err := os.Stat(target)
	return err == nil && info.Mode().IsRegular() && strings.HasSuffix(target, ".wandb")
}

func open(ctx context.Context, ref string, opt source.Options, dir *source.Kind) (source.Source, error) {
	if strings.TrimSpace(ref) == "" {
		return nil, fmt.Errorf("wandb: no run: name it as entity/project/run, or its folder: %w", source.ErrBadTarget)
	}
	path, err := local(expand(ref), opt.Watch)
	if err != nil {
		return nil, err
	}
	if path != "" {
		return openLocal(ctx, path, opt, dir)
	}
	return openService(ctx, ref, opt, dir)
}

// expand takes a leading ~/ as the home folder.
func expand(p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return p
}
