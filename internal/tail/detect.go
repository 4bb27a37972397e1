package tail

import "bytes"

// Encoding is how the bytes of a stream have to be read.
type Encoding int

// The encodings that NewReader decodes. Plain text is given as it is.
const (
	Plain Encoding = iota
	UTF8BOM
	UTF16LE
	UTF16BE
	Gzip
	Zstd
)

var (
	magicGzip = []byte{0x1f, 0x8b}
	magicZstd = []byte{0x28, 0xb5, 0x2f, 0xfd}
	bomUTF8   = []byte{0xef, 0xbb, 0xbf}
	bomLE     = []byte{0xff, 0xfe}
	bomBE     = []byte{0xfe, 0xff}
)

// Detect says how a stream that begins with head is encoded.
func Detect(head []byte) Encoding {
	switch {
	case bytes.HasPrefix(head, magicGzip):
		return Gzip
	case bytes.HasPrefix(head, magicZstd), skippable(head):
		return Zstd
	case bytes.HasPrefix(head, bomUTF8):
		return UTF8BOM
	case bytes.HasPrefix(head, bomLE):
		return UTF16LE
	case bytes.HasPrefix(head, bomBE):
		return UTF16BE
	}
	return bareUTF16(head)
}

// skippable is a zstd skippable frame, which pzstd writes first.
func skippable(h []byte) bool {
	return len(h) >= 4 && h[0]&0xf0 == 0x50 && h[1] == 0x2a && h[2] == 0x4d && h[3] == 0x18
}

// bareUTF16 recognizes UTF-16 without a mark when nearly every second byte is
// zero and nearly no other one is: western text, as PowerShell writes it.
func bareUTF16(h []byte) Encoding {
	pairs := len(h) / 2
	if pairs < 8 {
		return Plain
	}
	var even, odd int
	for i := 0; i+1 < len(h); i += 2 {
		if h[i] == 0 {
			even++
		}
		if h[i+1] == 0 {
			odd++
		}
	}
	most, few := pairs*9/10, pairs/50
	switch {
	case odd >= most && even <= few:
		return UTF16LE
	case even >= most && odd <= few:
		return UTF16BE
	}
	return Plain
}

// IsBinary reports whether a file that begins with head (decoded) is not text:
// a known magic, or NUL bytes beyond the odd one that a crashed writer leaves.
func IsBinary(head []byte) bool {
	for _, m := range binaryMagics {
		if bytes.HasPrefix(head, m) {
			return true
		}
	}
	if len(head) > 0 && len(bytes.Trim(head, "\x00")) == 0 {
		return true
	}
	// NULs at either end are a hole that a crash or a truncation left in a log.
	head = bytes.Trim(head, "\x00")
	var nul, ctl int
	for _, b := range head {
		switch {
		case b == 0:
			nul++
		case b < 0x20 && b != '\n' && b != '\r' && b != '\t' && b != 0x1b && b != '\b' && b != '\f' && b != '\a':
			ctl++
		}
	}
	return ctl*10 > len(head) || nul*10 > len(head) || (nul > 0 && ctl*50 > len(head))
}

var binaryMagics = [][]byte{
	[]byte("\x7fELF"), []byte("PK\x03\x04"), []byte("PK\x05\x06"), []byte("\x89PNG\r\n"), []byte("\xff\xd8\xff"),
	[]byte("GIF8"), []byte("%PDF-"), []byte("PAR1"), []byte("\x89HDF\r\n\x1a\n"), []byte("\x93NUMPY"),
	[]byte("BZh9"), []byte("\xfd7zXZ\x00"), []byte("7z\xbc\xaf"), []byte("SQLite format 3\x00"), []byte("ARROW1"),
	[]byte("\x80\x02"), []byte("\x80\x03"), []byte("\x80\x04"), []byte("\x80\x05"), []byte("RIFF"), []byte("GGUF"),
}
