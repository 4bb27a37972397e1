package tensorboard

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// maxSamples is how many samples one look gives: a run of ten million passes
// through a case file in pieces.
const maxSamples = 1 << 16

// scalarSize is about what a scalar takes in a file.
const scalarSize = 48

const (
	cursorKey = "tfevents "
	runKey    = "tensorboard.run" // of the fact that names the run
)

// Look adds to an observation what is new in the event files of the newest run
// among them. It goes on where obs.Next of the look before stood, and sets
// obs.More where there is more than one look gives. A watch expects that a last
// record is not whole yet.
func Look(ctx context.Context, files []File, watch bool, since run.Cursor, obs *run.Observation) error {
	own, base, others := newest(files)
	if len(own) == 0 {
		return nil
	}
	if len(others) > 0 {
		obs.Gaps = append(obs.Gaps, source.Others("TensorBoard", base, others, "--tensorboard DIR/"+run.Name(others[0])))
	}
	key := "tfevents.run"
	if obs.Next[key] = base; since[key] != base || since == nil {
		obs.Facts = append(obs.Facts, run.Fact{Key: runKey, Value: path.Base("/" + base), From: run.Ref{File: own[0].Name}})
	}
	for i := range own {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := view{ctx: ctx, file: &own[i], obs: obs, watch: watch, folder: folderBelow(base, own[i].Name), names: map[string]string{}}
		if err := v.read(since[cursorKey+own[i].Name]); err != nil {
			return err
		}
	}
	return nil
}

func folderBelow(base, name string) string {
	return path.Dir(strings.TrimPrefix(strings.TrimPrefix(name, base), "/"))
}

// view is one look at one file.
type view struct {
	ctx    context.Context
	file   *File
	obs    *run.Observation
	watch  bool
	folder string
	names  map[string]string // of metrics, by tag
	event  event
	broken int // events that are none
}

// read reads on from where prev says; a file that was made anew is read from its
// start.
func (v *view) read(prev string) error {
	r := records{ctx: v.ctx, size: v.file.Size, at: parsePlace(prev)}
	if r.at.Off > r.size {
		r.at = place{}
	}
	keep := func() { v.obs.Next[cursorKey+v.file.Name] = r.at.String() }
	if keep(); r.at.Off == r.size {
		return nil
	}
	f, err := v.file.Open()
	if err != nil {
		v.gap(source.Reason("tensorboard", v.file.Name, err).Error(), "a readable copy of "+run.Name(path.Base(v.file.Name)))
		return nil
	}
	defer f.Close()
	r.r = f
	v.obs.Samples = slices.Grow(v.obs.Samples, max(0, min(int((r.size-r.at.Off)/scalarSize), maxSamples-len(v.obs.Samples))))
	for n := 0; ; n++ {
		if len(v.obs.Samples) >= maxSamples {
			v.obs.More = true
			break
		}
		if n%8192 == 0 && v.ctx.Err() != nil {
			return v.ctx.Err()
		}
		data, at, err := r.next()
		if err != nil && v.ctx.Err() != nil {
			return v.ctx.Err()
		}
		if err != nil {
			v.gap(err.Error(), "an undamaged copy of "+run.Name(path.Base(v.file.Name)))
			break
		}
		if data == nil {
			break
		}
		v.take(data, at)
	}
	keep()
	v.report(&r)
	return nil
}

// take takes the scalars of an event.
func (v *view) take(data []byte, at int64) {
	e := &v.event
	ok := e.parse(data) && e.values(func(x *value) {
		if x.meta != nil && v.hparams(x.meta, at) || !x.is || len(v.obs.Samples) >= 2*maxSamples {
			return
		}
		name, known := v.names[string(x.tag)]
		if !known {
			if len(x.tag) > maxTag || len(v.names) >= maxTags {
				return
			}
			name = metricName(v.folder, string(x.tag))
			v.names[string(x.tag)] = name
		}
		v.obs.Samples = append(v.obs.Samples, run.Sample{
			Name: name, Step: e.step, Value: x.scalar, At: e.at, Ref: run.Ref{File: v.file.Name, Offset: at}, Tracker: "tensorboard",
		})
	})
	if !ok {
		v.broken++
	}
}

// Bounds of what is no metric of a run.
const (
	maxTag  = 512
	maxTags = 20_000
)

// hparams takes hyperparameters as configuration, and says whether the value is
// of that plugin.
func (v *view) hparams(meta []byte, at int64) bool {
	all := hparams(meta)
	for _, h := range all {
		v.obs.Facts = append(v.obs.Facts, run.Fact{Key: "config." + strings.ToLower(h.key), Value: h.value, From: run.Ref{File: v.file.Name, Offset: at}})
	}
	return len(all) > 0
}

func (v *view) report(r *records) {
	left := r.size - r.at.Off
	switch {
	case left > 0 && !v.obs.More && !r.at.Lost && !v.watch:
		v.gap(fmt.Sprintf("ends in the middle of a record, %d bytes before its end: it was cut, or is being written", left), "nothing while the run lives; else the whole file")
	case r.damaged > 0:
		v.gap(fmt.Sprintf("damaged in %d places, the first at byte %d; the records between them were read", r.damaged, r.firstAt), "an undamaged copy of "+run.Name(path.Base(v.file.Name)))
	case v.broken > 0:
		v.gap(fmt.Sprintf("%d of its records hold no event", v.broken), "an undamaged copy of "+run.Name(path.Base(v.file.Name)))
	case r.huge > 0:
		v.gap(fmt.Sprintf("%d records of more than %d MB were passed over", r.huge, maxRecord>>20), "nothing: only images and graphs are so large")
	}
}

func (v *view) gap(why, ask string) {
	v.obs.Gaps = append(v.obs.Gaps, run.Gap{What: v.file.Name, Why: why, Ask: ask})
}

// String is the form that parsePlace reads.
func (p place) String() string {
	if p.Lost {
		return "~" + strconv.FormatInt(p.Off, 10)
	}
	return strconv.FormatInt(p.Off, 10)
}

func parsePlace(s string) place {
	digits, lost := strings.CutPrefix(s, "~")
	off, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || off < 0 {
		return place{}
	}
	return place{off, lost}
}
