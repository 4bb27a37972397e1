package main

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// Names of rows that the goals ask for.
const (
	ours    = "trainmedic, 2 cores"
	oursOne = "trainmedic, 1 core"
	peer    = "rg 15 --no-mmap"
)

// plan is a table to measure.
type plan struct {
	name, title, note string
	often             int // rounds for each that was asked for, where runs are short; 0 is 1
	commands          func(context.Context, *kit) ([]command, error)
}

const againstRipgrep = "Peer: " + peer + "."

// plans are the tables, in the order of the results.
var plans = []plan{
	{"main", "Mixed log", againstRipgrep, 0, mainLog},
	{"slice", "Slow peers, on the end of the mixed log", againstRipgrep + " Throughputs are compared, for the logs differ in length; Python is run once.", 0, slowPeers},
	{"metric95", "95 % metric lines", againstRipgrep, 0, oneKind("metric95")},
	{"longline", "Lines of 10 MB", againstRipgrep, 0, oneKind("longline")},
	{"cr", "Progress bars that end in \\r", againstRipgrep, 0, oneKind("cr")},
	{"rank", "Lines with their rank", againstRipgrep, 0, oneKind("rank")},
	{"compressed", "Compressed", "Peer: rg 15 -z on the same file. GB/s are of the text within.", 0, compressed},
	{"hits", "A million matching lines in half a gigabyte, and their twin without a match", againstRipgrep, 0, hits},
	{"extract", "Extraction from logs of metric lines", "Peer: python/extract.py, one compiled expression a format. trainmedic does the whole check.", 0, extract},
	{"start", "Start-up to the verdict of 100 KB", againstRipgrep, 4, start},
	{"linear", "Growth", "Ratios to the cat of the same length.", 0, linear},
	{"huge", "Ten times the mixed log", "", 0, huge},
}

func (p plan) measure(ctx context.Context, k *kit) (table, error) {
	commands, err := p.commands(ctx, k)
	if err != nil {
		return table{}, err
	}
	say("%s: %d commands", p.name, len(commands))
	var can []command
	for _, c := range commands {
		if c.args[0] != "" {
			can = append(can, c)
		}
	}
	rows, err := run(ctx, k, can, k.Rounds*max(1, p.often))
	for _, c := range commands {
		if strings.Contains(c.reads, ".log.x") {
			os.Remove(c.reads) //nolint:errcheck // they are large and quickly made
		}
	}
	return table{p.name, p.title, p.note, rows}, err
}

func (k *kit) cat(name, log string) command {
	return command{name: name, args: []string{"cat", log}, reads: log, null: true, cat: name}
}

// check is a run of the product, of the machine's cores two at most.
func (k *kit) check(name, log string, cores int) command {
	return command{
		name: name, reads: log, exits: []int{3}, peer: peer, cat: "cat", env: []string{fmt.Sprintf("GOMAXPROCS=%d", cores)},
		args: []string{k.product, "check", log, "--out-dir", k.scratch()},
	}
}

func (k *kit) rg(name, rg, log string, flags ...string) command {
	args := append([]string{rg, "--no-config", "-c", "-f", patterns}, flags...)
	return command{name: name, args: append(args, log), reads: log, peer: peer, cat: "cat"}
}

func mainLog(ctx context.Context, k *kit) ([]command, error) {
	log, err := k.log(ctx, "main", "", k.Size)
	return []command{
		k.cat("cat", log),
		k.rg(peer, k.rg15, log, "--no-mmap"),
		k.rg("rg 15", k.rg15, log),
		k.rg("rg 13 --no-mmap", k.rg13, log, "--no-mmap"),
		{name: "hyperscan, blocks", args: []string{k.hyperscan, patterns, log}, reads: log, peer: peer, cat: "cat"},
		k.check(ours, log, 2),
		k.check(oursOne, log, 1),
	}, err
}

func slowPeers(ctx context.Context, k *kit) ([]command, error) {
	log, err := k.log(ctx, "main", "", k.Size)
	if err != nil {
		return nil, err
	}
	short, err := k.slice(ctx, log, k.Size/20)
	if err != nil {
		return nil, err
	}
	tiny, err := k.slice(ctx, log, max(k.Size/500, 200_000))
	return []command{
		k.cat("cat", short),
		k.rg(peer, k.rg15, short, "--no-mmap"),
		{name: "grep -E", args: []string{k.grep, "-c", "-E", "-f", patterns, short}, env: []string{"LC_ALL=C"}, reads: short, peer: peer, cat: "cat"},
		k.check(ours, short, 2),
		{name: "Python re, line by line", args: []string{k.python, "bench/python/lines.py", patterns, tiny}, reads: tiny, peer: peer, cat: "cat", single: true},
	}, err
}

