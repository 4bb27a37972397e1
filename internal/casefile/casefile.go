// Package casefile is everything seen of one run so far, bounded and indexed:
// the events that signatures found, tracebacks, series, progress, facts, tasks
// and gaps. It reads the streams that an observation hands it, each once and in
// blocks, and keeps only lines that matter.
package casefile

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/trainmedic/trainmedic/internal/logformat"
	"github.com/trainmedic/trainmedic/internal/run"
)

// Kinds of streams that are treated apart; see run.Stream.Kind.
const (
	KindLog    = "log"
	KindConfig = "config"
)

// File is the case file of one run. Build it with New, feed it with Add, then
// read; it is not safe for concurrent use.
type File struct {
	Streams     []*Stream
	Events      []*Event
	Tracebacks  []*Traceback
	Exits       []Exit // what launchers report, in order
	Facts       []run.Fact
	Checkpoints []run.Checkpoint
	Processes   []run.Process
	Pipeline    *run.Pipeline
	Gaps        []run.Gap
	Framework   string // detected or given
	Task        string // what the user said: classification, regression, language-modeling
	At          time.Time
	// Following says that further Adds continue the streams of this one: lines,
	// readers and tracebacks go on, and a last line without its end waits for
	// the next look. Set it before the first Add.
	Following bool
	Pulse     Pulse // the rhythm of the run's progress, over the looks

	matcher      *Matcher
	forms        *logformat.Forms // while streams are read
	late         *logformat.Finder
	nums         []float64
	memo         *memo
	record       record         // of trackers and state files, not of logs
	facts        map[string]int // key -> index of the newest fact
	contextCount int
	ranks        int             // readers of all streams
	kinds        int             // series of all readers
	ofSign       map[*Sign]int   // events
	told         map[string]bool // bounds that were met
	lost         int             // gaps beyond the bound
	blockSize    int
	workers      int                 // 0: one a core
	readings     map[string]*reading // of a followed run, by the stream's name
}

// New is an empty case file that looks for the matcher's signs.
func New(m *Matcher) *File {
	return &File{matcher: m, memo: newMemo(), record: newRecord(), facts: map[string]int{}, blockSize: blockSize, readings: map[string]*reading{}}
}

// Stream is what is known of one log after it was read.
type Stream struct {
	Name      string
	Kind      string
	Rank      int
	Lines     int   // \n-terminated lines and a last one without
	Bytes     int64 // of the decoded stream
	Live      bool
	ModTime   time.Time
	First     time.Time // first and last time stamp
	Last      time.Time
	Head      []Line // the first lines that say something
	Tail      []Line // the last lines, oldest first
	Readers   map[int]*RankReader
	most      *RankReader                // that reported progress most often, the lowest rank of several; nil when none did
	Err       error                      // reading broke off
	orders    int                        // how many lines there are, those that end in \r too
	again     struct{ orders, line int } // what begunAgain found, at that many lines
	spoken    int                        // up to which line no framework's word stands
	contexts  []*Context
	lastEvent map[eventKey][]*Event
	tracer    byRank[*Traceback] // the last traceback of each rank
}

// Kept gives the lines of the head, then those of the tail; a short log has the
// same ones in both.
func (s *Stream) Kept(yield func(Line) bool) {
	for _, lines := range [][]Line{s.Head, s.Tail} {
		for _, l := range lines {
			if !yield(l) {
				return
			}
		}
	}
}

// Line is one kept line.
type Line struct {
	Ref  run.Ref
	Rank int
	Time time.Time
	Text string
}

// RankReader holds the metrics and the progress of one rank in one stream.
type RankReader struct {
	Rank      int
	reader    *logformat.Reader  // nil for a tracker's
	told      logformat.Progress // then
	Series    map[string]*run.Series
	Advances  int // how often the training step moved on
	LastStep  int64
	LastRef   run.Ref   // the last line that reported progress
	LastTime  time.Time // when it did
	Gaps      Gaps      // between lines of progress that have a time
	EvalLast  run.Ref   // the last evaluation line
	Evals     int
	lastOrder int           // of its last line
	row       []*run.Series // of the line before, in its order
}

// Progress is what the rank's lines say of its progress.
func (r *RankReader) Progress() logformat.Progress {
	if r.reader == nil {
		return r.told
	}
	return r.reader.Progress()
}

// Fact returns the newest value of a key.
func (f *File) Fact(key string) (run.Fact, bool) {
	i, ok := f.facts[key]
	if !ok {
		return run.Fact{}, false
	}
	return f.Facts[i], true
}

