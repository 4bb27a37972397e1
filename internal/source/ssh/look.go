package ssh

import (
	"context"
	"io/fs"
	"strings"

	"github.com/trainmedic/trainmedic/internal/remote"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Look lists a folder of a host to a few levels below it. What is read of the
// file system afterwards is asked of the host until ctx ends.
func Look(ctx context.Context, h *remote.Host, dir string) (fs.FS, error) {
	t := &tree{disk: (&kind{most: maxWhole}).newDisk(h, strings.TrimSuffix(dir, "/"), source.Options{})}
	t.begin(ctx)
	if err := t.list(ctx, maxDepth); err != nil {
		return nil, t.reason(dir, err)
	}
	return t.FS(), nil
}
