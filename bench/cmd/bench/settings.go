package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// settings come from the environment; the zero of each stands for its default.
type settings struct {
	Size   int64    // BENCH_SIZE: bytes of the main log; the others have half, the pure ones a tenth
	Rounds int      // BENCH_ROUNDS
	Huge   bool     // BENCH_HUGE: also the log of ten times Size
	Only   []string // BENCH_ONLY: names of tables
	Dir    string   // BENCH_DIR: logs, peers, programs; kept between runs
	Out    string   // BENCH_OUT: where the results go: bench, or Dir if they are not of all tables
}

// wants says whether a table is part of the run.
func (s settings) wants(table string) bool {
	if len(s.Only) > 0 {
		return slices.Contains(s.Only, table)
	}
	return table != "huge" || s.Huge
}

func (s settings) scratch() string { return filepath.Join(s.Dir, "scratch") }

func fromEnvironment(env func(string) string) (settings, error) {
	s := settings{Size: 1e9, Rounds: 5, Huge: env("BENCH_HUGE") == "1", Dir: env("BENCH_DIR"), Out: env("BENCH_OUT")}
	var err error
	if v := env("BENCH_SIZE"); v != "" {
		if s.Size, err = parseSize(v); err != nil {
			return s, err
		}
	}
	if v := env("BENCH_ROUNDS"); v != "" {
		if s.Rounds, err = strconv.Atoi(v); err != nil || s.Rounds < 1 {
			return s, fmt.Errorf("BENCH_ROUNDS %q: want a number above 0", v)
		}
	}
	for name := range strings.FieldsFuncSeq(env("BENCH_ONLY"), func(c rune) bool { return c == ',' || c == ' ' }) {
		if name != "micro" && !slices.ContainsFunc(plans, func(p plan) bool { return p.name == name }) {
			return s, fmt.Errorf("BENCH_ONLY: no table %q", name)
		}
		s.Only = append(s.Only, name)
	}
	if s.Dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return s, err
		}
		s.Dir = filepath.Join(cache, "trainmedic", "bench")
	}
	if s.Out == "" {
		s.Out = "bench"
		if s.Only != nil {
			s.Out = s.Dir
		}
	}
	return s, nil
}

// parseSize reads 50MB, 1GB or a number of bytes.
func parseSize(v string) (int64, error) {
	number, unit := strings.TrimRight(v, "BGKMbgkm"), int64(1)
	switch strings.ToUpper(v[len(number):]) {
	case "", "B":
	case "K", "KB":
		unit = 1e3
	case "M", "MB":
		unit = 1e6
	case "G", "GB":
		unit = 1e9
	default:
		return 0, fmt.Errorf("BENCH_SIZE %q: want a size like 50MB", v)
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || x*float64(unit) < 1e6 {
		return 0, fmt.Errorf("BENCH_SIZE %q: want a size like 50MB, of 1MB or more", v)
	}
	return int64(x * float64(unit)), nil
}
