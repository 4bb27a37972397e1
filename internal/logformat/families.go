package logformat

// family is a program whose lines the general reader understands, and what
// gives it away.
type family struct {
	name  string
	signs []string // all of them stand in the line
}

// families in the order in which they are tried; the first one names the line.
var families = []family{
	{"megatron", []string{"consumed samples:"}},
	{"megatron", []string{"iteration", "lm loss:"}},
	{"deepspeed", []string{"RunningAvgSamplesPerSec="}},
	{"deepspeed", []string{"step=", "skipped=", "lr=["}},
	{"fairseq", []string{"num_updates"}},
	{"torchtitan", []string{"step:", "loss:", "tps:"}},
	{"llm.c", []string{"step", "| loss", "tok/s"}},
	{"modded-nanogpt", []string{"step:", "train_time:"}},
	{"nanogpt", []string{"iter ", "loss ", "mfu"}},
	{"nanogpt", []string{"step ", "train loss", "val loss"}},
	{"maxtext", []string{"completed step:", "total_weights"}},
	{"detectron2", []string{"iter: ", "total_loss: "}},
	{"mmengine", []string{"Epoch(", "["}},
	{"mmengine", []string{"Iter(", "["}},
	{"mmcv", []string{"Epoch [", "lr: ", "data_time: "}},
	{"mmcv", []string{"Iter [", "lr: "}},
	{"paddle", []string{"batch_cost: ", "loss: "}},
	{"paddle", []string{"avg_batch_cost:"}},
	{"open_clip", []string{"Train Epoch:", "Data (t):"}},
	{"imagenet", []string{"Epoch: [", "Acc@1"}},
	{"imagenet", []string{"Test: [", "Acc@1"}},
	{"timm", []string{"Train: ", "Loss: ", "Time: "}},
	{"swin", []string{"Train: [", "grad_norm "}},
	{"caffe", []string{"solver.cpp"}},
	{"mxnet", []string{"Epoch[", "Speed"}},
	{"cyclegan", []string{"(epoch: ", "iters: "}},
	{"verl", []string{"step:", " - actor/"}},
	{"verl", []string{"step:", " - global_seqlen/"}},
	{"composer", []string{"[batch="}},
	{"olmo", []string{"[step=", ",epoch="}},
	{"tf-estimator", []string{"INFO:tensorflow:loss = "}},
	{"wenet", []string{"TRAIN ", "Batch ", "loss "}},
	{"wenet", []string{"CV ", "Batch ", "loss "}},
	{"deepmd", []string{"DEEPMD", "atch "}},
	{"litgpt", []string{"iter ", " step ", "iter time: "}},
}

// familyOf names the program of a line that the general reader read, or "". The
// lines of a stream are mostly of one program, so that one is asked first.
func (r *Reader) familyOf(b []byte) string {
	if r.kin != nil && r.kin.wrote(b) {
		return r.kin.name
	}
	for i := range families {
		if families[i].wrote(b) {
			r.kin = &families[i]
			return r.kin.name
		}
	}
	return ""
}

func (f *family) wrote(b []byte) bool {
	for _, s := range f.signs {
		if !contains(b, s) {
			return false
		}
	}
	return true
}

// settle completes a reading: its time, its family, and what is no value.
func (r *Reader) settle(l line) {
	o := &r.out
	if o.Time.IsZero() {
		if b := skipSpace(l.b); len(b) > 0 && b[0] == '{' {
			o.Time = jsonTime(b)
		} else {
			var p Prefix
			p.stamp(l.b)
			o.Time = p.Time
		}
	}
	if o.Progress {
		r.course.stamp(o.Time)
	}
	if o.Format != general {
		return
	}
	r.ofFamily(r.familyOf(l.b))
}

// ofFamily completes a reading with the program that wrote its line.
func (r *Reader) ofFamily(f string) {
	o := &r.out
	if f != "" {
		o.Format = f
		if o.Progress {
			r.family = f
		}
		if f == "torchtitan" {
			r.dropPlaceholder()
		}
	}
}

// dropPlaceholder drops the loss of -1 that torchtitan prints on pipeline stages
// which do not compute one.
func (r *Reader) dropPlaceholder() {
	for i, v := range r.out.Values {
		if v.Name == "loss" && v.Value == -1 {
			r.out.Values = append(r.out.Values[:i], r.out.Values[i+1:]...)
			return
		}
	}
}
