package logformat

import "bytes"

// columns is the header of a table whose rows are lines: CSV, fastai, spaCy,
// skorch, scikit-learn, Ultralytics.
type columns struct {
	names []string // canonical where they have a canonical name
	roles []role
	comma bool
	loose bool // one space is enough between two columns: the header is a comment, "# step loss"
	rows  int
	idle  int // lines since the last row
}

const maxColumns = 40

// header reports whether the line is a header and keeps it: it begins with a
// counter and names metrics.
func (r *Reader) header(l line) bool {
	b := skipSpace(l.b)
	c := columns{comma: l.has&mComma != 0 && bytes.IndexByte(b, ' ') < 0}
	if c.loose = len(b) > 6 && b[0] == '#' && isSpace(b[1]) && isAlpha(skipSpace(b[1:])[0]); c.loose {
		b = skipSpace(b[1:])
	}
	if len(b) < 6 || len(b) > 2000 || !isAlpha(b[0]) && b[0] != '#' || l.has&(mEq|mBrace|mColon) != 0 || !c.heads(b) {
		return false
	}
	for len(b) > 0 {
		var w []byte
		w, b = c.next(b)
		name := canonical(w)
		if name == "" {
			name = string(w)
		}
		c.names, c.roles = append(c.names, name), append(c.roles, columnRole(w, len(c.roles)))
	}
	r.cols = c
	return true
}

// heads reports whether the cells of a line are those of a header.
func (c *columns) heads(b []byte) bool {
	n, counters, metrics := 0, 0, 0
	for ; len(b) > 0; n++ {
		var w []byte
		w, b = c.next(b)
		if n == maxColumns || len(w) == 0 || !columnName(w) {
			return false
		}
		switch k := columnRole(w, n); {
		case k == countsSteps || k == countsGlobal || k == countsEpochs:
			counters++
		case n == 0 && !c.comma:
			return false
		case canonical(w) != "" || containsFold(w, "loss") || containsFold(w, "score") || containsFold(w, "psnr") || containsFold(w, "rmse"):
			metrics++
		}
	}
	return n > 1 && counters > 0 && metrics > 0
}

// next is the next name or cell: between commas, or between runs of two spaces
// or tabs.
func (c *columns) next(b []byte) (cell, rest []byte) {
	if c.comma {
		if before, after, ok := bytes.Cut(b, []byte{','}); ok {
			return before, after
		}
		return b, nil
	}
	i := 0
	for i < len(b) && !(b[i] == '\t' || b[i] == ' ' && (c.loose || i+1 == len(b) || b[i+1] == ' ' || b[i+1] == '\t')) {
		i++
	}
	return b[:i], skipSpace(b[i:])
}

func columnName(w []byte) bool {
	for _, c := range w {
		if c == '=' || c == '"' || c == '\'' || c == ':' || c == '|' || c == ';' {
			return false
		}
	}
	return isAlpha(w[0]) || w[0] == '#' || w[0] == '_'
}

// columnRole is what a column counts; spaCy writes E and # for epoch and step,
// nerfstudio "Step (% Done)".
func columnRole(w []byte, i int) role {
	switch {
	case i == 0 && has(w, "Step ("):
		return countsSteps
	case len(w) == 1 && w[0] == 'E' && i == 0:
		return countsEpochs
	case len(w) == 1 && w[0] == '#' && i == 1:
		return countsSteps
	}
	return counterOf(w)
}

// row reads a row under the last header.
func (r *Reader) row(l line, out *Reading) bool {
	c := &r.cols
	if len(c.names) == 0 {
		return false
	}
	if c.idle++; c.idle > 200 {
		c.names = nil
		return false
	}
	b := skipSpace(l.b)
	if !c.comma && (len(b) == 0 || !isDigit(b[0])) {
		return false
	}
	step, epoch := int64(-1), int64(-1)
	n := 0
	for ; len(b) > 0 && n < len(c.names); n++ {
		var w []byte
		w, b = c.next(b)
		v, k := number(w)
		if k == 0 && len(w) > 0 && n == 0 {
			return false
		}
		if k == 0 || k < len(w) && (isWord(w[k]) || w[k] == ':') {
			continue
		}
		switch c.roles[n] {
		case countsSteps, countsGlobal:
			step = int64(v)
		case countsEpochs:
			epoch = int64(v)
		case notCounter:
			r.add(c.names[n], v)
		}
	}
	if n < len(c.names)-1 || len(r.values) == 0 || step < 0 && epoch < 0 {
		r.values = r.values[:0]
		return false
	}
	c.idle = 0
	c.rows++
	out.Values, out.Phase = r.values, ""
	r.setPhase(out)
	if step >= 0 {
		r.advance(at{from: fromSteps, step: step, total: -1, epoch: float64(epoch), epochs: -1}, out)
		return true
	}
	r.epochLine(pair{val: float64(epoch), of: -1}, out)
	return true
}
