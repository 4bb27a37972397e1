package plot

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// curves draws the lines of a panel and the marks behind them.
type curves struct {
	panel Panel
	marks []Mark
	names bool // the marks are named here
	log   bool

	taken []vg.Rectangle // by labels
}

// tag is a text beside a place.
type tag struct {
	x, y vg.Length
	text string
	hue  hue
}

// fit sets the range and the scale of the panel's own axis.
func (c *curves) fit(g *plot.Plot) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range c.panel.Lines {
		pieces, _ := l.strokes()
		for _, piece := range pieces {
			for _, q := range piece {
				low, high = min(low, q.Y), max(high, q.Y)
			}
		}
	}
	switch {
	case low > high: // nothing finite
		low, high = 0, 1
	case low == high:
		low, high = low-math.Abs(low)/10-1e-12, high+math.Abs(high)/10+1e-12
	}
	if c.log = c.panel.logarithmic(); c.log {
		g.Y.Scale = plot.LogScale{}
	}
	g.Y.Tick.Marker = ticks{log: c.log}
	g.Y.Min, g.Y.Max = low, high
}

// Plot implements plot.Plotter.
func (c *curves) Plot(dc draw.Canvas, g *plot.Plot) {
	toX, toY := g.Transforms(&dc)
	for _, t := range g.Y.Tick.Marker.Ticks(g.Y.Min, g.Y.Max) {
		if y := toY(t.Value); t.Label != "" && dc.ContainsY(y) {
			dc.StrokeLine2(line(grid, 0.6), dc.Min.X, y, dc.Max.X, y)
		}
	}
	c.shadeLost(dc, toX)
	c.drawMarks(dc, toX)
	for i, l := range c.panel.Lines {
		bold, thinner := first, noise
		if i > 0 {
			bold, thinner = other, other
		}
		c.drawLine(dc, l, bold, thinner, toX, toY)
	}
	for _, l := range c.panel.Lines {
		pieces, _ := l.strokes()
		for _, piece := range pieces {
			c.drawSpikes(dc, l.spikes(piece), toX, toY)
		}
	}
	c.drawName(dc)
	c.drawLost(dc, toX)
}

func line(h hue, width vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: h, Width: width, Dashes: dashes}
}

// drawLine draws what was reported, faint behind the running median where it is
// noisy; a lone sample is a dot.
func (c *curves) drawLine(dc draw.Canvas, l Line, bold, thinner hue, toX, toY func(float64) vg.Length) {
	points := func(piece []xy) []vg.Point {
		out := make([]vg.Point, len(piece))
		for i, q := range piece {
			out[i] = vg.Point{X: toX(q.X), Y: toY(q.Y)}
		}
		return out
	}
	pieces, _ := l.strokes()
	for _, piece := range pieces {
		clean := smooth(piece)
		raw := line(bold, 1.3)
		if clean != nil {
			raw = line(thinner, 0.8)
		}
		at := points(thin(piece, thinTo))
		if len(at) <= 2 {
			for _, p := range at {
				dc.DrawGlyph(draw.GlyphStyle{Color: bold, Radius: 1.8, Shape: draw.CircleGlyph{}}, p)
			}
		}
		if len(at) > 1 {
			stroke(dc, raw, at)
		}
		if clean != nil {
			stroke(dc, line(bold, 1.4), points(clean))
		}
	}
}

// stroke draws a line in parts: the library searches all of a path for each place
// that it crosses, which takes seconds for a noisy one.
func stroke(dc draw.Canvas, style draw.LineStyle, at []vg.Point) {
	const part = 24
	for len(at) > 1 {
		n := min(part, len(at))
		dc.StrokeLines(style, at[:n])
		at = at[n-1:]
	}
}

// drawMarks draws a line for each mark through all panels, and names them in the
// last one, above each other where they would overlap.
func (c *curves) drawMarks(dc draw.Canvas, toX func(float64) vg.Length) {
	for _, m := range slices.Backward(c.marks) { // the gravest above the others
		x := toX(float64(m.Step))
		if !dc.ContainsX(x) {
			continue
		}
		h, dash := alarm, []vg.Length{}
		switch m.Role {
		case Saved:
			h, dash = saved, []vg.Length{4, 2}
		case Sign:
			dash = []vg.Length{2, 2}
		case Seen:
			h, dash = other, []vg.Length{6, 2}
		}
		dc.StrokeLine2(line(h, 0.9, dash...), x, dc.Min.Y, x, dc.Max.Y)
		if c.names && m.Label != "" {
			c.label(dc, toX, tag{x, dc.Min.Y + 11, m.Label, h})
		}
	}
}

