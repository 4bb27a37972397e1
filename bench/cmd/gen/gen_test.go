package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func logOf(t *testing.T, s spec) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// hashes are of 200 KB with seed 1. A change here makes results incomparable
// with earlier ones, and asks for a new generation in bench's logs.go.
var hashes = map[string]string{
	"main":     "d13b7fad168fc2dd",
	"metric95": "8ec81750e0920536",
	"longline": "b0e7baf274759878",
	"cr":       "5ba0a3acc133d6f0",
	"rank":     "d0bb102d2d1bbe96",
	"pure":     "0e722bd69060fd82",
	"hits":     "5c8b8f1d81c4d5b7",
	"quiet":    "5a23b7f9bfec45fa",
}

func TestSameSeedSameBytes(t *testing.T) {
	for _, k := range kindNames() {
		t.Run(k, func(t *testing.T) {
			s := spec{kind: k, size: 200_000, seed: 1}
			got := logOf(t, s)
			if !bytes.Equal(got, logOf(t, s)) {
				t.Error("two runs differ")
			}
			s.seed = 2
			if bytes.Equal(got, logOf(t, s)) {
				t.Error("the seed changes nothing")
			}
			if runtime.GOARCH != "amd64" {
				t.Skip("other processors round otherwise")
			}
			if want, got := hashes[k], fmt.Sprintf("%.8x", sha256.Sum256(got)); want != got {
				t.Errorf("want hash %q, got %q", want, got)
			}
		})
	}
}

func TestSizeIsNearlyWhatWasAsked(t *testing.T) {
	for _, k := range kindNames() {
		want := 500_000
		if k == "longline" {
			want = 20_000_000
		}
		if got := len(logOf(t, spec{kind: k, size: int64(want), seed: 1})); got < want*98/100 || got > want*102/100 {
			t.Errorf("%s: want %d bytes, nearly; got %d", k, want, got)
		}
	}
}

func TestShapes(t *testing.T) {
	count := func(s spec, what string) int { return bytes.Count(logOf(t, s), []byte(what)) }
	if got := count(spec{kind: "cr", size: 500_000, seed: 1}, "\n"); got > 100 {
		t.Errorf("cr: %d newlines", got)
	}
	ranked := logOf(t, spec{kind: "rank", size: 100_000, seed: 1})
	if first, _, _ := bytes.Cut(ranked, []byte("\n")); !bytes.HasPrefix(first, []byte("[rank")) {
		t.Errorf("rank: %s", first)
	}
	longest := 0
	for line := range bytes.Lines(logOf(t, spec{kind: "longline", size: 1_000_000, seed: 1})) {
		longest = max(longest, len(line))
	}
	if longest < 9_000_000 {
		t.Errorf("longline: %d bytes", longest)
	}
	for _, f := range formats {
		s := spec{kind: "pure", format: f.name, size: 100_000, seed: 1}
		if got := count(s, f.end); got < 200 {
			t.Errorf("%s: %d line ends", f.name, got)
		}
	}
	if err := write(&bytes.Buffer{}, spec{kind: "main", format: "hf"}); err == nil {
		t.Error("a format of main is no error")
	}
}

func TestHitsMatchAndTheirTwinsDoNot(t *testing.T) {
	list, err := os.ReadFile("../../signatures-300.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []*regexp.Regexp
	for p := range strings.Lines(string(list)) {
		all = append(all, regexp.MustCompile(strings.TrimSuffix(p, "\n")))
	}
	matches := func(line string) bool {
		for _, re := range all {
			if re.MatchString(line) {
				return true
			}
		}
		return false
	}
	for _, h := range hits {
		line := fmt.Sprintf(h, 17)
		if !matches(line) {
			t.Errorf("nothing matches %s", line)
		}
		if matches(rot13(line)) {
			t.Errorf("something matches %s", rot13(line))
		}
	}
	dense := logOf(t, spec{kind: "hits", size: 1_000_000, seed: 1})
	quiet := logOf(t, spec{kind: "quiet", size: 1_000_000, seed: 1})
	if len(dense) != len(quiet) || bytes.Count(dense, []byte("\n")) != bytes.Count(quiet, []byte("\n")) {
		t.Errorf("the twins differ in shape: %d and %d bytes", len(dense), len(quiet))
	}
	if got := bytes.Count(dense, []byte("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED")); got < 200 || got > 300 {
		t.Errorf("want an eighth of 2,000 hits, got %d", got)
	}
}
