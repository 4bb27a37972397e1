package logformat

import (
	"bytes"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
)

// Prefix is what launchers, schedulers and loggers put before the program's own
// words. Len covers the launcher's part alone; the program's own stamp is read
// into Time and Level but stays part of the line.
type Prefix struct {
	Rank   int    // run.NoRank when the line does not name one
	Local  bool   // Rank is only a local rank
	Worker string // an actor, pod or task, as the line spells it
	Stream string // "stdout", "stderr" or ""
	Time   time.Time
	Level  string // upper case or ""
	Len    int
}

// ParsePrefix reads the prefix of a cleaned line. Prefixes may stand one behind
// another: a pod's before a rank's.
func ParsePrefix(line []byte) Prefix {
	p := Launcher(line)
	p.Own(line)
	return p
}

// Own reads the program's own stamp, behind the launchers' part.
func (p *Prefix) Own(line []byte) { p.stamp(line[p.Len:]) }

// Launcher reads the launchers' part of the prefix alone.
func Launcher(line []byte) Prefix {
	p := Prefix{Rank: run.NoRank}
	for range 4 {
		n := p.launcher(line[p.Len:])
		if n == 0 {
			break
		}
		p.Len += n
	}
	return p
}

// launcher is the length of the launcher's prefix at the start of b, 0 when
// there is none. The first byte says which forms are possible.
func (p *Prefix) launcher(b []byte) int {
	if len(b) < 3 {
		return 0
	}
	switch c := b[0]; {
	case c == '(':
		return p.parenthesised(b)
	case c == '[':
		if n := p.airflow(b); n > 0 {
			return n
		}
		return p.bracketed(b)
	case c == ' ', isDigit(c):
		if n := p.numbered(b); n > 0 {
			return n
		}
		return p.kubernetes(b)
	case !isAlpha(c):
		return 0
	case c|0x20 == 'r':
		if n := p.rankWord(b); n > 0 {
			return n
		}
	}
	if n := p.journal(b); n > 0 {
		return n
	}
	if n := p.workerPool(b); n > 0 {
		return n
	}
	return p.named(b)
}

// parenthesised reads what Ray and SkyPilot write: "(RayTrainWorker(rank=3)
// pid=1, ip=10.0.0.1) ".
func (p *Prefix) parenthesised(b []byte) int {
	if b[0] != '(' {
		return 0
	}
	end := closing(b[:min(len(b), 160)])
	if end < 0 || end+1 < len(b) && b[end+1] != ' ' {
		return 0
	}
	in := b[1:end]
	if !contains(in, "pid=") {
		return 0
	}
	if r, ok := after(in, "rank="); ok && p.Rank == run.NoRank {
		if v, n := integer(r); n > 0 && n < 7 {
			p.Rank = int(v)
		}
	}
	p.Worker = string(in)
	return min(end+2, len(b))
}

// closing is where the parenthesis that b begins with is closed, or -1.
func closing(b []byte) int {
	open := 0
	for i, c := range b {
		switch c {
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				return i
			}
		}
	}
	return -1
}

// bracketed reads "[rank3]:", "[Rank 3] ", "[default0]:", "[0]:",
// "[1,3]<stderr>:", "[1,mpirank:0,algo-1]<stdout>:" and "[pod/x/y] ".
func (p *Prefix) bracketed(b []byte) int {
	if b[0] != '[' {
		return 0
	}
	end := bytes.IndexByte(b[:min(len(b), 100)], ']')
	if end < 2 {
		return 0
	}
	in, rest := b[1:end], b[end+1:]
	switch {
	case hasFold(in, "rank"):
		v, n := integer(bytes.TrimLeft(in[4:], " :=_-"))
		if n == 0 || n > 6 || !isDigit(in[len(in)-1]) {
			return 0
		}
		p.Rank, p.Local = int(v), false
		return end + 1 + separator(rest)
	case has(in, "pod/"):
		p.Worker = string(in)
		return end + 1 + separator(rest)
	case isDigit(in[0]):
		return p.numberIn(in, rest, end)
	}
	return p.role(in, rest, end)
}

// numberIn reads "[0]:" of torchelastic and "[1,3]<stderr>:" of mpirun.
func (p *Prefix) numberIn(in, rest []byte, end int) int {
	v, n := integer(in)
	if n == 0 || n > 5 {
		return 0
	}
	if n == len(in) && has(rest, ":") && len(rest) > 1 {
		p.Rank, p.Local = int(v), true
		return end + 1 + separator(rest)
	}
	if n == len(in) || in[n] != ',' || !has(rest, "<std") {
		return 0
	}
	rank := in[n+1:]
	if has(rank, "mpirank:") {
		rank = rank[len("mpirank:"):]
	}
	shut := bytes.IndexByte(rest, '>')
	v, n = integer(rank)
	if shut < 0 || n == 0 || n > 6 {
		return 0
	}
	p.Rank, p.Local, p.Stream = int(v), false, string(rest[1:shut])
	if p.Stream != "stdout" && p.Stream != "stderr" {
		p.Stream = ""
	}
	if n < len(rank) && rank[n] == ',' {
		p.Worker = string(rank[n+1:])
	}
	return end + 1 + shut + 1 + separator(rest[shut+1:])
}

// role reads torchelastic's "[default0]:".
func (p *Prefix) role(in, rest []byte, end int) int {
	if !has(rest, ":") || len(in) > 24 {
		return 0
	}
	i := 0
	for i < len(in) && (isAlpha(in[i]) || in[i] == '_' || in[i] == '-') {
		i++
	}
	v, n := integer(in[i:])
	if i == 0 || n == 0 || n > 5 || i+n != len(in) || counterOf(in[:i]) != notCounter {
		return 0
	}
	p.Rank, p.Local = int(v), true
	return end + 1 + separator(rest)
}

// separator is the length of the ":" and the space after a bracket.
func separator(b []byte) int {
	n := 0
	if n < len(b) && b[n] == ':' {
		n++
	}
	if n < len(b) && b[n] == ' ' {
		n++
	}
	return n
}

// numbered reads srun -l's "0: ", which pads with spaces.
func (p *Prefix) numbered(b []byte) int {
	i := 0
	for i < len(b) && i < 4 && b[i] == ' ' {
		i++
	}
	v, n := integer(b[i:])
	if n == 0 || n > 5 || i+n >= len(b) || b[i+n] != ':' || p.Rank != run.NoRank {
		return 0
	}
	if i+n+1 < len(b) && b[i+n+1] != ' ' || contains(b[:min(len(b), 60)], " avg") && contains(b, " rate, ") { // Darknet's iteration
		return 0
	}
	p.Rank = int(v)
	return min(i+n+2, len(b))
}

// rankWord reads "Rank 3: ", "rank=3 " and "rank 3 | " at the start of the line.
func (p *Prefix) rankWord(b []byte) int {
	if b[0]|0x20 != 'r' || !hasFold(b, "rank") || len(b) < 6 {
		return 0
	}
	rest := bytes.TrimLeft(b[4:], " =_:-")
	v, n := integer(rest)
	if n == 0 || n > 6 {
		return 0
	}
	at := len(b) - len(rest) + n
	rest = b[at:]
	if len(rest) == 0 || rest[0] != ':' && rest[0] != ' ' && rest[0] != ']' && rest[0] != ',' {
		return 0
	}
	for len(rest) > 0 && (rest[0] == ' ' || rest[0] == ':' || rest[0] == ',' || rest[0] == '|' || rest[0] == ']') {
		rest = rest[1:]
	}
	p.Rank = int(v)
	return len(b) - len(rest)
}
