package logformat

import "bytes"

// yolo reads the tables of Ultralytics and of YOLOv5 to v7: a header that names
// the columns, rows "1/80  7.14G  1.502 …" with a bar or without, and the rows
// of the validation.
func (r *Reader) yolo(l line, out *Reading) bool {
	b := skipSpace(l.b)
	if has(b, "all ") {
		return r.yoloAll(b, out)
	}
	e, n := integer(b)
	if n == 0 || n >= len(b) || b[n] != '/' {
		return false
	}
	total, k := integer(b[n+1:])
	if k == 0 {
		return false
	}
	rest := skipSpace(b[n+1+k:])
	mem := 0
	for mem < len(rest) && (isDigit(rest[mem]) || rest[mem] == '.') {
		mem++
	}
	if mem == 0 || mem+1 >= len(rest) || rest[mem] != 'G' || !isSpace(rest[mem+1]) {
		return false
	}
	r.yoloValues(rest[mem+1:])
	out.Values, out.Phase = r.values, PhaseTrain
	s := spot{epoch: e, epochs: total, batch: -1, batches: -1, base: 1, done: true}
	if r.yoloZero || e == 0 {
		r.yoloZero = true
		s.base, s.epochs = 0, total+1
	}
	d, ok := parseBar(l.b)
	if !ok {
		s.whole = true
		if r.yoloZero { // the last row of an epoch cannot be told from the others
			r.advance(at{from: fromEpochs, step: e + 1, total: s.epochs, epoch: float64(e + 1), epochs: float64(s.epochs)}, out)
			return true
		}
		r.advance(r.place(out.Format, s), out)
		return true
	}
	s.batch, s.batches = d.n, d.total
	if d.rate > 0 {
		r.add("steps_per_second", d.rate)
		out.Values = r.values
	}
	a := at{from: fromBatches, epochs: float64(s.epochs), total: s.epochs * d.total}
	a.step = max(0, e-s.base)*d.total + d.n
	a.epoch = float64(max(0, e-s.base)) + float64(d.n)/float64(max(d.total, 1))
	r.course.roundsOf(out.Format).learn(s)
	r.advance(a, out)
	return true
}

// yoloValues adds the row's cells under the header's names.
func (r *Reader) yoloValues(b []byte) {
	for i := 2; i < len(r.yoloNames); i++ {
		b = skipSpace(b)
		v, n := number(b)
		if n == 0 || n < len(b) && !isSpace(b[n]) && b[n] != ':' {
			return
		}
		switch r.yoloNames[i] {
		case "Instances", "Size", "labels", "img_size", "targets":
		default:
			r.add(r.yoloNames[i], v)
		}
		b = b[n:]
	}
}

// yoloHeader keeps the header of the training table.
func (r *Reader) yoloHeader(l line) bool {
	b := skipSpace(l.b)
	if !has(b, "Epoch ") || !containsFold(b, "gpu_mem") {
		return false
	}
	r.yoloZero = contains(b, "gpu_mem")
	r.yoloNames = r.yoloNames[:0]
	for w := range bytes.FieldsSeq(b) {
		if len(r.yoloNames) < maxColumns {
			name := string(w)
			if name == "total" {
				name = "loss"
			}
			r.yoloNames = append(r.yoloNames, name)
		}
	}
	return true
}

// yoloAll reads the row of the validation over all classes.
func (r *Reader) yoloAll(b []byte, out *Reading) bool {
	names := [...]string{"", "", "precision", "recall", "mAP50", "mAP50-95"}
	b = skipSpace(b[len("all"):])
	for i := range names {
		v, n := number(b)
		if n == 0 || n < len(b) && !isSpace(b[n]) {
			return false
		}
		if i > 1 {
			r.add(names[i], v)
		}
		b = skipSpace(b[n:])
	}
	out.Values, out.Phase = r.values, PhaseEval
	r.here(out)
	return true
}
