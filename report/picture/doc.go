// Package picture draws recordings as SVG, for documents: a timeline, an LDS tile
// with and without its swizzle, and output tiles by XCD. Colours and patterns are
// those of the page (package html).
package picture

import (
	"bytes"
	"fmt"
	"html"
	"io"
)

// svg is a drawing under way.
type svg struct {
	b             bytes.Buffer
	width, height int
}

func newSVG(width, height int, title string) *svg {
	s := &svg{width: width, height: height}
	fmt.Fprintf(&s.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(&s.b, "<title>%s</title>\n", html.EscapeString(title))
	s.rect(0, 0, float64(width), float64(height), "#ffffff", "")
	return s
}

func (s *svg) rect(x, y, w, h float64, fill, more string) {
	fmt.Fprintf(&s.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"%s/>`+"\n", num(x), num(y), num(w), num(h), fill, more)
}

// text writes words; anchor is start, middle or end.
func (s *svg) text(x, y float64, anchor, fill, words, more string) {
	fmt.Fprintf(&s.b, `<text x="%s" y="%s" text-anchor="%s" fill="%s"%s>%s</text>`+"\n", num(x), num(y), anchor, fill, more, html.EscapeString(words))
}

// num is a coordinate in the fewest digits.
func num(v float64) string {
	t := fmt.Sprintf("%.1f", v)
	if t[len(t)-2:] == ".0" {
		return t[:len(t)-2]
	}
	return t
}

func (s *svg) writeTo(w io.Writer) error {
	s.b.WriteString("</svg>\n")
	_, err := w.Write(s.b.Bytes())
	return err
}

// onColour is black or white, whichever reads on a colour "#rrggbb".
func onColour(hex string) string {
	var r, g, b int
	if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &r, &g, &b); err == nil && 299*r+587*g+114*b < 140000 {
		return "#ffffff"
	}
	return "#1b1f27"
}
