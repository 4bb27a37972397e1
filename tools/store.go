package tools

import (
	"strings"
	"sync"

	"github.com/google/uuid"
)

// What the store keeps in memory.
const (
	storeItems = 64
	storeBytes = 8 << 20 // of one item
)

// store keeps the last whole results, so that what an answer left out can be
// read as a resource. It is safe for concurrent use.
type store struct {
	mu    sync.Mutex
	newID func() string
	ids   []string // oldest first
	items map[string]item
}

type item struct{ title, json string }

func newStore(newID func() string) *store {
	if newID == nil {
		newID = uuid.NewString
	}
	return &store{newID: newID, items: map[string]item{}}
}

// id is a new, unused id.
func (s *store) id() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newID()
}

// put keeps a result and returns the ids that had to go for it. An item beyond
// storeBytes is not kept.
func (s *store) put(id string, it item) (gone []string) {
	if len(it.json) > storeBytes {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.items[id]; !ok {
		s.ids = append(s.ids, id)
	}
	s.items[id] = it
	if n := len(s.ids) - storeItems; n > 0 {
		gone = append(gone, s.ids[:n]...)
		s.ids = append([]string(nil), s.ids[n:]...)
	}
	for _, g := range gone {
		delete(s.items, g)
	}
	return gone
}

func (s *store) get(id string) (item, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it, ok := s.items[id]
	return it, ok
}

const runScheme = "run://"

func runURI(id string) string { return runScheme + id }

func runID(uri string) string { return strings.TrimPrefix(uri, runScheme) }
