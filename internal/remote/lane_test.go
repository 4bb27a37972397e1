package remote

import (
	"bufio"
	"bytes"
	"math/rand"
	"testing"
	"testing/iotest"
)

// FuzzUpTo: however a stream is cut, what stands before the mark comes out as it
// is, and what stands behind it is left.
func FuzzUpTo(f *testing.F) {
	f.Add([]byte("some text\n\nMAR"), int64(1))
	f.Add([]byte(""), int64(2))
	f.Add(bytes.Repeat([]byte("\nMARK"), 5000), int64(3))
	f.Fuzz(func(t *testing.T, text []byte, seed int64) {
		mark := []byte("\nMARK 7f ")
		if bytes.Contains(append(bytes.Clone(text), mark[:len(mark)-1]...), mark) {
			t.Skip()
		}
		in := append(append(bytes.Clone(text), mark...), "0\nrest"...)
		rnd := rand.New(rand.NewSource(seed))
		for _, r := range []*bufio.Reader{
			bufio.NewReaderSize(bytes.NewReader(in), 16+rnd.Intn(64)),
			bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(in)), 64),
			bufio.NewReaderSize(iotest.HalfReader(bytes.NewReader(in)), 4096),
		} {
			var out bytes.Buffer
			if err := upTo(r, mark, &out); err != nil || !bytes.Equal(out.Bytes(), text) {
				t.Fatalf("got %q, %v", out.Bytes(), err)
			}
			if rest, err := r.ReadString('\n'); rest != "0\n" || err != nil {
				t.Fatalf("left %q, %v", rest, err)
			}
		}
	})
}

func TestUpToEnds(t *testing.T) {
	var out bytes.Buffer
	if err := upTo(bufio.NewReader(bytes.NewReader([]byte("no mark at all"))), []byte("\nMARK "), &out); err == nil {
		t.Error("a stream without the mark has an end")
	}
}
