package export

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/checkpoint"
)

var (
	lsRow   = regexp.MustCompile(`^\s*(?:\d+\s+)?([-dlcbps])[rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+(\d+)\s+(\w{3}\s+\d+\s+[\d:]+|\d{4}-\d\d-\d\d[ T][\d:.]+(?:\s+[+-]\d{4})?)\s+(.+)$`)
	lsDir   = regexp.MustCompile(`^(\S.*):$`)
	lsCmd   = regexp.MustCompile(`^(?:\$|#|>|.*[$#]) *(?:ls|ll)\b(.*)$`)
	lsGone  = regexp.MustCompile(`^(?:ls|stat|cat|du): (?:cannot access |cannot open )?'?([^':]+)'?: No such file`)
	sumRow  = regexp.MustCompile(`^([0-9a-f]{32,64}) [ *](.+)$`)
	pathRow = regexp.MustCompile(`^(?:(\d+)\s+)?((?:\.{0,2}/)[^\s:]+)$`)
)

// listing reads ls -l, ls -lR and find: the files with their sizes, and
// listing.missing and listing.lock.
func listing(t *Text) (f Found) {
	dir := ""
	for i, l := range t.Lines {
		if len(f.Files) >= maxFound {
			break
		}
		if m := lsGone.FindStringSubmatch(l); m != nil {
			f.fact(t, i+1, "listing.missing", m[1])
			continue
		}
		if m := lsCmd.FindStringSubmatch(l); m != nil {
			if w := strings.Fields(m[1]); len(w) > 0 && !strings.HasPrefix(w[len(w)-1], "-") {
				dir = clean(w[len(w)-1])
			}
			continue
		}
		if m := lsDir.FindStringSubmatch(l); m != nil {
			dir = clean(m[1])
			f.Files = append(f.Files, checkpoint.File{Path: dir, Dir: true, Size: -1, Ref: t.Ref(i + 1)})
			continue
		}
		if file, ok := listed(l, dir); ok {
			file.Ref = t.Ref(i + 1)
			f.Files = append(f.Files, file)
			if base := path.Base(file.Path); base == "lock" || strings.HasSuffix(base, ".lock") {
				f.fact(t, i+1, "listing.lock", file.Path)
			}
		}
	}
	return f
}

func listed(l, dir string) (checkpoint.File, bool) {
	if m := lsRow.FindStringSubmatch(l); m != nil {
		name, _, _ := strings.Cut(m[4], " -> ")
		name = strings.TrimRight(name, "/")
		if name == "." || name == ".." || (m[1] != "-" && m[1] != "d" && m[1] != "l") {
			return checkpoint.File{}, false
		}
		if strings.Contains(name, "/") { // find -ls, or ls with paths
			dir = ""
		}
		size, _ := strconv.ParseInt(m[2], 10, 64)
		return checkpoint.File{Path: clean(path.Join(dir, name)), Size: size, Dir: m[1] == "d", ModTime: when(m[3])}, true
	}
	if m := pathRow.FindStringSubmatch(l); m != nil && len(m[2]) > 2 {
		size, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			size = -1
		}
		return checkpoint.File{Path: clean(m[2]), Size: size}, true
	}
	return checkpoint.File{}, false
}

// clean makes a path one of a file system tree; absolute ones keep their slash.
func clean(p string) string { return path.Clean(p) }

// when reads the time of ls; of one without a year nothing is made.
func when(s string) time.Time {
	s = strings.Join(strings.Fields(s), " ")
	for _, layout := range []string{"2006-01-02 15:04:05.999999999 -0700", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05", "2006-01-02 15:04", "Jan 2 2006"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// sums reads md5sum and sha256sum: checksum.duplicates counts the files that
// have the same bytes as an earlier one, checksum.split_overlap those of them
// that lie in another split (train, test, val).
func sums(t *Text) (f Found) {
	first := map[string]string{}
	dup, overlap, line, total := 0, 0, 0, 0
	for i, l := range t.Lines {
		m := sumRow.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		total++
		old, seen := first[m[1]]
		if !seen {
			first[m[1]] = m[2]
			continue
		}
		dup++
		if a, b := split(old), split(m[2]); a != b && a != "" && b != "" {
			if overlap++; overlap == 1 {
				line = i + 1
			}
		}
	}
	if dup > 0 {
		f.fact(t, line, "checksum.duplicates", strconv.Itoa(dup))
	}
	if overlap > 0 {
		f.fact(t, line, "checksum.split_overlap", strconv.Itoa(overlap))
	}
	if total > 0 {
		f.fact(t, 1, "checksum.files", strconv.Itoa(total))
	}
	return f
}

// split is which part of a data set a path belongs to.
func split(p string) string {
	for d := range strings.SplitSeq(strings.ToLower(p), "/") {
		switch d {
		case "train", "training":
			return "train"
		case "test", "testing":
			return "test"
		case "val", "valid", "validation", "dev":
			return "val"
		}
	}
	return ""
}
