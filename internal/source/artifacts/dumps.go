package artifacts

import (
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/flight"
)

// putFlight remembers a dump of PyTorch's flight recorder.
func putFlight(l *look, e entry, head string) bool {
	if !flight.Is(e.name, head) {
		return false
	}
	l.dumps = append(l.dumps, e)
	return true
}

const flightKey = "flight dumps"

// flight compares the dumps of all ranks, when one of them is new.
func (l *look) flight() {
	h := fnv.New64a()
	for _, e := range l.dumps {
		fmt.Fprint(h, e.name, e.size, e.mod.UnixNano(), " ")
	}
	sign := strconv.FormatUint(h.Sum64(), 16)
	if l.obs.Next[flightKey] = sign; l.since[flightKey] == sign || len(l.dumps) == 0 {
		return
	}
	var dumps []*flight.Dump
	for _, e := range l.dumps {
		b, err := l.raw(e, maxResource)
		if err == nil {
			var d *flight.Dump
			if d, err = flight.Read(e.name, b); err == nil {
				dumps = append(dumps, d)
				continue
			}
		}
		if l.unsettled(e.mod) { // it is being written
			l.obs.Next[flightKey] = ""
			return
		}
		l.gap(e.name, err.Error(), "an undamaged copy of this rank's flight recorder dump")
	}
	f := flight.Analyse(dumps)
	if f == nil {
		return
	}
	var ranks []string
	for _, r := range f.Ranks {
		ranks = append(ranks, strconv.Itoa(r))
	}
	from := run.Ref{File: f.Name}
	l.fact("flight.kind", f.Kind, from)
	l.fact("flight.ranks", strings.Join(ranks, ","), from)
	l.fact("flight.collective", f.Collective, from)
	l.fact("flight.says", f.Says, from)
}

// raw is a whole file, as it lies.
func (l *look) raw(e entry, limit int64) ([]byte, error) {
	f, err := l.open(e.name)()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("it is larger than %d MB", limit>>20)
	}
	return b, err
}
