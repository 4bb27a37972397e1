package plot

import (
	"math"

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
	c.drawMarks(dc, toX)
	for i, l := range c.panel.Lines {
		bold, thinner := first, noise
		if i > 0 {
			bold, thinner = other, other
		}
		c.drawLine(dc, l, bold, thinner, toX, toY)
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
			dc.StrokeLines(raw, at)
		}
		if clean != nil {
			dc.StrokeLines(line(bold, 1.4), points(clean))
		}
	}
}

// drawMarks draws a line for each mark through all panels.
func (c *curves) drawMarks(dc draw.Canvas, toX func(float64) vg.Length) {
	for _, m := range c.marks {
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
		}
		dc.StrokeLine2(line(h, 0.9, dash...), x, dc.Min.Y, x, dc.Max.Y)
		if c.names && m.Label != "" {
			c.label(dc, x, dc.Min.Y+11, m.Label, h)
		}
	}
}

// drawLost marks along the top what is not finite, and says where it began.
func (c *curves) drawLost(dc draw.Canvas, toX func(float64) vg.Length) {
	const most = 200
	for _, l := range c.panel.Lines {
		_, lost := l.strokes()
		for i := 0; i < len(lost); i += 1 + len(lost)/most {
			dc.DrawGlyph(draw.GlyphStyle{Color: alarm, Radius: 2, Shape: draw.CrossGlyph{}}, vg.Point{X: toX(lost[i]), Y: dc.Max.Y - 3})
		}
	}
	if x, label, ok := c.panel.lostLabel(); ok && dc.ContainsX(toX(x)) {
		dc.StrokeLine2(line(alarm, 0.9, 2, 2), toX(x), dc.Min.Y, toX(x), dc.Max.Y)
		c.label(dc, toX(x), dc.Max.Y-7, label, alarm)
	}
}

// label writes beside a place, on the side where there is room.
func (c *curves) label(dc draw.Canvas, x, y vg.Length, s string, h hue) {
	st := style(h, 8, false)
	at := vg.Point{X: x + 4, Y: y}
	if w := st.Width(s); at.X+w > dc.Max.X {
		at.X = x - 4 - w
	}
	dc.FillText(st, at, s)
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
