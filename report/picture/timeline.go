package picture

import (
	"fmt"
	"io"
	"slices"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/html"
	"github.com/whisker-sim/whisker/report/timeline"
)

// Measures of a timeline, in pixels.
const (
	gutter  = 150
	plot    = 1050
	rowStep = 22
	rowFull = 19
)

// patternArt are the lines of each pattern of the page's styles on its ground.
var patternArt = map[string]string{
	"slash":      `<path d="M-1,7 L7,-1 M-1,1 L1,-1 M5,7 L7,5" stroke="%s" stroke-width="1.6"/>`,
	"slash-wide": `<path d="M-1,7 L7,-1" stroke="%s" stroke-width="0.9"/>`,
	"backslash":  `<path d="M-1,-1 L7,7 M-1,5 L1,7 M5,-1 L7,1" stroke="%s" stroke-width="1.6"/>`,
	"rows":       `<path d="M0,1 H6 M0,4 H6" stroke="%s" stroke-width="1"/>`,
	"columns":    `<path d="M1,0 V6 M4,0 V6" stroke="%s" stroke-width="1.4"/>`,
	"dots":       `<path d="M1,0 v2 M4,3 v2" stroke="%s" stroke-width="2"/>`,
	"cross":      `<path d="M0,0 L6,6 M6,0 L0,6" stroke="%s" stroke-width="1.2"/>`,
	"checker":    `<path d="M0,0 h3 v3 h-3 z M3,3 h3 v3 h-3 z" fill="%s"/>`,
	"grid":       `<path d="M0,0.5 H6 M0.5,0 V6" stroke="%s" stroke-width="1"/>`,
}

// paint is what fills a style; patterns are defined once.
func (s *svg) paint(st html.Style) string {
	if st.Pattern == "solid" {
		return st.Fill
	}
	return "url(#" + st.Name + ")"
}

func (s *svg) patterns(styles []html.Style) {
	s.b.WriteString("<defs>\n")
	for _, st := range styles {
		if art := patternArt[st.Pattern]; art != "" {
			fmt.Fprintf(&s.b, `<pattern id="%s" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" fill="%s"/>`+art+"</pattern>\n", st.Name, st.Fill, st.Ink)
		}
	}
	s.b.WriteString("</defs>\n")
}

// drawing is a timeline of a recording's first CU.
type drawing struct {
	*svg
	r        *timeline.Recording
	cu       *timeline.CU
	from, to int64
	styles   []html.Style
	used     []bool
	grouped  bool // a wave of the second group was drawn
	y        float64
}

// has reports whether the kernel has an instruction of a class.
func (d *drawing) has(class string) bool {
	return slices.ContainsFunc(d.r.Insts, func(in timeline.Inst) bool { return in.Class == class })
}

// extra is the number of rows below the waves of a SIMD: its matrix pipe's, if
// the kernel uses it.
func (d *drawing) extra() int {
	if d.has("mfma") {
		return 1
	}
	return 0
}

// Timeline draws the lanes of the recording's first CU over the whole recording;
// cut it to a window of a few thousand cycles first.
func Timeline(w io.Writer, r *timeline.Recording) error {
	if len(r.CUs) == 0 || r.End <= r.Window.From {
		return fmt.Errorf("picture: nothing was recorded")
	}
	d := &drawing{r: r, cu: &r.CUs[0], from: r.Window.From, to: r.End, styles: html.Styles()}
	d.used = make([]bool, len(d.styles))
	rows := 0
	for s := range r.SIMDs {
		if n := d.lanes(s); n > 0 {
			rows += n + d.extra()
		}
	}
	title := fmt.Sprintf("%s on %s, CU %s, cycles %d to %d", r.Run.Kernel, r.Run.Arch, d.cu.Name(), d.from, d.to)
	d.svg = newSVG(gutter+plot+10, 60+rows*rowStep+20*r.SIMDs/4+2*rowStep+66, title)
	d.patterns(d.styles)
	d.text(8, 18, "start", "#1b1f27", title, ` font-size="14" font-weight="bold"`)
	d.ruler()
	d.y = 48
	for s := range r.SIMDs {
		d.simd(s)
	}
	d.banks()
	d.legend()
	return d.writeTo(w)
}

func (d *drawing) lanes(simd int) (n int) {
	for i := range d.cu.Lanes {
		if d.cu.Lanes[i].SIMD == simd {
			n++
		}
	}
	return n
}

func (d *drawing) x(t int64) float64 { return gutter + float64(t-d.from)/float64(d.to-d.from)*plot }

func (d *drawing) ruler() {
	step := int64(1)
	for (d.to-d.from)/step > 8 {
		switch {
		case (d.to-d.from)/(2*step) <= 8:
			step *= 2
		case (d.to-d.from)/(5*step) <= 8:
			step *= 5
		default:
			step *= 10
		}
	}
	d.text(8, 40, "start", "#5a6270", "cycle", "")
	for t := (d.from + step - 1) / step * step; t <= d.to; t += step {
		d.rect(d.x(t), 36, 1, 7, "#9aa1ad", "")
		if x := d.x(t); x < gutter+plot-30 {
			d.text(x+3, 40, "start", "#5a6270", report.Thousands(t), "")
		}
	}
}

// group is the half of its workgroup that a wave belongs to, as the page has it.
func (d *drawing) group(l *timeline.Lane, at int64) int {
	n := 0
	for _, w := range l.Waves {
		if w.Start <= at {
			n = w.Number
		}
	}
	if d.r.Run.Launch.WavesPerWorkgroup > d.r.SIMDs {
		return min(n/d.r.SIMDs, len(html.GroupColours)-1)
	}
	k := 0
	for i := range d.cu.Lanes {
		if o := &d.cu.Lanes[i]; o.SIMD == l.SIMD && o.Slot < l.Slot {
			k++
		}
	}
	return k % len(html.GroupColours)
}

