package checkpoint

import (
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
)

var lfsSize = regexp.MustCompile(`(?m)^size (\d+)$`)

// weights judges one file of saved tensors by its extension and its bytes.
func (s *set) weights(f File) verdict {
	base := path.Base(f.Path)
	switch {
	case f.Size == 0:
		return torn("is empty")
	case unfinishedName(base):
		return torn("was never renamed to its final name")
	case f.Size > 0 && f.Size < 1024 && s.fsys != nil:
		if text := s.small(f.Path, 1024); strings.HasPrefix(text, "version https://git-lfs") {
			return torn("is a git-lfs pointer" + lfsOf(text) + ", not the weights")
		}
	}
	ext := strings.ToLower(path.Ext(base))
	return s.opened(f.Path, func(ra io.ReaderAt) verdict {
		switch ext {
		case ".safetensors":
			return safetensors(ra, f.Size)
		case ".h5", ".hdf5":
			return hdf5(ra, f.Size)
		case ".keras":
			return keras(ra, f.Size)
		}
		return torch(ra, f.Size)
	})
}

func lfsOf(text string) string {
	if m := lfsSize.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf(" to %s bytes", m[1])
	}
	return ""
}

// isWeights tells saved tensors by name; data sets in .pt files do occur, but
// not often enough to matter.
func isWeights(base string) bool {
	l := strings.ToLower(base)
	for _, suffix := range []string{".tmp", ".partial", ".incomplete"} {
		l = strings.TrimSuffix(l, suffix)
	}
	switch path.Ext(l) {
	case ".safetensors", ".ckpt", ".pt", ".pth", ".keras", ".distcp":
		return true
	case ".h5", ".hdf5":
		return strings.Contains(l, "weight") || strings.Contains(l, "model") || strings.Contains(l, "ckpt") || strings.Contains(l, "checkpoint") || strings.Contains(l, "epoch")
	case ".bin":
		return strings.HasPrefix(l, "pytorch_model") || strings.HasPrefix(l, "adapter_model") || strings.HasPrefix(l, "model") || strings.HasPrefix(l, "optimizer") || strings.HasPrefix(l, "diffusion_pytorch_model")
	}
	return false
}
