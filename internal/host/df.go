package host

import (
	"context"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/shell"
)

// DF are the readings of the file systems of paths where a shell reaches, as
// Facts are those of this machine: by df, in the form that POSIX fixes.
func DF(ctx context.Context, sh shell.Shell, paths ...string) []run.Fact {
	if len(paths) == 0 {
		return nil
	}
	var out []run.Fact
	seen := map[string]bool{}
	blocks, _ := sh.Run(ctx, append([]string{"df", "-P", "-k", "--"}, paths...)...) // what it lists beside an error counts
	for _, f := range posixRows(blocks) {
		size, err := strconv.ParseUint(f[1], 10, 64)
		avail, errAvail := strconv.ParseUint(f[3], 10, 64)
		if err != nil || errAvail != nil || size == 0 || seen[f[5]] {
			continue
		}
		seen[f[5]] = true
		key := "disk." + f[5]
		out = append(out, fact(key+run.DiskSize, size<<10), fact(key+run.DiskAvail, avail<<10), run.Fact{Key: key + run.DiskUsed, Value: strings.TrimSuffix(f[4], "%")})
	}
	inodes, _ := sh.Run(ctx, append([]string{"df", "-P", "-i", "--"}, paths...)...) // not every df counts them
	for _, f := range posixRows(inodes) {
		if used := strings.TrimSuffix(f[4], "%"); seen[f[5]] && used != "-" {
			seen[f[5]] = false
			out = append(out, run.Fact{Key: "disk." + f[5] + run.DiskInodes, Value: used})
		}
	}
	return out
}

// posixRows are the rows of df -P: device, blocks, used, free, share, mount point.
func posixRows(out []byte) (rows [][]string) {
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 6 || !strings.HasSuffix(f[4], "%") && f[4] != "-" || !strings.HasPrefix(f[5], "/") {
			continue
		}
		rows = append(rows, append(f[:5:5], strings.Join(f[5:], " ")))
	}
	return rows
}
