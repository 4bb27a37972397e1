package file

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// archives are the forms in which people pack a run; unpack is the command.
// What has no magic within the first bytes is told by its name.
var archives = []struct {
	name   *regexp.Regexp
	magic  string
	unpack string
}{
	{regexp.MustCompile(`(?i)\.(?:tar\.gz|tgz)$`), "", "tar -xzf"},
	{regexp.MustCompile(`(?i)\.(?:tar\.zst|tzst)$`), "", "tar --zstd -xf"},
	{regexp.MustCompile(`(?i)\.(?:tar\.bz2|tbz2?)$`), "", "tar -xjf"},
	{regexp.MustCompile(`(?i)\.(?:tar\.xz|txz)$`), "", "tar -xJf"},
	{regexp.MustCompile(`(?i)\.tar$`), "", "tar -xf"},
	{regexp.MustCompile(`(?i)\.zip$`), "PK\x03\x04", "unzip"},
	{regexp.MustCompile(`(?i)\.7z$`), "7z\xbc\xaf", "7z x"},
	{regexp.MustCompile(`(?i)\.rar$`), "Rar!\x1a\x07", "unrar x"},
	{regexp.MustCompile(`(?i)\.bz2$`), "BZh", "bunzip2 -k"},
	{regexp.MustCompile(`(?i)\.xz$`), "\xfd7zXZ\x00", "unxz -k"},
}

// piped is the name in messages of what came by standard input.
const piped = "standard input"

// weights and documents that are zip files inside are no packed runs.
var notPacked = regexp.MustCompile(`(?i)\.(?:pt|pth|ckpt|bin|npz|keras|whl|jar|docx|xlsx|pptx|mar|model)$`)

// Archive is the command that unpacks a file which holds other files, or a log
// in a compression that is not read here; "" for everything else. head is the
// file's first bytes, decoded or not.
func Archive(name string, head []byte) string {
	for _, a := range archives {
		if a.name.MatchString(name) || a.magic != "" && bytes.HasPrefix(head, []byte(a.magic)) && !notPacked.MatchString(name) {
			return a.unpack + " " + asArgument(name)
		}
	}
	if isTar(head) {
		return "tar -xf " + asArgument(name)
	}
	return ""
}

func isTar(head []byte) bool {
	return len(head) >= 262 && bytes.Equal(head[257:262], []byte("ustar"))
}

// asArgument is a name as a shell takes it; what was piped in has none.
func asArgument(name string) string {
	base := path.Base(name)
	switch {
	case name == piped:
		return "FILE"
	case strings.ContainsFunc(base, func(r rune) bool {
		return !strings.ContainsRune("._-+=:@%,", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}):
		return "'" + strings.ReplaceAll(base, "'", `'\''`) + "'"
	}
	return base
}

// Opaque is why a file that is no text is not read, and what to pass instead.
func Opaque(name string, head []byte) *run.Gap {
	cmd := Archive(name, head)
	switch {
	case cmd == "":
		return &run.Gap{
			What: name, Why: "is a binary file, not a text log",
			Ask: "the text log of the run: what it wrote to standard output and standard error",
		}
	case strings.HasPrefix(cmd, "bunzip2"), strings.HasPrefix(cmd, "unxz"):
		return &run.Gap{
			What: name, Why: "is compressed in a way that is not read here (gzip and zstd are)",
			Ask: fmt.Sprintf("the log unpacked (%s)", cmd),
		}
	}
	return &run.Gap{
		What: name, Why: "is an archive, which is not read",
		Ask: fmt.Sprintf("the folder in it: unpack it (%s), then pass the directory", cmd),
	}
}

// unseen is the error when none of the files could be read as text.
func unseen(gaps []run.Gap) error {
	g := gaps[0]
	if len(gaps) > 1 {
		return fmt.Errorf("file: none of the %d files is a text log: %s %s; pass %s: %w", len(gaps), filepath.Base(g.What), g.Why, g.Ask, source.ErrNoEvidence)
	}
	return fmt.Errorf("file: %s %s; pass %s: %w", g.What, g.Why, g.Ask, source.ErrNoEvidence)
}
