package casefile

import (
	"time"

	"github.com/trainmedic/trainmedic/internal/logformat"
	"github.com/trainmedic/trainmedic/internal/run"
)

// byRank keeps one thing for each rank of a stream.
type byRank[T any] struct {
	near []T // of NoRank and the ranks from 0 on
	far  map[int]T
}

const nearRanks = 1 << 14

func (m *byRank[T]) get(rank int) (v T) {
	if i := rank + 1; uint(i) < uint(len(m.near)) {
		return m.near[i]
	}
	return m.far[rank]
}

func (m *byRank[T]) set(rank int, v T) {
	i := rank + 1
	if uint(i) >= nearRanks {
		if m.far == nil {
			m.far = map[int]T{}
		}
		m.far[rank] = v
		return
	}
	for len(m.near) <= i {
		var none T
		m.near = append(m.near, none)
	}
	m.near[i] = v
}

// readerOf is the reader of a rank of the stream.
func (rd *reading) readerOf(rank int) *RankReader {
	k := rd.readers.get(rank)
	if k == nil {
		k = &RankReader{Rank: rank, reader: logformat.NewReader(), Series: map[string]*run.Series{}, LastStep: -1}
		rd.f.ranks++
		rd.readers.set(rank, k)
		rd.s.Readers[rank] = k
	}
	return k
}

// measure lets the rank's reader see the line.
func (rd *reading) measure(k *RankReader, r *rec) {
	text, at, told := rd.blk.clean(r)[r.text:], r.time(), r.flags&fOwn != 0
	form, nums, marks := r.form, rd.blk.nums, logformat.Marks(0)
	if form == nil { // it may have been learned since the worker looked
		marks = logformat.Marks(r.num)
		form, rd.f.nums = rd.f.late.Find(text, rd.f.nums[:0])
		nums = rd.f.nums
	} else {
		nums = nums[r.num:]
	}
	if form != nil {
		v, done := k.reader.Again(form, nums, text, at, told)
		if v != nil {
			rd.told(k, v, rd.ref(r), at)
		}
		if done {
			return
		}
		marks = logformat.Survey(text)
	}
	if marks.Mute() && !k.reader.Tabular() {
		rd.f.forms.Mute(text, marks)
		return
	}
	if v, ok := k.reader.Anew(text, marks, rd.f.forms, form); ok {
		rd.told(k, &v, rd.ref(r), at)
	}
}

// told takes what a line of a rank says.
func (rd *reading) told(k *RankReader, v *logformat.Reading, ref run.Ref, at time.Time) {
	k.take(rd.f, v, ref, at)
	if m, n := rd.s.most, k.reader.Readings(); n > 0 && (m == nil || n > m.reader.Readings() || n == m.reader.Readings() && k.Rank < m.Rank) {
		rd.s.most = k
	}
}

func (r *RankReader) take(f *File, v *logformat.Reading, ref run.Ref, at time.Time) {
	p := run.Point{Step: v.Step, Ref: ref}
	if p.Step < 0 {
		p.Step = r.LastStep
	}
	evals := v.Phase == logformat.PhaseEval
	if evals {
		r.EvalLast = ref
		r.Evals++
	}
	for i := range v.Values {
		name := v.Values[i].Name
		if evals {
			name = evalName(name)
		}
		if p.Value = v.Values[i].Value; i < len(r.row) && r.row[i].Name == name { // as in the line before
			r.row[i].Add(p)
		} else if s := r.series(f, name); s != nil {
			r.row = append(r.row[:min(i, len(r.row))], s)
			s.Add(p)
		}
	}
	if !v.Progress {
		return
	}
	if v.Step > r.LastStep {
		r.Advances++
		r.Gaps.between(r.LastTime, at)
	}
	if v.Step >= 0 {
		r.LastStep = v.Step
	}
	r.LastRef = ref
	if !at.IsZero() {
		r.LastTime = at
	}
}

const maxSeries = 400

// series is the series of a name, nil when there are too many.
func (r *RankReader) series(f *File, name string) *run.Series {
	s := r.Series[name]
	if s == nil && len(r.Series) < maxSeries {
		if s = f.room(name); s != nil {
			r.Series[name] = s
		}
	}
	return s
}

// evalName marks a metric of an evaluation line as such.
func evalName(name string) string {
	switch name {
	case "loss":
		return "eval_loss"
	case "accuracy":
		return "eval_accuracy"
	case "perplexity":
		return "eval_perplexity"
	}
	return name
}
