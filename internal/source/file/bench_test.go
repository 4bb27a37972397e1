package file_test

import (
	"path/filepath"
	"testing"

	"github.com/trainmedic/trainmedic/internal/source/file"
)

// A watch looks at a log that has nothing new: what a thousand watches do all day.
func BenchmarkQuietLook(b *testing.B) {
	log := write(b, filepath.Join(b.TempDir(), "run.log"), long)
	s, err := file.Kind(nil).Open(b.Context(), log, watch)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	obs, err := s.Observe(b.Context(), nil)
	for err == nil && b.Loop() {
		obs, err = s.Observe(b.Context(), obs.Next)
	}
	if err != nil {
		b.Fatal(err)
	}
}
