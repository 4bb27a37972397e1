package ssh

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// info is what the other machine says of a file.
type info struct {
	base  string
	ident string // device and inode
	size  int64
	mod   time.Time
	mode  fs.FileMode
}

// The methods of fs.FileInfo, and of file.Identified.
func (i info) Name() string       { return i.base }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.mod }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }
func (i info) Identity() string   { return i.ident }

// sign tells whether a file is as it was.
func (i info) sign() string { return fmt.Sprint(i.ident, " ", i.size, " ", i.mod.UnixNano()) }

// statForm is what stat -c is asked for; GNU's and busybox's know all of it.
// parseStat reads it.
const statForm = "%d:%i %s %y %f"

// parseStat reads a line of statForm: 2049:77 1234 2026-01-31 10:20:30.123456789 +0000 81a4.
func parseStat(line string) (i info, err error) {
	f := strings.Fields(line)
	if len(f) != 6 {
		return i, fmt.Errorf("%q is no answer of stat", line)
	}
	i.ident = f[0]
	if i.size, err = strconv.ParseInt(f[1], 10, 64); err != nil || i.size < 0 {
		return i, fmt.Errorf("%q is no answer of stat", line)
	}
	if i.mod, err = time.Parse("2006-01-02 15:04:05 -0700", strings.Join(f[2:5], " ")); err != nil {
		return i, fmt.Errorf("%q is no answer of stat: %w", line, err)
	}
	i.mod = i.mod.UTC()
	m, err := strconv.ParseUint(f[5], 16, 32)
	if err != nil {
		return i, fmt.Errorf("%q is no answer of stat: %w", line, err)
	}
	i.mode = modeOf(m)
	return i, nil
}

func modeOf(m uint64) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & 0o170000 {
	case 0o040000:
		mode |= fs.ModeDir
	case 0o120000:
		mode |= fs.ModeSymlink
	case 0o010000:
		mode |= fs.ModeNamedPipe
	case 0o140000:
		mode |= fs.ModeSocket
	case 0o020000:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case 0o060000:
		mode |= fs.ModeDevice
	case 0o100000:
	default:
		mode |= fs.ModeIrregular
	}
	return mode
}

// complaint turns what a program says of a file into the error of a local one.
func complaint(said string) error {
	low := strings.ToLower(said)
	switch {
	case strings.Contains(low, "no such file"), strings.Contains(low, "not a directory"), strings.Contains(low, "can't cd"):
		return fs.ErrNotExist
	case strings.Contains(low, "permission denied"):
		return fs.ErrPermission
	case strings.Contains(low, "symbolic links"):
		return syscall.ELOOP
	}
	return fmt.Errorf("%.200q", strings.TrimSpace(said))
}

// records takes an answer apart that consists of records, each begun by a line
// end and a mark. What stands before the first one is dropped.
func records(out []byte, mark string) [][]byte {
	parts := bytes.Split(append([]byte("\n"), out...), []byte("\n"+mark+" "))
	return parts[1:]
}

// listed reads one record of a listing: what stat says, and the name, in which
// anything may stand.
func listed(rec string) (name string, i info, err error) {
	f := strings.SplitN(rec, " ", 7)
	if len(f) != 7 {
		return "", i, fmt.Errorf("%q is no entry of a listing", rec)
	}
	i, err = parseStat(strings.Join(f[:6], " "))
	name = path.Clean(strings.TrimSuffix(f[6], "\n"))
	i.base = path.Base(name)
	return name, i, err
}