// drawSpikes puts a ring around each spike and names the highest.
func (c *curves) drawSpikes(dc draw.Canvas, spikes []xy, toX, toY func(float64) vg.Length) {
	if len(spikes) == 0 {
		return
	}
	for _, p := range spikes {
		dc.DrawGlyph(draw.GlyphStyle{Color: alarm, Radius: 3.5, Shape: draw.RingGlyph{}}, vg.Point{X: toX(p.X), Y: toY(p.Y)})
	}
	top := slices.MaxFunc(spikes, func(a, b xy) int { return cmp.Compare(a.Y, b.Y) })
	c.label(dc, toX, tag{toX(top.X) + 2, min(toY(top.Y)+10, dc.Max.Y), "spike to " + strconv.FormatFloat(top.Y, 'g', 3, 64), alarm})
}

// shadeLost shades where values are not finite.
func (c *curves) shadeLost(dc draw.Canvas, toX func(float64) vg.Length) {
	for _, l := range c.panel.Lines {
		_, gaps := l.strokes()
		for _, gap := range gaps {
			left, right := max(dc.Min.X, toX(gap[0])), min(dc.Max.X, toX(gap[len(gap)-1]))
			dc.FillPolygon(lost, []vg.Point{{X: left, Y: dc.Min.Y}, {X: right, Y: dc.Min.Y}, {X: right, Y: dc.Max.Y}, {X: left, Y: dc.Max.Y}})
		}
	}
}

// drawLost crosses along the top what is not finite, and says where it began.
func (c *curves) drawLost(dc draw.Canvas, toX func(float64) vg.Length) {
	const most = 100
	for _, l := range c.panel.Lines {
		_, gaps := l.strokes()
		places := slices.Concat(gaps...)
		for i := 0; i < len(places); i += 1 + len(places)/most {
			dc.DrawGlyph(draw.GlyphStyle{Color: alarm, Radius: 2, Shape: draw.CrossGlyph{}}, vg.Point{X: toX(places[i]), Y: dc.Max.Y - 3})
		}
	}
	if x, label, ok := c.panel.lostLabel(); ok && dc.ContainsX(toX(x)) {
		dc.StrokeLine2(line(alarm, 0.9, 2, 2), toX(x), dc.Min.Y, toX(x), dc.Max.Y)
		c.label(dc, toX, tag{toX(x), dc.Max.Y - 7, label, alarm})
	}
}

// label writes beside a place, on the side where there is room and no mark stands,
// and above other labels.
func (c *curves) label(dc draw.Canvas, toX func(float64) vg.Length, t tag) {
	const lineHeight = 11
	st := style(t.hue, 8, false)
	w := st.Width(t.text)
	crossed := func(from vg.Length) bool {
		return slices.ContainsFunc(c.marks, func(m Mark) bool { x := toX(float64(m.Step)); return from-2 < x && x < from+w+2 && x != t.x })
	}
	left := t.x + 4
	if other := t.x - 4 - w; left+w > dc.Max.X || crossed(left) && !crossed(other) && other > dc.Min.X {
		left = other
	}
	box := vg.Rectangle{Min: vg.Point{X: left - 3, Y: t.y - lineHeight}, Max: vg.Point{X: left + w + 3, Y: t.y}}
	for range c.taken {
		if slices.ContainsFunc(c.taken, func(o vg.Rectangle) bool {
			return box.Min.X < o.Max.X && o.Min.X < box.Max.X && box.Min.Y < o.Max.Y && o.Min.Y < box.Max.Y
		}) {
			box = box.Add(vg.Point{Y: lineHeight})
		}
	}
	c.taken = append(c.taken, box)
	dc.FillText(st, vg.Point{X: left, Y: box.Max.Y}, t.text)
}

// drawName names the panel in its corner, and its lines where there are several.
func (c *curves) drawName(dc draw.Canvas) {
	at := vg.Point{X: dc.Min.X + 6, Y: dc.Max.Y - 4}
	for i, l := range c.panel.Lines {
		h := first
		if i > 0 {
			h = other
		}
		st := style(h, 9, true)
		name := l.Name
		if i == len(c.panel.Lines)-1 && c.log {
			name += "  (logarithmic)"
		}
		dc.FillText(st, at, name)
		at.X += st.Width(name) + 12
	}
}
