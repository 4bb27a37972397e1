package tools

import (
	"strings"
	"testing"
)

// TestTheStoreIsBounded: by the number of results and by their bytes.
func TestTheStoreIsBounded(t *testing.T) {
	s := newStore(nil)
	big := strings.Repeat("x", storeBytes)
	var gone []string
	for i := range 2 * storeTotal / storeBytes {
		gone = append(gone, s.put(string(rune('a'+i)), item{json: big})...)
	}
	if len(gone) != storeTotal/storeBytes || gone[0] != "a" || s.total != storeTotal {
		t.Errorf("gone: %q, kept %d bytes", gone, s.total)
	}
	if _, ok := s.get("a"); ok {
		t.Error("the oldest is still there")
	}
	s.put("p", item{json: "small"})
	if s.total != storeTotal-storeBytes+5 {
		t.Errorf("after one was replaced: %d bytes", s.total)
	}
	if s.put("q", item{json: big + "x"}) != nil || s.items["q"].json != "" {
		t.Error("one result of more than its bound is kept")
	}
	for i := range 2 * storeItems {
		s.put(string(rune(1000+i)), item{json: "x"})
	}
	if len(s.ids) != storeItems || len(s.items) != storeItems || s.total != storeItems {
		t.Errorf("%d results of %d bytes", len(s.items), s.total)
	}
}
