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

// The colours of the light page. Of an SVG each becomes a variable of the page's
// style; none is black, which the library leaves out.
var (
	paper = hue{"paper", color.NRGBA{0xff, 0xff, 0xff, 0xff}}
	ink   = hue{"ink", color.NRGBA{0x1f, 0x29, 0x33, 0xff}}
	faint = hue{"faint", color.NRGBA{0x6b, 0x77, 0x85, 0xff}}
	grid  = hue{"grid", color.NRGBA{0xe4, 0xe8, 0xec, 0xff}}
	first = hue{"first", color.NRGBA{0x25, 0x63, 0xeb, 0xff}}
	noise = hue{"noise", color.NRGBA{0xb3, 0xc8, 0xf8, 0xff}}
	other = hue{"other", color.NRGBA{0xd9, 0x77, 0x06, 0xff}}
	alarm = hue{"alarm", color.NRGBA{0xdc, 0x26, 0x26, 0xff}}
	saved = hue{"saved", color.NRGBA{0x15, 0x80, 0x3d, 0xff}}
	lost  = hue{"lost", color.NRGBA{0xfd, 0xec, 0xec, 0xff}}
	hues  = []hue{paper, ink, faint, grid, first, noise, other, alarm, saved, lost}
)

// hue is a colour by the name of its variable.
type hue struct {
	name string
	color.NRGBA
}

func (h hue) hex() string { return fmt.Sprintf("#%02X%02X%02X", h.R, h.G, h.B) }

// Style is the variables that a page has to define, with the values of the light
// one, in a fixed order.
func Style() [][2]string {
	var out [][2]string
	for _, h := range hues {
		out = append(out, [2]string{"--plot-" + h.name, h.hex()})
	}
	return out
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
