package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of a picture in points.
const (
	width       = 720
	panelHeight = 150
	headHeight  = 26
	footHeight  = 22
	thinTo      = 400
)

// The colours of a light page and of a dark one. Of an SVG each becomes a variable
// of the page's style; none is black, which the library leaves out.
var (
	paper = hue{"paper", rgb(0xffffff), "#11161c"}
	ink   = hue{"ink", rgb(0x1f2933), "#e6edf3"}
	faint = hue{"faint", rgb(0x6b7785), "#9aa7b4"}
	grid  = hue{"grid", rgb(0xe4e8ec), "#2b343e"}
	first = hue{"first", rgb(0x2563eb), "#7aa2f7"}
	noise = hue{"noise", rgb(0xb3c8f8), "#33456e"}
	other = hue{"other", rgb(0xd97706), "#f59e0b"}
	alarm = hue{"alarm", rgb(0xdc2626), "#f87171"}
	saved = hue{"saved", rgb(0x15803d), "#4ade80"}
	lost  = hue{"lost", rgb(0xfdecec), "#3b1d22"}
	hues  = []hue{paper, ink, faint, grid, first, noise, other, alarm, saved, lost}
)

// hue is a colour by the name of its variable.
type hue struct {
	name string
	color.NRGBA
	dark string
}

func rgb(v uint32) color.NRGBA { return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 0xff} }

func (h hue) hex() string { return fmt.Sprintf("#%02X%02X%02X", h.R, h.G, h.B) }

// Style is the rule that defines the variables of the colours for a page.
func Style() string {
	var b strings.Builder
	b.WriteString(":root {")
	for _, h := range hues {
		fmt.Fprintf(&b, " --plot-%s: light-dark(%s, %s);", h.name, h.hex(), h.dark)
	}
	b.WriteString(" }\n")
	return b.String()
}

// SVG writes the picture as an element of a page, whose style gives the colours.
func (p Picture) SVG(w io.Writer) error {
	c := vgsvg.New(width, p.height())
	if err := p.draw(draw.New(c)); err != nil {
		return err
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	_, body, _ := strings.Cut(b.String(), "<svg")
	_, body, _ = strings.Cut(body, ">")
	for _, h := range hues {
		body = strings.ReplaceAll(body, h.hex(), "var(--plot-"+h.name+")")
	}
	body = families.Replace(body)
	if _, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %d %d">%s`, width, int(p.height()), body); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}

// families gives the texts the page's own typeface.
var families = strings.NewReplacer("font-family:Liberation Sans;", "", "font-variant:none;", "", "font-style:normal;", "")

// head is the room for the title.
func (p Picture) head() vg.Length {
	if p.Title == "" {
		return 8
	}
	return headHeight
}

func (p Picture) height() vg.Length {
	return p.head() + footHeight + vg.Length(max(1, len(p.Panels)))*panelHeight
}

// draw puts the panels below each other, their axes aligned.
func (p Picture) draw(c draw.Canvas) error {
	p.words(c, vg.Point{X: 10, Y: c.Max.Y - 8}, p.Title, ink, 10, true)
	if len(p.Panels) == 0 {
		p.words(c, vg.Point{X: 10, Y: c.Max.Y - 40}, "the run reported no series to draw", faint, 9, false)
		return nil
	}
	low, high := p.span()
	var grids [][]*plot.Plot
	for i, panel := range p.Panels {
		g, err := p.panel(panel, low, high, i == len(p.Panels)-1)
		if err != nil {
			return err
		}
		grids = append(grids, []*plot.Plot{g})
	}
	area := draw.Crop(c, 8, -14, 4, -p.head())
	cells := plot.Align(grids, draw.Tiles{Rows: len(grids), Cols: 1, PadY: 4}, area)
	for i := range grids {
		grids[i][0].Draw(cells[i][0])
	}
	return nil
}

// span is the common range of steps.
func (p Picture) span() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	take := func(x float64) { low, high = min(low, x), max(high, x) }
	for _, panel := range p.Panels {
		for _, l := range panel.Lines {
			pieces, gaps := l.strokes()
			for _, piece := range pieces {
				take(piece[0].X)
				take(piece[len(piece)-1].X)
			}
			for _, gap := range gaps {
				take(gap[0])
				take(gap[len(gap)-1])
			}
		}
	}
	if low > high {
		return 0, 1
	}
	if low == high {
		return low - 1, high + 1
	}
	return low, high
}

// panel is one metric on its scale.
func (p Picture) panel(panel Panel, low, high float64, last bool) (*plot.Plot, error) {
	g := plot.New()
	g.BackgroundColor = paper
	g.X.Min, g.X.Max = low, high
	g.X.Padding, g.Y.Padding = 4, 4
	for _, a := range []*plot.Axis{&g.X, &g.Y} {
		a.LineStyle.Color, a.LineStyle.Width = grid, 0.8
		a.Tick.LineStyle.Color, a.Tick.Length = grid, 3
		a.Tick.Label.Color = faint
		a.Tick.Label.Font = sans(8, false)
		a.Label.TextStyle.Color = faint
		a.Label.TextStyle.Font = sans(8, false)
	}
	g.X.Tick.Marker = ticks{blank: !last}
	if last {
		g.X.Label.Text = p.axis()
	}
	c := &curves{panel: panel, marks: p.Marks, names: last}
	c.fit(g)
	g.Add(c)
	return g, nil
}

// axis names what the places are.
func (p Picture) axis() string {
	for _, panel := range p.Panels {
		for _, l := range panel.Lines {
			if l.hasSteps() {
				return "step"
			}
		}
	}
	return "sample"
}

func sans(size vg.Length, bold bool) font.Font {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return f
}

// words writes one line of text, cut to the width of the picture.
func (p Picture) words(c draw.Canvas, at vg.Point, s string, h hue, size vg.Length, bold bool) {
	if most := int(float64(c.Max.X-at.X) / (float64(size) * 0.55)); len([]rune(s)) > most && most > 1 {
		s = string([]rune(s)[:most-1]) + "…"
	}
	c.FillText(style(h, size, bold), at, s)
}

func style(h hue, size vg.Length, bold bool) text.Style {
	return text.Style{Color: h, Font: sans(size, bold), YAlign: draw.YTop, Handler: plot.DefaultTextHandler}
}