// simd draws the waves of a SIMD and its matrix pipe below them.
func (d *drawing) simd(simd int) {
	type pass struct {
		from, to int64
		group    int
	}
	var pipe []pass
	for i := range d.cu.Lanes {
		l := &d.cu.Lanes[i]
		if l.SIMD != simd {
			continue
		}
		mid := (d.from + d.to) / 2
		g := d.group(l, mid)
		d.rect(6, d.y, 7, rowFull, html.GroupColours[g], "")
		d.grouped = d.grouped || g > 0
		name := "empty"
		for _, w := range l.Waves {
			if w.Start > mid {
				continue
			}
			if name = fmt.Sprintf("wave %d", w.Number); d.r.Run.Launch.WavesPerWorkgroup == 1 {
				name = fmt.Sprintf("workgroup %d", w.Group)
			}
		}
		d.text(18, d.y+14, "start", "#1b1f27", fmt.Sprintf("SIMD %d  %s", simd, name), "")
		d.wave(l)
		l.EachSegment(d.r.Interval, func(s timeline.Segment) bool {
			if in := &d.r.Insts[s.Inst]; s.Kind == timeline.Issue && in.Class == "mfma" {
				pipe = append(pipe, pass{s.From, s.From + int64(in.Busy), d.group(l, s.From)})
			}
			return true
		})
		d.y += rowStep
	}
	if d.lanes(simd) == 0 {
		return
	}
	if d.extra() == 0 {
		d.y += 5
		return
	}
	busy := int64(0)
	for _, p := range pipe {
		busy += max(0, min(p.to, d.to)-max(p.from, d.from))
	}
	d.text(18, d.y+14, "start", "#1b1f27", fmt.Sprintf("matrix pipe %d: %.0f %%", simd, 100*float64(busy)/float64(d.to-d.from)), "")
	slices.SortFunc(pipe, func(a, b pass) int { return int(max(-1, min(1, a.from-b.from))) })
	for i := 0; i < len(pipe); {
		j := i + 1 // one box for what follows without a gap
		for j < len(pipe) && pipe[j].group == pipe[i].group && pipe[j].from <= pipe[j-1].to {
			j++
		}
		a, b := d.x(pipe[i].from), d.x(min(pipe[j-1].to, d.to))
		d.rect(a, d.y, max(b-a, 0.3), rowFull, html.GroupColours[pipe[i].group], "")
		i = j
	}
	d.y += rowStep + 5
}

// wave draws a lane by pixels: each takes the style that fills most of it, and
// equal neighbours are one box.
func (d *drawing) wave(l *timeline.Lane) {
	share := make([][]float64, plot)
	per := float64(d.to-d.from) / plot
	l.EachSegment(d.r.Interval, func(s timeline.Segment) bool {
		k := d.style(s)
		a, b := float64(s.From-d.from)/per, float64(min(s.To, d.to)-d.from)/per
		for p := int(max(a, 0)); p < plot && float64(p) < b; p++ {
			if share[p] == nil {
				share[p] = make([]float64, len(d.styles))
			}
			share[p][k] += min(b, float64(p+1)) - max(a, float64(p))
		}
		return true
	})
	best := func(p int) int {
		if p >= plot || share[p] == nil {
			return -1
		}
		k := 0
		for i, v := range share[p] {
			if v > share[p][k] {
				k = i
			}
		}
		return k
	}
	for p := 0; p < plot; {
		k, q := best(p), p+1
		for q < plot && best(q) == k {
			q++
		}
		if k >= 0 {
			d.used[k] = true
			d.rect(gutter+float64(p), d.y, float64(q-p), rowFull, d.paint(d.styles[k]), "")
		}
		p = q
	}
}

func (d *drawing) style(s timeline.Segment) int {
	name := s.Kind.Name()
	if s.Kind == timeline.Issue {
		name = d.r.Insts[s.Inst].Class
	}
	return slices.IndexFunc(d.styles, func(st html.Style) bool { return st.Name == name })
}

func (d *drawing) banks() {
	if !d.has("lds") {
		d.y += 8
		return
	}
	d.text(18, d.y+14, "start", "#1b1f27", "LDS banks", "")
	last := -1.0
	d.cu.EachBankUse(func(u timeline.BankUse) {
		fill := "#1fa37c"
		if u.Fill {
			fill = "#8c2d72"
		}
		a, b := d.x(u.From), d.x(min(u.To, d.to))
		if a < last {
			a = last
		}
		if b > a {
			d.rect(a, d.y, max(b-a, 0.3), rowFull, fill, "")
			last = b
		}
	})
	d.y += rowStep + 8
}

func (d *drawing) legend() {
	x := 8.0
	item := func(fill, name string) {
		w := 44 + 7.3*float64(len(name))
		if x+w > gutter+plot {
			x, d.y = 8, d.y+20
		}
		d.rect(x, d.y, 20, 12, fill, ` stroke="#999999" stroke-width="0.5"`)
		d.text(x+24, d.y+11, "start", "#1b1f27", name, "")
		x += w
	}
	if d.extra() > 0 {
		item(html.GroupColours[0], "matrix pipe: wave group 0")
		if d.grouped {
			item(html.GroupColours[1], "wave group 1")
		}
	}
	for i, st := range d.styles {
		if d.used[i] {
			item(d.paint(st), st.Name)
		}
	}
}
