package main

import (
	"fmt"
	"strings"
)

const (
	side   = 320 // of the plot, in pixels
	margin = 44
)

// calibrationPicture draws the share of right diagnoses over the stated
// confidence, ten bins, with their intervals; the line is where both are equal.
func calibrationPicture(all []trial) string {
	var bins [10]bin
	for i := range all {
		t := &all[i]
		if c := t.got.Confidence; t.failure() && t.err == nil && c != nil {
			at := &bins[min(9, max(0, int(*c*10)))]
			at.add(t.right())
			at.stated += *c
		}
	}
	x := func(v float64) float64 { return margin + v*side }
	y := func(v float64) float64 { return margin/2 + (1-v)*side }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11" fill="#888">`+"\n", side+2*margin, side+2*margin)
	fmt.Fprintf(&b, `<rect x="%g" y="%g" width="%d" height="%d" fill="none" stroke="#888"/>`+"\n", x(0), y(1), side, side)
	fmt.Fprintf(&b, `<line x1="%g" y1="%g" x2="%g" y2="%g" stroke="#888" stroke-dasharray="4"/>`+"\n", x(0), y(0), x(1), y(1))
	for i := range 6 {
		v := float64(i) / 5
		fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">%.1f</text><text x="%g" y="%g" text-anchor="end">%.1f</text>`+"\n", x(v), y(0)+16, v, x(0)-6, y(v)+4, v)
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">stated confidence (number: diagnoses)</text>`+"\n", x(0.5), y(0)+34)
	fmt.Fprintf(&b, `<text transform="translate(12 %g) rotate(-90)" text-anchor="middle">share that is right</text>`+"\n", y(0.5))
	for _, c := range bins {
		if c.asked == 0 {
			continue
		}
		low, high := c.interval()
		at, share := x(c.stated/float64(c.asked)), float64(c.right)/float64(c.asked)
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#4477aa"/><circle cx="%.1f" cy="%.1f" r="4" fill="#4477aa"/><text x="%.1f" y="%.1f">%d</text>`+"\n",
			at, y(low), at, y(high), at, y(share), at+6, y(share)+12, c.asked)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
