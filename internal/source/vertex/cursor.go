package vertex

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"time"
)

// A watch asks for what was received since the newest line that it has, and a
// little before: lines that the service takes in at one moment show at another.
// By the time of their receipt late lines are new like any other, however old
// they say they are. What the overlap gives again is known by its key.
const (
	overlap = 20 * time.Second
	maxSeen = 4000 // keys in the cursor
)

// watermark is when the newest line of the last look was received.
func (l *look) watermark() time.Time {
	t, err := time.Parse(time.RFC3339Nano, l.since["received"])
	if err != nil {
		return l.start
	}
	return t
}

// seen are the keys of the lines that the last looks gave and this one may meet
// again.
func (l *look) seen() map[uint64]bool {
	out := map[uint64]bool{}
	b, err := base64.RawStdEncoding.DecodeString(l.since["seen"])
	if err != nil {
		return out
	}
	for ; len(b) >= 8; b = b[8:] {
		out[binary.LittleEndian.Uint64(b)] = true
	}
	return out
}

// remember notes in the cursor what was read. After an error nothing moves but
// what was given: the next look asks for the same again.
func (r *reading) remember(whole bool) {
	mark := r.watermark()
	if whole {
		for _, e := range r.all {
			if e.received.After(mark) {
				mark = e.received
			}
		}
	}
	if len(r.all) == 0 {
		if whole && r.since["received"] != "" {
			r.know()
		}
		return
	}
	if whole {
		r.obs.Next["received"] = mark.UTC().Format(time.RFC3339Nano)
		r.know()
	}
	all := r.all
	slices.SortFunc(all, func(a, b entry) int { return b.received.Compare(a.received) })
	var b []byte
	for i := range all {
		if i == maxSeen || whole && all[i].received.Before(mark.Add(-overlap)) {
			break
		}
		b = binary.LittleEndian.AppendUint64(b, all[i].key)
	}
	r.obs.Next["seen"] = base64.RawStdEncoding.EncodeToString(b)
}

// know notes which jobs were asked for.
func (r *reading) know() {
	var b strings.Builder
	b.WriteByte(' ')
	for _, f := range r.logs {
		b.WriteString(f.id + " ")
	}
	r.obs.Next["known"] = b.String()
}
