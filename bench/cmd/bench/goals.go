package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// goal is a promise of the project and how a run answers it.
type goal struct {
	work, want string
	answer     func(results) answer
}

// answer is what was measured; "" for nothing.
type answer struct {
	text    string
	reached bool
}

// goals are those of the issue that asked for this bench.
var goals = []goal{
	{"check of the mixed log, 2 cores", "≥ 3 × rg 15 (stretch 4 ×)", atLeast(3, "main", ours, peer)},
	{"the same on one core", "≥ 1.5 × rg 15", atLeast(1.5, "main", oursOne, peer)},
	{"95 % metric lines", "≥ 2.5 × rg 15", atLeast(2.5, "metric95", ours, peer)},
	{"lines of 10 MB", "≥ 2.5 × rg 15", atLeast(2.5, "longline", ours, peer)},
	{"lines that end in \\r", "≥ 2.5 × rg 15", atLeast(2.5, "cr", ours, peer)},
	{"lines with their rank", "≥ 2.5 × rg 15", atLeast(2.5, "rank", ours, peer)},
	{"signatures only, one core", "≥ 4 × rg 15", signaturesOnly("cores=1", 4)},
	{"signatures only, two cores", "≥ 7 × rg 15", signaturesOnly("cores=2", 7)},
	{".gz", "≥ 1.8 × rg 15 -z", atLeast(1.8, "compressed", ours+" .gz", "rg 15 -z .gz")},
	{".zst", "≥ 2 × rg 15 -z", atLeast(2, "compressed", ours+" .zst", "rg 15 -z .zst")},
	{"peak memory, all of the checks", "≤ 64 MB", peakOfAll(64e6)},
	{"peak memory, ten times the mixed log", "≤ 64 MB", peakOf("huge", ours, 64e6)},
	{"extraction, mixed formats", "≥ 10 × Python re", atLeast(10, "extract", ours+", mixed", "Python re, mixed")},
	{"extraction, the slowest format", "≥ 10 × Python re", slowestFormat(10)},
	{"start-up to the verdict of 100 KB", "≤ 60 ms", within("start", ours, 60*time.Millisecond)},
	{"peak memory of that", "≤ 40 MB", peakOf("start", ours, 40e6)},
	{"growth: 1, 2, 4, 8 times, as a ratio to cat", "± 15 %", growth(0.15)},
	{"a million matching lines", "≤ 4 × the time without", timesAsLong("hits", ours+", hits", ours+", quiet", 4)},
}

func atLeast(want float64, table, name, than string) func(results) answer {
	return func(r results) answer {
		x := r.table(table).faster(name, than)
		if x == 0 {
			return answer{}
		}
		return answer{fmt.Sprintf("%.2f ×", x), x >= want}
	}
}

func timesAsLong(table, name, than string, most float64) func(results) answer {
	return func(r results) answer {
		a, b := r.table(table).row(name), r.table(table).row(than)
		if a == nil || b == nil {
			return answer{}
		}
		x := a.wall().Seconds() / b.wall().Seconds()
		return answer{fmt.Sprintf("%.2f ×", x), x <= most}
	}
}

func within(table, name string, most time.Duration) func(results) answer {
	return func(r results) answer {
		a := r.table(table).row(name)
		if a == nil {
			return answer{}
		}
		return answer{fmt.Sprintf("%.0f ms", a.wall().Seconds()*1e3), a.wall() <= most}
	}
}

func peakOf(table, name string, most int64) func(results) answer {
	return func(r results) answer {
		a := r.table(table).row(name)
		if a == nil {
			return answer{}
		}
		return answer{fmt.Sprintf("%.0f MB", float64(a.peak())/1e6), a.peak() <= most}
	}
}

func peakOfAll(most int64) func(results) answer {
	return func(r results) answer {
		var worst int64
		where := ""
		for _, t := range r.Tables {
			for _, row := range t.Rows {
				if strings.HasPrefix(row.Name, "trainmedic") && row.peak() > worst {
					worst, where = row.peak(), t.Name+": "+row.Name
				}
			}
		}
		if worst == 0 {
			return answer{}
		}
		return answer{fmt.Sprintf("%.0f MB (%s)", float64(worst)/1e6, where), worst <= most}
	}
}

func slowestFormat(want float64) func(results) answer {
	return func(r results) answer {
		least, which := math.Inf(1), ""
		for _, f := range shapes[1:] {
			x := r.table("extract").faster(ours+", "+f, "Python re, "+f)
			if x == 0 {
				return answer{}
			}
			if x < least {
				least, which = x, f
			}
		}
		return answer{fmt.Sprintf("%.2f × (%s)", least, which), least >= want}
	}
}

// growth compares the ratios to cat of the longer logs with that of the first.
func growth(most float64) func(results) answer {
	return func(r results) answer {
		var first float64
		var texts []string
		reached := true
		for _, n := range []int{1, 2, 4, 8} {
			x := r.table("linear").faster(fmt.Sprintf("cat × %d", n), fmt.Sprintf("%s × %d", ours, n))
			if x == 0 {
				return answer{}
			}
			if n == 1 {
				first = x
			}
			texts = append(texts, fmt.Sprintf("%+.0f %%", (x/first-1)*100))
			reached = reached && math.Abs(x/first-1) <= most
		}
		return answer{strings.Join(texts[1:], ", "), reached}
	}
}

// signaturesOnly takes the median of BenchmarkSignatures, which hot packages may have.
func signaturesOnly(sub string, want float64) func(results) answer {
	return func(r results) answer {
		rg := r.table("main").row(peer)
		ours := microSpeed(r.Micro, "BenchmarkSignatures/"+sub)
		if rg == nil || ours == 0 {
			return answer{}
		}
		x := ours / rg.speed()
		return answer{fmt.Sprintf("%.2f ×", x), x >= want}
	}
}
