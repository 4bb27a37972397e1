package tail_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math/rand"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/trainmedic/trainmedic/internal/tail"
)

func gz(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}

func zst(s string) string {
	z, _ := zstd.NewWriter(nil)
	return string(z.EncodeAll([]byte(s), nil))
}

func u16(order binary.AppendByteOrder, s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

const sample = "step 1 loss 2.5\nÉpoque 2 — 😃\n  3%|▍ | 450\r  4%|▌ | 500\r\nTraceback (most recent call last):\n"

var decoded = []struct{ name, in, want string }{
	{"plain", sample, sample},
	{"empty", "", ""},
	{"invalid UTF-8 and NUL pass through", "a\xff\xfe\x00b\n", "a\xff\xfe\x00b\n"},
	{"UTF-8 BOM", "\xef\xbb\xbf" + sample, sample},
	{"UTF-16LE BOM", "\xff\xfe" + u16(binary.LittleEndian, sample), sample},
	{"UTF-16BE BOM", "\xfe\xff" + u16(binary.BigEndian, sample), sample},
	{"UTF-16LE bare", u16(binary.LittleEndian, "plain ascii text\n"), "plain ascii text\n"},
	{"UTF-16BE bare", u16(binary.BigEndian, "plain ascii text\n"), "plain ascii text\n"},
	{"UTF-16 lone surrogate and half unit", "\xff\xfe\x3d\xd8a\x00b", "�a�"},
	{"gzip", gz(sample), sample},
	{"gzip of many members", gz("one\n") + gz("") + gz("two\n"), "one\ntwo\n"},
	{"gzip with padding", gz("one\n") + "\x00\x00\x00\x00", "one\n"},
	{"zstd", zst(sample), sample},
	{"zstd of many frames", zst("one\n") + zst("two\n"), "one\ntwo\n"},
	{"gzip of UTF-16", gz("\xff\xfe" + u16(binary.LittleEndian, sample)), sample},
	{"gzip of gzip stays compressed within", gz(gz("x")), gz("x")},
}

func TestReader(t *testing.T) {
	for _, c := range decoded {
		for how, wrap := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "error with data": iotest.DataErrReader,
		} {
			t.Run(c.name+" "+how, func(t *testing.T) {
				r := tail.NewReader(wrap(strings.NewReader(c.in)), "x")
				defer r.Close()
				got, err := io.ReadAll(r)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, string(got)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestCutStreams(t *testing.T) {
	random := make([]byte, 300_000) // incompressible, so that there are several blocks
	rand.New(rand.NewSource(1)).Read(random)
	text := strings.Repeat("step\n", 1000) + string(random)
	for name, in := range map[string]string{"gzip": gz(text), "zstd": zst(text)} {
		t.Run(name, func(t *testing.T) {
			r := tail.NewReader(strings.NewReader(in[:len(in)*9/10]), "run.log")
			defer r.Close()
			got, err := io.ReadAll(r)
			if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "run.log") {
				t.Errorf("want an unexpected end of run.log, got %v", err)
			}
			if !strings.HasPrefix(text, string(got)) || len(got) < len(text)/3 {
				t.Errorf("kept %d of %d bytes", len(got), len(text))
			}
		})
	}
	for _, in := range []string{gz("x")[:2], gz("x")[:5], zst("x")[:4]} {
		if _, err := io.ReadAll(tail.NewReader(strings.NewReader(in), "x")); err == nil {
			t.Errorf("%q was read without an error", in)
		}
	}
}

func TestReadAfterClose(t *testing.T) {
	r := tail.NewReader(strings.NewReader("x"), "x")
	r.Close()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

func TestIsBinary(t *testing.T) {
	for in, want := range map[string]bool{
		sample: false, "": false, "\x1b[31mred\x1b[0m\n": false, "log\n\x00\x00\x00": false, "\x00\x00\x00\x00log\n": false, "name.txt\x00\x00\x00\x000644\x00x": true,
		"\x7fELF\x02": true, "PK\x03\x04": true, "\x80\x04\x95": true, "PAR1": true, "\x89PNG\r\n\x1a\n": true,
		"\x00\x00\x00\x00": true, "\x01\x02\x03\x04\x05": true,
	} {
		if got := tail.IsBinary([]byte(in)); got != want {
			t.Errorf("IsBinary(%q) = %v, want %v", in, got, want)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, c := range decoded {
		f.Add([]byte(c.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err1 := io.ReadAll(io.LimitReader(tail.NewReader(bytes.NewReader(in), "x"), 1<<20))
		small, err2 := io.ReadAll(io.LimitReader(tail.NewReader(iotest.OneByteReader(bytes.NewReader(in)), "x"), 1<<20))
		if !bytes.Equal(whole, small) || (err1 == nil) != (err2 == nil) {
			t.Errorf("read in pieces it differs: %q %v, %q %v", whole, err1, small, err2)
		}
	})
}
