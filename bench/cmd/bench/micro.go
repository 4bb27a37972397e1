package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// hot are the packages whose Go benchmarks belong to the results.
var hot = []string{"./internal/scan", "./internal/logformat", "./internal/casefile", "./internal/failure/all", "./internal/tail"}

// micro runs the Go benchmarks of the hot packages, which find the mixed log
// in BENCH_LOG, and gives their output. Without them there are still results.
func (k *kit) micro(ctx context.Context) string {
	log, err := k.log(ctx, "main", "", k.Size)
	if err == nil {
		log, err = filepath.Abs(log)
	}
	var out string
	if err == nil {
		say("micro: go test -bench")
		args := append([]string{"env", "BENCH_LOG=" + log, "go", "test", "-run", "^$", "-bench", ".", "-benchtime", "0.3s", "-count", fmt.Sprint(k.Rounds)}, hot...)
		out, err = output(ctx, args...)
	}
	if err != nil {
		k.note("no Go benchmarks: %v", err)
	}
	var kept []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "Benchmark") || strings.HasPrefix(line, "pkg:") {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

// microSpeed is the median of a benchmark's MB/s in bytes a second; 0 if it did not run.
func microSpeed(text, name string) float64 {
	var all []float64
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != name && !strings.HasPrefix(f[0], name+"-") {
			continue
		}
		for i, unit := range f {
			if x, err := strconv.ParseFloat(f[max(0, i-1)], 64); unit == "MB/s" && err == nil {
				all = append(all, x*1e6)
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}