// Value is the newest value of a key, or "".
func (f *File) Value(key string) string {
	v, _ := f.Fact(key)
	return v.Value
}

// FactsUnder lists the facts whose key starts with a prefix, oldest first.
func (f *File) FactsUnder(prefix string) []run.Fact {
	var out []run.Fact
	for _, v := range f.Facts {
		if len(v.Key) >= len(prefix) && v.Key[:len(prefix)] == prefix {
			out = append(out, v)
		}
	}
	return out
}

const maxFacts = 5000

// AddFact records a fact; the newest of a key wins. A reading, which no file
// holds, takes the place of the one before: a watch has thousands.
func (f *File) AddFact(v run.Fact) {
	if i, ok := f.facts[v.Key]; ok && (f.Facts[i].From == v.From && (f.Following || v.From.File == "") || len(f.Facts) >= maxFacts) {
		f.Facts[i] = v
		return
	}
	if len(f.Facts) >= maxFacts {
		f.full("some facts", fmt.Sprintf("there are more than %d; those that came later were not kept", maxFacts), "the files of this run alone")
		return
	}
	f.facts[v.Key] = len(f.Facts)
	f.Facts = append(f.Facts, v)
}

// addProcesses takes processes; a list of live ones, which no file holds, takes
// the place of the one before, and none is left when their run is gone.
func (f *File) addProcesses(o run.Observation) {
	live := func(p run.Process) bool { return p.Ref.File == "" }
	if slices.ContainsFunc(o.Processes, live) || f.Value(run.FactState) == run.ProcessGone {
		f.Processes = slices.DeleteFunc(f.Processes, live)
	}
	f.Processes = append(f.Processes, o.Processes...)
	if len(f.Processes) > maxProcesses {
		f.Processes = f.Processes[:maxProcesses]
		f.full("some processes", fmt.Sprintf("there are more than %d", maxProcesses), "a list of the run's own processes")
	}
}

// Main is the reader whose progress stands for the run: the one that reported
// most, of the training log that speaks of training, else what trackers told; nil
// when none did.
func (f *File) Main() *RankReader {
	var best *RankReader
	for _, s := range f.Streams {
		for _, rank := range sortedRanks(s.Readers) {
			r := s.Readers[rank]
			if r.Progress().Readings > 0 && (best == nil || better(r, best)) {
				best = r
			}
		}
	}
	if best == nil && f.record.told.Readings > 0 {
		return &f.record.RankReader
	}
	return best
}

func better(r, best *RankReader) bool {
	a, b := r.Progress(), best.Progress()
	if !a.Time.IsZero() && !b.Time.IsZero() && a.Step != b.Step && similar(a.Readings, b.Readings) {
		return a.Time.After(b.Time)
	}
	return a.Readings > b.Readings
}

func similar(a, b int) bool { return a*2 >= b && b*2 >= a }

func sortedRanks(m map[int]*RankReader) []int {
	out := make([]int, 0, len(m))
	for r := range m {
		out = append(out, r)
	}
	sort.Ints(out)
	return out
}

// Series returns a metric by its canonical name, from the main reader, else
// from trackers and state files; nil when nobody reported it.
func (f *File) Series(name string) *run.Series {
	if m := f.Main(); m != nil && m.Series[name] != nil {
		return m.Series[name]
	}
	for _, s := range f.Streams {
		for _, rank := range sortedRanks(s.Readers) {
			if v := s.Readers[rank].Series[name]; v != nil {
				return v
			}
		}
	}
	return f.record.Series[name]
}

// RankSeries is a series with the rank that reported it.
type RankSeries struct {
	Rank   int
	Stream string
	*run.Series
}

// AllSeries lists every series of every rank and source, sorted by name, then
// in the order of the streams.
func (f *File) AllSeries() []RankSeries {
	var out []RankSeries
	for _, s := range f.Streams {
		for _, rank := range sortedRanks(s.Readers) {
			for _, v := range s.Readers[rank].Series {
				out = append(out, RankSeries{rank, s.Name, v})
			}
		}
	}
	for _, v := range f.record.Series {
		out = append(out, RankSeries{run.NoRank, "", v})
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.Name != b.Name {
			return a.Name < b.Name
		}
		return a.Stream < b.Stream || a.Stream == b.Stream && a.Rank < b.Rank
	})
	return out
}

// Logs lists the streams that are the run's own words, not exports.
func (f *File) Logs() []*Stream {
	var out []*Stream
	for _, s := range f.Streams {
		if s.Kind == "" || s.Kind == KindLog {
			out = append(out, s)
		}
	}
	return out
}
