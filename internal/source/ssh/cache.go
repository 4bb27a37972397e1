package ssh

import "container/list"

// cache keeps stretches of files, up to so many bytes; those that nobody read
// for longest go first. It is used by one goroutine at a time.
type cache struct {
	most  int64
	bytes int64
	order *list.List // of *stretch, the one that was read last in front
	files map[string]*kept
}

// kept is what is known of one file.
type kept struct {
	sign      string
	info      info
	stretches []*list.Element
	end, step int64 // where the last fetch ended, and how much it fetched
}

// stretch is a part of a file.
type stretch struct {
	name string
	off  int64
	data []byte
}

func newCache(most int64) *cache {
	return &cache{most: most, order: list.New(), files: map[string]*kept{}}
}

// file is what is kept of a file as it is now; what was kept of it as it was
// before is dropped, but for its beginning where it only grew.
func (c *cache) file(name string, i info) *kept {
	k := c.files[name]
	if k == nil {
		k = &kept{sign: i.sign(), info: i}
		c.files[name] = k
	}
	if sign := i.sign(); k.sign != sign {
		grew := k.info.ident == i.ident && k.info.size <= i.size
		for _, e := range append(k.stretches[:0:0], k.stretches...) {
			if s := e.Value.(*stretch); !grew || s.off > 0 || len(s.data) < page {
				c.drop(e)
			} else {
				c.bytes -= int64(len(s.data) - page)
				s.data = s.data[:page:page]
			}
		}
		k.sign, k.info, k.end, k.step = sign, i, 0, 0
	}
	return k
}

// put keeps a stretch.
func (c *cache) put(name string, i info, off int64, data []byte) {
	k := c.file(name, i)
	k.stretches = append(k.stretches, c.order.PushFront(&stretch{name, off, data}))
	c.bytes += int64(len(data))
	c.shrink(c.most)
}

// shrink drops what was not read for longest until no more than most bytes are
// left; what was put last stays.
func (c *cache) shrink(most int64) {
	for c.bytes > most && c.order.Len() > 1 {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	s := c.order.Remove(e).(*stretch)
	c.bytes -= int64(len(s.data))
	k := c.files[s.name]
	for n, other := range k.stretches {
		if other == e {
			k.stretches = append(k.stretches[:n], k.stretches[n+1:]...)
			break
		}
	}
}

// read copies what is kept from a place on; 0 when that place is not.
func (c *cache) read(name string, i info, p []byte, off int64) int {
	for _, e := range c.file(name, i).stretches {
		s := e.Value.(*stretch)
		if off >= s.off && off < s.off+int64(len(s.data)) {
			c.order.MoveToFront(e)
			return copy(p, s.data[off-s.off:])
		}
	}
	return 0
}

// keep forgets the files that are not among those given.
func (c *cache) keep(here func(name string) bool) {
	for name, k := range c.files {
		if !here(name) {
			for _, e := range append(k.stretches[:0:0], k.stretches...) {
				c.drop(e)
			}
			delete(c.files, name)
		}
	}
}