func oneKind(kind string) func(context.Context, *kit) ([]command, error) {
	return func(ctx context.Context, k *kit) ([]command, error) {
		log, err := k.log(ctx, kind, "", k.Size/2)
		return []command{k.cat("cat", log), k.rg(peer, k.rg15, log, "--no-mmap"), k.check(ours, log, 2)}, err
	}
}

func compressed(ctx context.Context, k *kit) ([]command, error) {
	log, err := k.log(ctx, "main", "", k.Size)
	if err != nil {
		return nil, err
	}
	var all []command
	for _, form := range []struct{ ext, packer string }{{".gz", k.gzip}, {".zst", k.zst}} {
		if form.packer == "" {
			continue
		}
		if err := k.make(ctx, log+form.ext, form.packer, "-c", log); err != nil {
			return nil, err
		}
		rg := k.rg("rg 15 -z "+form.ext, k.rg15, log+form.ext, "-z")
		trainmedic := k.check("trainmedic, 2 cores "+form.ext, log+form.ext, 2)
		trainmedic.peer, rg.peer = rg.name, rg.name
		unpack := command{name: "only unpack " + form.ext, args: []string{form.packer, "-dc", log + form.ext}, reads: log + form.ext, null: true, peer: rg.name}
		all = append(all, unpack, rg, trainmedic)
	}
	return textOf(log, all)
}

// textOf gives the commands the length of the text that they unpack.
func textOf(log string, all []command) ([]command, error) {
	info, err := os.Stat(log)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].bytes, all[i].cat = info.Size(), ""
	}
	return all, nil
}

func hits(ctx context.Context, k *kit) ([]command, error) {
	var all []command
	for _, kind := range []string{"hits", "quiet"} {
		log, err := k.log(ctx, kind, "", k.Size/2)
		if err != nil {
			return nil, err
		}
		cat, rg, trainmedic := k.cat("cat, "+kind, log), k.rg(peer+", "+kind, k.rg15, log, "--no-mmap"), k.check(ours+", "+kind, log, 2)
		rg.peer, rg.cat, trainmedic.peer, trainmedic.cat = rg.name, cat.name, rg.name, cat.name
		all = append(all, cat, rg, trainmedic)
	}
	return all, nil
}

// shapes are the generator's formats, and all of them in turns.
var shapes = []string{"mixed", "hf", "megatron", "json", "keyvalue", "fairseq", "tqdm", "lightning", "keras", "deepspeed"}

func extract(ctx context.Context, k *kit) ([]command, error) {
	var all []command
	for _, f := range shapes {
		format := f
		if f == "mixed" {
			format = ""
		}
		log, err := k.log(ctx, "pure", format, k.Size/10)
		if err != nil {
			return nil, err
		}
		python := command{name: "Python re, " + f, args: []string{k.python, "bench/python/extract.py", f, log}, reads: log, peer: "Python re, " + f}
		trainmedic := k.check(ours+", "+f, log, 2)
		trainmedic.peer, trainmedic.cat = python.name, ""
		all = append(all, python, trainmedic)
	}
	return all, nil
}

func start(ctx context.Context, k *kit) ([]command, error) {
	log, err := k.log(ctx, "main", "", 100_000)
	return []command{k.rg(peer, k.rg15, log, "--no-mmap"), k.check(ours, log, 2)}, err
}

func linear(ctx context.Context, k *kit) ([]command, error) {
	unit := k.Size
	for free := memoryFree(); free > 0 && unit*15 > free*8/10; {
		unit /= 2
	}
	if unit < k.Size {
		k.note("growth is measured from %s on, for the memory cannot hold 15 times %s of files", size(unit), size(k.Size))
	}
	log, err := k.log(ctx, "main", "", unit)
	var all []command
	for _, n := range []int{1, 2, 4, 8} {
		if err != nil {
			return nil, err
		}
		var longer string
		longer, err = k.times(ctx, log, n)
		cat, trainmedic := k.cat(fmt.Sprintf("cat × %d", n), longer), k.check(fmt.Sprintf("%s × %d", ours, n), longer, 2)
		trainmedic.peer, trainmedic.cat = "", cat.name
		all = append(all, cat, trainmedic)
	}
	return all, err
}

func huge(ctx context.Context, k *kit) ([]command, error) {
	log, err := k.log(ctx, "main", "", k.Size)
	if err != nil {
		return nil, err
	}
	log, err = k.times(ctx, log, 10)
	trainmedic := k.check(ours, log, 2)
	trainmedic.peer = ""
	return []command{k.cat("cat", log), trainmedic}, err
}
