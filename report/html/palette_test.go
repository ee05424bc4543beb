package html

import (
	"bytes"
	"math"
	"strconv"
	"testing"
)

func rgb(t *testing.T, hex string) [3]float64 {
	t.Helper()
	v, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil || len(hex) != 7 {
		t.Fatalf("%q is no colour", hex)
	}
	var c [3]float64
	for i := range c {
		s := float64(v>>(16-8*i)&255) / 255
		if s <= 0.04045 {
			c[i] = s / 12.92
		} else {
			c[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return c
}

// vision are what a reader sees: all colours, greyscale, and full protanopia,
// deuteranopia and tritanopia on linear RGB (Machado, Oliveira and Fernandes 2009).
var vision = map[string][9]float64{
	"full":         {1, 0, 0, 0, 1, 0, 0, 0, 1},
	"greyscale":    {0.2126, 0.7152, 0.0722, 0.2126, 0.7152, 0.0722, 0.2126, 0.7152, 0.0722},
	"protanopia":   {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
	"deuteranopia": {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
	"tritanopia":   {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900},
}

// lab is CIE L*a*b* under D65 as a reader of the given vision sees a colour.
func lab(c [3]float64, m [9]float64) [3]float64 {
	var s [3]float64
	for i := range s {
		s[i] = min(max(m[3*i]*c[0]+m[3*i+1]*c[1]+m[3*i+2]*c[2], 0), 1)
	}
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (24389.0/27*v + 16) / 116
	}
	x := f((0.4124*s[0] + 0.3576*s[1] + 0.1805*s[2]) / 0.9505)
	y := f(0.2126*s[0] + 0.7152*s[1] + 0.0722*s[2])
	z := f((0.0193*s[0] + 0.1192*s[1] + 0.9505*s[2]) / 1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func distance(a, b [3]float64) float64 {
	return math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
}

// TestStylesAreDistinct: two kinds differ in pattern, or in colour for every
// reader, greyscale among them; a pattern's ink stands out from its ground.
func TestStylesAreDistinct(t *testing.T) {
	styles := Styles()
	script := []byte(asset("ui.js"))
	for name, m := range vision {
		for i, a := range styles {
			fill := lab(rgb(t, a.Fill), m)
			if a.Pattern != "solid" {
				if d := distance(fill, lab(rgb(t, a.Ink), m)); d < 18 {
					t.Errorf("%s: the ink of %s is %.0f from its ground", name, a.Name, d)
				}
			}
			for _, b := range styles[:i] {
				if d := distance(fill, lab(rgb(t, b.Fill), m)); a.Pattern == b.Pattern && d < 9 {
					t.Errorf("%s: %s and %s are %.1f apart", name, a.Name, b.Name, d)
				}
			}
		}
	}
	for _, s := range styles {
		if s.Name == "" || s.Doc == "" || !bytes.Contains(script, []byte(`"`+s.Pattern+`":`)) {
			t.Errorf("style %+v is not complete, or its pattern is not drawn", s)
		}
	}
}

// TestGroupsAreDistinct: wave groups on a matrix pipe differ for every reader, the
// two of ping-pong most of all. XCDs carry their number besides.
func TestGroupsAreDistinct(t *testing.T) {
	for name, m := range vision {
		for i, a := range GroupColours {
			for j, b := range GroupColours[:i] {
				least := 10.0
				if i == 1 && j == 0 {
					least = 40
				}
				if d := distance(lab(rgb(t, a), m), lab(rgb(t, b), m)); d < least {
					t.Errorf("%s: groups %d and %d are %.0f apart", name, i, j, d)
				}
			}
		}
	}
	if len(XCDColours) < 8 {
		t.Errorf("%d colours for 8 XCDs", len(XCDColours))
	}
}
