package plot

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// MaxPNG bounds the bytes of a PNG, so that a chat that carries it stays small.
const MaxPNG = 128 << 10

// PNG writes the picture, 1440 dots wide, or less where it would have more than
// MaxPNG bytes otherwise.
func (p Picture) PNG(w io.Writer) error {
	for dpi := 144; ; dpi -= 24 {
		b, err := p.png(dpi)
		if err != nil {
			return fmt.Errorf("plot: %w", err)
		}
		switch {
		case len(b) <= MaxPNG:
			_, err = w.Write(b)
			return err
		case dpi <= 72: // fewer panels say more than a blur
			p.Panels = p.Panels[:len(p.Panels)-1]
		}
	}
}

// png draws with a resolution. It takes a palette: the picture has few colours and
// their shades, and is a third of the size so.
func (p Picture) png(dpi int) ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(width, p.height()), vgimg.UseDPI(dpi), vgimg.UseBackgroundColor(paper))
	if err := p.draw(draw.New(c)); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.DefaultCompression}
	if err := e.Encode(&b, reduce(c.Image())); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// reduce gives each dot the nearest of the shades.
func reduce(from image.Image) *image.Paletted {
	out := image.NewPaletted(from.Bounds(), shades())
	known := map[color.RGBA]uint8{}
	for y := out.Rect.Min.Y; y < out.Rect.Max.Y; y++ {
		for x := out.Rect.Min.X; x < out.Rect.Max.X; x++ {
			v := color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)
			i, ok := known[v]
			if !ok {
				i = uint8(out.Palette.Index(v))
				known[v] = i
			}
			out.SetColorIndex(x, y, i)
		}
	}
	return out
}

// shades are the colours, and what lies between each and the paper.
func shades() color.Palette {
	const steps = 12
	out := color.Palette{paper.NRGBA}
	for _, h := range hues {
		for i := 1; i <= steps; i++ {
			mix := func(a, b uint8) uint8 { return uint8((int(a)*(steps-i) + int(b)*i) / steps) }
			out = append(out, color.NRGBA{mix(paper.R, h.R), mix(paper.G, h.G), mix(paper.B, h.B), 0xff})
		}
	}
	return out
}
