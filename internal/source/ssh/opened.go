package ssh

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/trainmedic/trainmedic/internal/source/file"
)

// opened is a file of a host. It implements file.Opened, fs.File and
// file.Excerpted.
type opened struct {
	disk *disk
	name string
	info info
	ctx  context.Context
	stop context.CancelFunc
	at   int64
}

// open opens a file of which this is known.
func (d *disk) open(name string, i info) *opened {
	o := &opened{disk: d, name: name, info: i}
	o.ctx, o.stop = context.WithCancel(d.ctx)
	return o
}

// Stat implements fs.File.
func (o *opened) Stat() (fs.FileInfo, error) { return o.info, nil }

// Close implements io.Closer; a reading that waits for the host ends.
func (o *opened) Close() error {
	o.stop()
	return nil
}

// Read implements io.Reader.
func (o *opened) Read(p []byte) (int, error) {
	n, err := o.ReadAt(p, o.at)
	o.at += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// ReadAt implements io.ReaderAt. What was not read yet is fetched in stretches
// that grow while the file is read through.
func (o *opened) ReadAt(p []byte, off int64) (n int, err error) {
	d := o.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	for n < len(p) {
		at := off + int64(n)
		if at >= o.info.size {
			return n, io.EOF
		}
		if k := d.cache.read(o.name, o.info, p[n:min(int64(len(p)), int64(n)+o.info.size-at)], at); k > 0 {
			n += k
			continue
		}
		if err := o.fetch(at, int64(len(p)-n)); err != nil {
			return n, &fs.PathError{Op: "read", Path: o.name, Err: err}
		}
	}
	return n, nil
}

func (o *opened) fetch(at, n int64) error {
	d := o.disk
	k := d.cache.file(o.name, o.info)
	step := max(n, 16*page)
	if at == k.end && k.end > 0 {
		step = max(step, min(4*k.step, window))
	}
	if o.info.size <= 4*further {
		at, step = 0, o.info.size
	}
	w := []want{{o.name, o.info, at, min(step, o.info.size-at)}}
	if err := d.fetch(o.ctx, w); err != nil {
		return err
	}
	k.end, k.step = min(w[0].off+w[0].n, o.info.size), step
	if d.cache.read(o.name, o.info, make([]byte, 1), at) == 0 {
		return io.ErrUnexpectedEOF // it shrank while we looked
	}
	return nil
}

// complete reports whether all of a file is in the cache.
func (d *disk) complete(name string, i info) bool {
	at := int64(0)
	buf := make([]byte, 1)
	for at < i.size {
		k := d.cache.files[name]
		if k == nil || k.sign != i.sign() || d.cache.read(name, i, buf, at) == 0 {
			return false
		}
		for _, e := range k.stretches {
			if s := e.Value.(*stretch); s.off <= at && s.off+int64(len(s.data)) > at {
				at = s.off + int64(len(s.data))
				break
			}
		}
	}
	return true
}

var (
	_ file.Opened    = (*opened)(nil)
	_ file.Excerpted = (*opened)(nil)
)
