package file

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/source"
)

// Folder is where a log lies and where rotation puts its older parts.
type Folder struct {
	List func() ([]fs.DirEntry, error)
	Open func(base string) (Opened, error) // MUST NOT block on a FIFO
}

// FolderOf is the folder of a path.
func FolderOf(p string) *Folder { return folderIn(nil, p) }

// folderIn is FolderOf whose files lie below the roots.
func folderIn(roots source.Roots, p string) *Folder {
	dir := filepath.Dir(p)
	return &Folder{
		List: func() ([]fs.DirEntry, error) { return os.ReadDir(dir) },
		Open: func(base string) (Opened, error) { return roots.Open(filepath.Join(dir, base), ReadFlags) },
	}
}

// maxSiblings bounds how many files of a folder are asked for their identity.
const maxSiblings = 2000

// part is a file that has an older part of a log.
type part struct {
	Opened
	info fs.FileInfo
	base string
}

// find gives the first regular file beside the log that is what is wanted: by
// ask, which sees its state, and then by look, which may read it. The caller
// closes it.
func (l Log) find(ask func(fs.FileInfo) bool, look func(part) bool) *part {
	if l.Folder == nil {
		return nil
	}
	list, err := l.Folder.List()
	if err != nil {
		return nil // the folder is gone or closed to us; so is what lay in it
	}
	own := path.Base(l.Name)
	for _, e := range list[:min(len(list), maxSiblings)] {
		if e.Name() == own || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil || !ask(info) {
			continue
		}
		if p := l.sibling(e.Name()); p != nil {
			if look(*p) {
				return p
			}
			p.Close()
		}
	}
	return nil
}

// sibling opens a file beside the log, nil if it cannot be had.
func (l Log) sibling(base string) *part {
	f, err := l.Folder.Open(base)
	if err != nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil
	}
	return &part{f, info, base}
}

// withIdent finds a file by its identity.
func (l Log) withIdent(ident string) *part {
	if ident == "-" {
		return nil
	}
	is := func(info fs.FileInfo) bool { return Identity(info) == ident }
	return l.find(is, func(p part) bool { return is(p.info) })
}

// related reports whether a file's name is that of the log with something added.
func (l Log) related(name string) bool {
	own := path.Base(l.Name)
	return strings.HasPrefix(name, strings.TrimSuffix(own, path.Ext(own)))
}

// between lists the parts that several rotations since the last look left
// between an old part and the log, oldest first: of log.3, log.2 and log.1.
func (l Log) between(base string) (out []string) {
	own := path.Base(l.Name)
	n, err := strconv.Atoi(strings.TrimPrefix(base, own+"."))
	if err != nil {
		return nil
	}
	for n--; n > 0 && n < 100; n-- {
		out = append(out, own+"."+strconv.Itoa(n))
	}
	return out
}
