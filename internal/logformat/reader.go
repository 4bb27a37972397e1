package logformat

import (
	"slices"
	"time"
)

// Reader reads the lines of one stream of one rank in order. It remembers what
// one line alone does not tell: batches per epoch, the number of epochs, whether
// counting begins at 0 or 1, table headers, and where a restart began.
type Reader struct {
	formats      []format
	out          Reading
	values       []Value
	pairBuf      []pair
	memo         map[string]known
	plan         plan
	course       course
	bars         bars
	head         headline
	box          table
	cols         columns
	textBuf      []byte // the text of a JSON string
	cleanBuf     []byte
	depth        int     // of lines within lines
	family       string  // of the training lines that the general reader read
	kin          *family // that wrote the last line of one
	under        block   // what the lines that follow belong to
	yoloZero     bool    // epochs are counted from 0, up to the number printed
	yoloNames    []string
	restart      bool // a line since the last reading spoke of resuming
	restored     int64
	resumedAt    int64 // the step that a line says training is resumed from, -1 for none
	dictsAlone   int   // dicts since a bar moved
	lesson       lesson
	lessonValues []Value
	spots        int            // where the part of the line that is read begins
	pairAt       int            // the pair whose value is added
	sources      [maxValues]int // the pairs of values
}

// NewReader returns a Reader that has seen nothing.
func NewReader() *Reader {
	r := &Reader{formats: formats, memo: map[string]known{}, restored: -1, resumedAt: -1}
	r.plan.reset()
	r.course.reset()
	r.head.reset()
	return r
}

// Rest lets go of the last line's bytes: they may belong to a large buffer.
func (r *Reader) Rest() { r.pairBuf, r.lesson, r.lessonValues = nil, lesson{}, nil }

// line is a line with its marks.
type line struct {
	b   []byte
	has marks
}

// format is one form of line. Read is asked only when the line has all marks of
// need and one of any; it reports whether the line is its own, and fills out.
type format struct {
	name string
	need marks
	any  marks
	read func(r *Reader, l line, out *Reading) bool
}

// formats in the order in which they are asked: forms that name themselves
// first, the general reader last.
var formats = []format{
	{"tensorflow-detection", mDigit, mCount | mMetric | mWord, (*Reader).objectDetection},
	{"rsl_rl", 0, mColon | mCount, (*Reader).iterationBlock},
	{"rl_games", mDigit | mColon | mEpoch | mSlash, mWord, (*Reader).rlGames},
	{"rl_games", mDigit | mBracket, mWord, (*Reader).rlGamesReward},
	{"kaldi", mDigit, mWord, (*Reader).kaldi},
	{"vowpal-wabbit", mDigit, ^marks(0), (*Reader).vowpal},
	{"json", mDigit | mBrace | mColon, mBrace, (*Reader).jsonLine},
	{"yolo", mDigit, mSlash | mAll, (*Reader).yolo},
	{"tqdm", mDigit | mPercent, mBlock | mPipe, (*Reader).tqdm},
	{"fastai", mDigit | mPercent | mPipe | mEpoch, mBracket, (*Reader).fastprogress},
	{"lightning-rich", mDigit | mBlock | mSlash, mEpoch | mMetric, (*Reader).rich},
	{"transformers", mDigit | mBrace, mColon, (*Reader).transformers},
	{"transformers", mDigit, mMetric | mWord | mCount, (*Reader).metricsBlock},
	{"keras", mDigit | mSlash, mBracket | mBlock | mColon | mCount, (*Reader).keras},
	{"espnet", mDigit | mEpoch | mColon, mSlash | mCount | mBracket, (*Reader).espnet},
	{"namespaced", mDigit | mEq | mSlash, mMetric | mWord, (*Reader).namespaced},
	{"flower", mDigit | mComma, ^marks(0), (*Reader).flower},
	{"darknet", mDigit | mColon | mMetric, mComma, (*Reader).darknet},
	{"ml-agents", mDigit | mColon | mCount, mBracket, (*Reader).mlAgents},
	{"boosting", mDigit | mColon, mTab | mBracket, (*Reader).boosting},
	{"caffe", mDigit | mHash | mColon, mHash, (*Reader).caffe},
	{"table", mPipe, mPipe, (*Reader).boxed},
	{"columns", mDigit, ^marks(0), (*Reader).row},
	{general, mDigit, mCount | mEpoch | mMetric, (*Reader).general},
}

// general names the reader of lines that no other format claims.
const general = "general"

const maxLine = 16 << 10 // a longer line is no metric line of any program that is known

// Line reads one cleaned line after the launcher's prefix was cut. It is false
// when the line says nothing. It does not retain clean; the values of the
// reading are valid until the next call.
func (r *Reader) Line(clean []byte) (Reading, bool) {
	return r.Marked(clean, Survey(clean))
}

// Mute reports whether a line with these marks says nothing to a reader that is
// not in a table.
func (m Marks) Mute() bool {
	return m&(mCount|mEpoch|mMetric|mWord|mBlock|mPercent|mPipe|mTab|mHash|mAll) == 0
}

// Tabular reports whether the reader is in a table, where any line may be a row.
func (r *Reader) Tabular() bool {
	return len(r.cols.names) != 0 || r.yoloNames != nil || r.under != noBlock
}

// Silent reports whether a line with these marks says nothing to the reader as
// it stands.
func (r *Reader) Silent(m Marks) bool { return m.Mute() && !r.Tabular() }

// Marked is Line for a line whose marks are known.
func (r *Reader) Marked(clean []byte, m Marks) (Reading, bool) {
	if len(clean) > maxLine {
		clean = clean[:maxLine]
	}
	if r.Silent(m) {
		return Reading{}, false
	}
	l := line{slices.Clip(clean), m}
	for i := range r.formats {
		f := &r.formats[i]
		if l.has&f.need != f.need || l.has&f.any == 0 {
			continue
		}
		r.out = Reading{Format: f.name, Step: -1, Total: -1, Epoch: -1}
		r.values = r.values[:0]
		if f.read(r, l, &r.out) {
			r.settle(l)
			return r.out, true
		}
	}
	r.aside(l)
	return Reading{}, false
}

// Progress is how far the stream's training has come.
func (r *Reader) Progress() Progress {
	p := r.course.progress(&r.plan)
	if p.Total < 0 && p.Step < 0 {
		p.Total = r.bars.idle()
	}
	if p.Format == general && r.family != "" {
		p.Format = r.family
	}
	if p.Step < 0 && r.resumedAt > 0 {
		p.Step, p.Resumed = r.resumedAt, true
	}
	return p
}

// Readings is how many lines reported progress.
func (r *Reader) Readings() int { return r.course.n }

// when is the time of the line last reported, zero when lines carry none.
func (r *Reader) when() time.Time {
	if m := r.course.main(); m != nil {
		return m.when
	}
	return time.Time{}
}
