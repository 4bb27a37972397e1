package tensorboard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

// record frames an event as TensorFlow does.
func record(data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, checksum(b))
	b = append(b, data...)
	return binary.LittleEndian.AppendUint32(b, checksum(data))
}

func message(num protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), m)
}

func varint(num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), v)
}

func fixed32(num protowire.Number, v uint32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(nil, num, protowire.Fixed32Type), v)
}

func fixed64(num protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(nil, num, protowire.Fixed64Type), v)
}

func cat(parts ...[]byte) []byte { return slices.Concat(parts...) }

// scalarEvent is an event with one simple_value.
func scalarEvent(tag string, step int64, v float64) []byte {
	value := cat(message(valueTag, []byte(tag)), fixed32(valueSimple, math.Float32bits(float32(v))))
	return record(cat(fixed64(eventWallTime, math.Float64bits(1.7e9+float64(step))), varint(eventStep, uint64(step)), message(eventSummary, message(1, value))))
}

func eventFile(t *testing.T, dir, name string, parts ...[]byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, cat(parts...), 0o644); err != nil {
		t.Fatal(err)
	}
}

const firstFile, secondFile = "events.out.tfevents.1700000000.h.1.0", "events.out.tfevents.1700009999.h.2.0"

func opened(t *testing.T, ref string, watch bool) source.Source {
	t.Helper()
	s, err := Kind().Open(t.Context(), ref, source.Options{Watch: watch})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// seen looks at a folder until there is no more, and spells the samples.
func seen(t *testing.T, s source.Source, since run.Cursor) (samples []string, obs run.Observation) {
	t.Helper()
	obs = run.Observation{More: true, Next: since}
	for obs.More {
		var err error
		if obs, err = s.Observe(t.Context(), obs.Next); err != nil {
			t.Fatal(err)
		}
		for _, x := range obs.Samples {
			samples = append(samples, fmt.Sprintf("%s@%d=%v", x.Name, x.Step, x.Value))
		}
	}
	return samples, obs
}

func TestScalarsOfAllForms(t *testing.T) {
	tensor := func(typ uint64, parts ...[]byte) []byte { return cat(varint(tensorType, typ), cat(parts...)) }
	le := binary.LittleEndian
	for name, c := range map[string]struct {
		tensor []byte
		want   float64
		none   bool
	}{
		"float content":      {tensor: tensor(typeFloat, message(tensorContent, le.AppendUint32(nil, math.Float32bits(1.5)))), want: 1.5},
		"double content":     {tensor: tensor(typeDouble, message(tensorContent, le.AppendUint64(nil, math.Float64bits(2.5)))), want: 2.5},
		"NaN":                {tensor: tensor(typeFloat, message(tensorContent, le.AppendUint32(nil, 0x7fc00000))), want: math.NaN()},
		"packed float":       {tensor: tensor(typeFloat, message(tensorFloat, le.AppendUint32(nil, math.Float32bits(3)))), want: 3},
		"lone float":         {tensor: tensor(typeFloat, fixed32(tensorFloat, math.Float32bits(4))), want: 4},
		"packed double":      {tensor: tensor(typeDouble, message(tensorDouble, le.AppendUint64(nil, math.Float64bits(5)))), want: 5},
		"negative int64":     {tensor: tensor(typeInt64, varint(tensorInt64, ^uint64(6))), want: -7},
		"int32":              {tensor: tensor(typeInt32, message(tensorInt, protowire.AppendVarint(nil, 8))), want: 8},
		"bfloat16":           {tensor: tensor(typeBfloat16, message(tensorContent, []byte{0x80, 0x3f})), want: 1},
		"half":               {tensor: tensor(typeHalf, message(tensorHalf, protowire.AppendVarint(nil, 0x3c00))), want: 1},
		"half, tiny":         {tensor: tensor(typeHalf, message(tensorHalf, protowire.AppendVarint(nil, 1))), want: math.Ldexp(1, -24)},
		"half, -Inf":         {tensor: tensor(typeHalf, message(tensorHalf, protowire.AppendVarint(nil, 0xfc00))), want: math.Inf(-1)},
		"zero is left out":   {tensor: tensor(typeFloat), want: 0},
		"of one element":     {tensor: tensor(typeFloat, message(tensorShape, message(2, varint(1, 1))), fixed32(tensorFloat, math.Float32bits(9))), want: 9},
		"a list is none":     {tensor: tensor(typeFloat, message(tensorShape, message(2, varint(1, 3))), message(tensorContent, make([]byte, 12))), none: true},
		"an empty one, too":  {tensor: tensor(typeFloat, message(tensorShape, message(2, nil))), none: true},
		"a text is none":     {tensor: tensor(7, message(8, []byte("hello"))), none: true},
		"two floats as bits": {tensor: tensor(typeFloat, message(tensorContent, make([]byte, 8))), none: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := scalar(c.tensor)
			if ok == c.none || !c.none && got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
				t.Errorf("want %v, got %v, %v", c.want, got, ok)
			}
		})
	}
}

func TestWhichFilesAreTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		files  []string // the later ones are newer
		want   string   // metrics
		others string
	}{
		"its own and what is below":          {[]string{firstFile, "loss_val/" + firstFile, "1700000000.5/" + firstFile}, "loss loss_val loss", ""},
		"phases of one run":                  {[]string{"logs/train/" + firstFile, "logs/validation/" + firstFile}, "train/loss validation/loss", ""},
		"the newest of several":              {[]string{"version_0/" + firstFile, "version_1/" + secondFile}, "loss", "1 more TensorBoard run: version_0"},
		"the newest, whatever its name":      {[]string{"b/" + firstFile, "a/" + secondFile}, "loss", "1 more TensorBoard run: b"},
		"the others are named, newest first": {[]string{"c/" + firstFile, "d/train/" + firstFile, "d/validation/" + firstFile, "b/" + firstFile, "a/" + secondFile}, "loss", "3 more TensorBoard runs: b, d, c"},
		"the newest of several, nested":      {[]string{"x/y/old/" + firstFile, "x/y/new/" + secondFile, "x/y/new/eval/" + secondFile}, "loss eval/loss", "1 more TensorBoard run: x/y/old"},
		"a resumed run, in its order":        {[]string{secondFile, firstFile}, "loss loss", ""},
		"a profile is no file of events":     {[]string{firstFile, "events.out.tfevents.1700000001.h.profile-empty"}, "loss", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i, f := range c.files {
				eventFile(t, dir, f, scalarEvent("loss", int64(i), 1))
				at := time.Unix(1.7e9+int64(i)*100, 0)
				if err := os.Chtimes(filepath.Join(dir, f), at, at); err != nil {
					t.Fatal(err)
				}
			}
			samples, obs := seen(t, opened(t, dir, false), nil)
			var got []string
			for _, s := range samples {
				name, _, _ := strings.Cut(s, "@")
				got = append(got, name)
			}
			slices.Sort(got)
			want := strings.Fields(c.want)
			slices.Sort(want)
			others := ""
			for _, g := range obs.Gaps {
				others += g.What
			}
			if diff := cmp.Diff([]any{want, c.others}, []any{got, others}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAResumedRunIsReadInOrder(t *testing.T) {
	dir := t.TempDir()
	eventFile(t, dir, secondFile, scalarEvent("loss", 2, 20), scalarEvent("loss", 3, 30))
	eventFile(t, dir, firstFile, scalarEvent("loss", 1, 1), scalarEvent("loss", 2, 2))
	got, _ := seen(t, opened(t, dir, false), nil)
	if diff := cmp.Diff([]string{"loss@1=1", "loss@2=2", "loss@2=20", "loss@3=30"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDamagedFiles(t *testing.T) {
	a, b, c := scalarEvent("loss", 1, 1), scalarEvent("loss", 2, 2), scalarEvent("loss", 3, 3)
	flipped := slices.Clone(b)
	flipped[len(flipped)-6] ^= 1
	for name, x := range map[string]struct {
		parts [][]byte
		want  []string
		why   string // of the gap
	}{
		"whole":                {[][]byte{a, b, c}, []string{"loss@1=1", "loss@2=2", "loss@3=3"}, ""},
		"torn":                 {[][]byte{a, b[:len(b)-3]}, []string{"loss@1=1"}, "ends in the middle of a record"},
		"torn in its head":     {[][]byte{a, b[:5]}, []string{"loss@1=1"}, "ends in the middle of a record"},
		"a flipped bit":        {[][]byte{a, flipped, c}, []string{"loss@1=1", "loss@3=3"}, "damaged in 1 places, the first at byte"},
		"strange bytes":        {[][]byte{a, []byte("who knows what this is"), c}, []string{"loss@1=1", "loss@3=3"}, "damaged in 1 places"},
		"a hole at its end":    {[][]byte{a, make([]byte, 5000)}, []string{"loss@1=1"}, "damaged in 1 places"},
		"a record of no event": {[][]byte{a, record([]byte("\xff\xff\xff")), c}, []string{"loss@1=1", "loss@3=3"}, "1 of its records hold no event"},
		"a huge record":        {[][]byte{a, record(make([]byte, maxRecord+1)), c}, []string{"loss@1=1", "loss@3=3"}, "1 records of more than 16 MB"},
		"empty":                {nil, nil, "hold no scalar"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			eventFile(t, dir, firstFile, x.parts...)
			got, obs := seen(t, opened(t, dir, false), nil)
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Error(diff)
			}
			if x.why == "" && len(obs.Gaps) > 0 || x.why != "" && (len(obs.Gaps) != 1 || !strings.Contains(obs.Gaps[0].Why, x.why)) {
				t.Errorf("want a gap %q, got %+v", x.why, obs.Gaps)
			}
		})
	}
}

func TestHyperparametersAreConfiguration(t *testing.T) {
	entry := func(key string, v []byte) []byte { return message(1, cat(message(1, []byte(key)), message(2, v))) }
	start := cat(entry("LR", fixed64(2, math.Float64bits(0.1))), entry("optimizer", message(3, []byte("adamw"))), entry("fp16", varint(4, 1)))
	plugin := cat(message(1, []byte("hparams")), message(2, message(3, start)))
	value := cat(message(valueTag, []byte("_hparams_/session_start_info")), message(valueMeta, message(1, plugin)))
	dir := t.TempDir()
	eventFile(t, dir, firstFile, record(message(eventSummary, message(1, value))), scalarEvent("loss", 1, 1))
	_, obs := seen(t, opened(t, dir, false), nil)
	var got []string
	for _, f := range obs.Facts {
		if strings.HasPrefix(f.Key, "config.") {
			got = append(got, f.Key+"="+f.Value)
		}
	}
	if diff := cmp.Diff([]string{"config.lr=0.1", "config.optimizer=adamw", "config.fp16=true"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestAnyCutGivesTheSame: in whatever pieces a file grows, a watch sees each
// sample once and in order, and says nothing of a record that is not whole yet.
func TestAnyCutGivesTheSame(t *testing.T) {
	var whole []byte
	var want []string
	for i := range int64(40) {
		whole = append(whole, scalarEvent(fmt.Sprint("m", i%3), i, float64(i))...)
		want = append(want, fmt.Sprintf("m%d@%d=%d", i%3, i, i))
	}
	check := func(cuts []uint16) bool {
		dir := t.TempDir()
		at := []int{len(whole)}
		for _, c := range cuts {
			at = append(at, int(c)%len(whole))
		}
		slices.Sort(at)
		var got []string
		since := run.Cursor(nil)
		for _, n := range at {
			eventFile(t, dir, firstFile, whole[:n])
			samples, obs := seen(t, opened(t, dir, true), since)
			got, since = append(got, samples...), obs.Next
			if len(obs.Gaps) > 0 {
				t.Logf("at %d: %+v", n, obs.Gaps)
				return false
			}
		}
		return slices.Equal(want, got)
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 40}); err != nil {
		t.Error(err)
	}
}

func TestALongRunComesInPieces(t *testing.T) {
	dir := t.TempDir()
	var b []byte
	for i := range int64(maxSamples + 10) {
		b = append(b, scalarEvent("loss", i, 1)...)
	}
	eventFile(t, dir, firstFile, b)
	eventFile(t, dir, secondFile, scalarEvent("loss", maxSamples+10, 1))
	s := opened(t, dir, false)
	first, err := s.Observe(t.Context(), nil)
	if err != nil || !first.More || len(first.Samples) != maxSamples || len(first.Gaps) > 0 {
		t.Fatalf("%v: more %v, %d samples, %+v", err, first.More, len(first.Samples), first.Gaps)
	}
	rest, err := s.Observe(t.Context(), first.Next)
	if err != nil || rest.More || len(rest.Samples) != 11 || rest.Samples[10].Step != maxSamples+10 {
		t.Errorf("%v: more %v, %d samples", err, rest.More, len(rest.Samples))
	}
}

func TestBadTargets(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "run.log")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]error{"": source.ErrBadTarget, filepath.Join(dir, "none"): source.ErrNotFound, other: source.ErrBadTarget} {
		if _, err := Kind().Open(t.Context(), ref, source.Options{}); !errors.Is(err, want) {
			t.Errorf("%q: want %v, got %v", ref, want, err)
		}
	}
	if _, err := opened(t, dir, false).Observe(t.Context(), nil); !errors.Is(err, source.ErrNoEvidence) {
		t.Errorf("a folder without events: %v", err)
	}
	later := filepath.Join(dir, "later")
	s := opened(t, later, true)
	_, obs := seen(t, s, nil)
	if len(obs.Gaps) != 1 {
		t.Fatalf("a folder that is not there yet: %+v", obs)
	}
	eventFile(t, later, firstFile, scalarEvent("loss", 1, 1))
	if got, _ := seen(t, s, obs.Next); len(got) != 1 {
		t.Errorf("then it is there: %v", got)
	}
	if got, _ := seen(t, opened(t, filepath.Join(later, firstFile), false), nil); len(got) != 1 {
		t.Errorf("one file by its name: %v", got)
	}
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	eventFile(t, dir, firstFile, scalarEvent("loss", 1, 1), scalarEvent("loss", 2, math.NaN()), []byte("damage"), scalarEvent("lr", 3, 1))
	eventFile(t, dir, "loss_val/"+secondFile, scalarEvent("loss", 1, 1))
	sourcetest.Run(t, func(t *testing.T) source.Source { return opened(t, dir, false) })
}

// FuzzEvents: whatever a file holds, reading it ends, within its own size, and two
// looks see what one would.
func FuzzEvents(f *testing.F) {
	f.Add(cat(scalarEvent("loss", 1, 1), scalarEvent("loss", 2, math.NaN())), 30)
	f.Add(record([]byte("\x2a\x00")), 3)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		read := func(size int, at place) (n int, end place) {
			v := view{ctx: t.Context(), file: &File{}, obs: &run.Observation{Next: run.Cursor{}}, names: map[string]string{}}
			r := records{ctx: t.Context(), r: strings.NewReader(string(b)), size: int64(size), at: at}
			for {
				data, off, err := r.next()
				if err != nil {
					t.Fatal(err)
				}
				if data == nil {
					return n, r.at
				}
				v.take(data, off)
				hparams(data)
				n++
			}
		}
		whole, _ := read(len(b), place{})
		first, at := read(max(0, min(cut, len(b))), place{})
		if rest, _ := read(len(b), parsePlace(at.String())); first+rest != whole {
			t.Errorf("%d records at once, %d and %d in two looks", whole, first, rest)
		}
	})
}

// BenchmarkLook reads as many scalars as one look gives.
func BenchmarkLook(b *testing.B) {
	dir := b.TempDir()
	var whole []byte
	for i := range int64(maxSamples) {
		whole = append(whole, scalarEvent("train/loss", i, 1)...)
	}
	if err := os.WriteFile(filepath.Join(dir, firstFile), whole, 0o644); err != nil {
		b.Fatal(err)
	}
	s, err := Kind().Open(b.Context(), dir, source.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.SetBytes(int64(len(whole)))
	for b.Loop() {
		if obs, err := s.Observe(b.Context(), nil); err != nil || len(obs.Samples) != maxSamples {
			b.Fatal(err, len(obs.Samples))
		}
	}
}
