package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// machine is what the figures depend on.
type machine struct {
	CPU, Kernel, Go, Commit, Date, Load string
	Cores                               int
	Memory                              int64
	Peers                               []string
}

func describe(ctx context.Context, k *kit) machine {
	m := machine{Cores: runtime.NumCPU(), CPU: first(`model name\s*: (.*)`, "/proc/cpuinfo"), Date: time.Now().UTC().Format(time.DateOnly)}
	m.Kernel = strings.TrimSpace(first(`(.*)`, "/proc/sys/kernel/osrelease"))
	m.Load = first(`(\S+ \S+ \S+)`, "/proc/loadavg")
	m.Memory = memory("MemTotal")
	m.Go = versionOf(ctx, "go", "version")
	m.Commit = versionOf(ctx, "git", "rev-parse", "--short=12", "HEAD")
	if changed, err := output(ctx, "git", "status", "--porcelain", "--", "cmd", "internal", "tools", "go.mod"); err == nil && changed != "" {
		m.Commit += " with changes that are not committed"
	}
	for _, p := range [][]string{{k.rg15, "--version"}, {k.rg13, "--version"}, {k.grep, "--version"}, {k.python, "--version"}, {k.gzip, "--version"}, {k.zst, "--version"}} {
		if p[0] != "" {
			m.Peers = append(m.Peers, versionOf(ctx, p...))
		}
	}
	if deb, err := glob(k.Dir+"/debian", "libhyperscan5_*.deb"); err == nil {
		m.Peers = append(m.Peers, "hyperscan "+strings.Split(deb, "_")[1])
	}
	return m
}

// versionOf is the first line that a program says of itself.
func versionOf(ctx context.Context, args ...string) string {
	text, err := output(ctx, args...)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.Trim(line, "* ")
}

// first is the first group of a pattern in a file.
func first(pattern, file string) string {
	text, err := os.ReadFile(file)
	if m := regexp.MustCompile(pattern).FindSubmatch(text); err == nil && m != nil {
		return string(m[1])
	}
	return "unknown"
}

// memory is a figure of /proc/meminfo in bytes; 0 where it is not told.
func memory(name string) int64 {
	kb, err := strconv.ParseInt(first(name+`:\s+(\d+)`, "/proc/meminfo"), 10, 64)
	if err != nil {
		return 0
	}
	return kb << 10
}

func memoryFree() int64 { return memory("MemAvailable") }

func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.3g GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.3g MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.3g KB", float64(n)/1e3)
}
