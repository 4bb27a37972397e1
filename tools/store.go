package tools

import (
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// What the store keeps in memory.
const (
	storeItems = 64
	storeBytes = 8 << 20  // of one item
	storeTotal = 64 << 20 // of all
)

// store keeps the last whole results, so that what an answer left out can be
// read as a resource. It is safe for concurrent use.
type store struct {
	mu    sync.Mutex
	newID func() string
	ids   []string // oldest first
	items map[string]item
	total int // bytes
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
	if old, ok := s.items[id]; ok {
		s.total -= len(old.json)
	} else {
		s.ids = append(s.ids, id)
	}
	s.items[id] = it
	s.total += len(it.json)
	for len(s.ids) > storeItems || s.total > storeTotal {
		gone = append(gone, s.ids[0])
		s.total -= len(s.items[s.ids[0]].json)
		delete(s.items, s.ids[0])
		s.ids = slices.Clone(s.ids[1:])
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
