package run

// kept is a list of points in half their room: a log of many ranks has hundreds of
// series.
type kept struct {
	file  string
	tight []tight
	wide  []Point // all of them, when one does not fit or is of another file
}

// tight is a point of a known file: 48 bits of the step, 36 of the line, 44 of the
// offset.
type tight struct {
	high, low uint64
	value     float64
}

const (
	stepBits   = 48
	lineBits   = 36
	offsetBits = 44
	lowLine    = 64 - offsetBits // bits of the line in low; the others are in high
)

func (k *kept) len() int { return max(len(k.tight), len(k.wide)) }

func (k *kept) at(i int) Point {
	if k.wide != nil {
		return k.wide[i]
	}
	t := &k.tight[i]
	line := t.high&(1<<(lineBits-lowLine)-1)<<lowLine | t.low>>offsetBits
	return Point{int64(t.high>>(64-stepBits)) - 1, t.value, Ref{k.file, int(line), int64(t.low & (1<<offsetBits - 1))}}
}

func (k *kept) add(p *Point) {
	if len(k.tight) == 0 && k.wide == nil {
		k.file = p.Ref.File
	}
	step, line, offset := uint64(p.Step+1), uint64(p.Ref.Line), uint64(p.Ref.Offset)
	if k.wide != nil || step >= 1<<stepBits || line >= 1<<lineBits || offset >= 1<<offsetBits || p.Ref.File != k.file {
		k.wide = append(k.all(), *p)
		k.tight = nil
		return
	}
	if n := len(k.tight); n == cap(k.tight) { // append alone would make room that is never used
		k.tight = append(make([]tight, 0, min(max(8, 2*n), maxPoints)), k.tight...)
	}
	k.tight = append(k.tight, tight{step<<(64-stepBits) | line>>lowLine, line<<offsetBits | offset, p.Value})
}

// all lists the points; it may be the kept list itself.
func (k *kept) all() []Point {
	if k.wide != nil {
		return k.wide
	}
	out := make([]Point, len(k.tight), len(k.tight)+1)
	for i := range out {
		out[i] = k.at(i)
	}
	return out
}

// halve drops every other point.
func (k *kept) halve() {
	for i := 0; 2*i < len(k.tight); i++ {
		k.tight[i] = k.tight[2*i]
	}
	for i := 0; 2*i < len(k.wide); i++ {
		k.wide[i] = k.wide[2*i]
	}
	k.tight, k.wide = k.tight[:(len(k.tight)+1)/2], k.wide[:(len(k.wide)+1)/2]
}
