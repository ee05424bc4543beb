// Package html writes recorded runs as one page that a browser opens from disk:
// scripts, styles and data are all inside it, and it asks no network for
// anything.
package html

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"strings"
	"text/template"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/timeline"
)

//go:embed assets
var assets embed.FS

// scripts are concatenated in this order.
var scripts = []string{"data.js", "ui.js", "timeline.js", "overview.js", "code.js", "lds.js", "chiplets.js", "compare.js", "main.js"}

// MaxRuns is how many runs one page compares.
const MaxRuns = 2

// Write writes the page of one run, or of two to compare.
func Write(w io.Writer, runs ...*timeline.Recording) error {
	if len(runs) == 0 || len(runs) > MaxRuns {
		return fmt.Errorf("html: a page shows one run or compares two, not %d", len(runs))
	}
	packed, err := pack(runs)
	if err != nil {
		return err
	}
	page, err := template.New("page").Parse(asset("page.html"))
	if err != nil {
		return err
	}
	var js strings.Builder
	js.WriteString("\"use strict\";\n(function () {\n")
	for _, s := range scripts {
		js.WriteString(asset(s))
	}
	js.WriteString("})();\n")
	title := runs[0].Run.Kernel + " on " + runs[0].Run.Arch
	if len(runs) > 1 {
		title += " and " + runs[1].Run.Kernel + " on " + runs[1].Run.Arch
	}
	return page.Execute(w, map[string]any{
		"Title":   html.EscapeString(title),
		"Version": runs[0].Run.Version,
		"CSS":     asset("uplot/uPlot.min.css") + asset("app.css"),
		"License": "<!-- uPlot is under the licence below; it is part of this file.\n\n" + asset("uplot/LICENSE") + "-->",
		"Library": asset("uplot/uPlot.iife.min.js"),
		"Script":  js.String(),
		"Data":    packed,
	})
}

func asset(name string) string {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // an embedded file
	}
	return string(b)
}

// span is a piece of the binary part: offset, length and number of entries.
type span [3]int

type laneJSON struct {
	SIMD     int             `json:"simd"`
	Slot     int             `json:"slot"`
	Waves    []timeline.Wave `json:"waves"`
	Segments span            `json:"segments"`
	Memory   span            `json:"memory"`
}

type cuJSON struct {
	Name     string     `json:"name"`
	Lanes    []laneJSON `json:"lanes"`
	Banks    span       `json:"banks"`
	Barriers span       `json:"barriers"`
}

type runJSON struct {
	Run      *report.Run           `json:"run"`
	Interval int                   `json:"interval"`
	SIMDs    int                   `json:"simds"`
	Slots    int                   `json:"slots"`
	From     int64                 `json:"from"`
	To       int64                 `json:"to"`
	CUNames  string                `json:"window"`
	Insts    []timeline.Inst       `json:"insts"`
	CUs      []cuJSON              `json:"cus"`
	Groups   map[string][]int64    `json:"groups"`
	Grid     timeline.Grid         `json:"grid"`
	LDS      []timeline.LDSAccess  `json:"lds"`
	Layouts  []timeline.LayoutView `json:"layouts"`
	XCDs     []timeline.XCD        `json:"xcds"`
}

type pageJSON struct {
	Runs   []runJSON `json:"runs"`
	Styles []Style   `json:"styles"`
	Groups []string  `json:"groupColours"`
	XCDs   []string  `json:"xcdColours"`
}

// pack is base64 of gzip of: length of the JSON (4 bytes), the JSON, the binary.
func pack(runs []*timeline.Recording) (string, error) {
	var blob []byte
	p := pageJSON{Styles: Styles(), Groups: GroupColours, XCDs: XCDColours}
	for _, r := range runs {
		p.Runs = append(p.Runs, packRun(r, &blob))
	}
	meta, err := json.Marshal(&p)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(meta)))
	for _, part := range [][]byte{head, meta, blob} {
		if _, err := z.Write(part); err != nil {
			return "", err
		}
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}

func packRun(r *timeline.Recording, blob *[]byte) runJSON {
	put := func(b []byte, n int) span {
		s := span{len(*blob), len(b), n}
		*blob = append(*blob, b...)
		return s
	}
	to := r.Window.To
	if to == math.MaxInt64 || to > r.End {
		to = r.End
	}
	j := runJSON{Run: r.Run, Interval: r.Interval, SIMDs: r.SIMDs, Slots: r.Slots, From: r.Window.From, To: to, CUNames: r.Window.CUs,
		Insts: r.Insts, Grid: r.Grid, LDS: r.LDS, Layouts: r.Layouts, XCDs: r.XCDs, Groups: map[string][]int64{}}
	for i := range r.CUs {
		c := &r.CUs[i]
		cj := cuJSON{Name: c.Name(), Lanes: []laneJSON{}}
		for k := range c.Lanes {
			l := &c.Lanes[k]
			segments := 0
			l.EachSegment(r.Interval, func(timeline.Segment) bool { segments++; return true })
			flows := l.Flows(r)
			cj.Lanes = append(cj.Lanes, laneJSON{SIMD: l.SIMD, Slot: l.Slot, Waves: l.Waves,
				Segments: put(l.Segments, segments), Memory: put(flowBytes(flows), len(flows))})
		}
		banks, releases := 0, 0
		c.EachBankUse(func(timeline.BankUse) { banks++ })
		c.EachRelease(func(timeline.Release) { releases++ })
		cj.Banks, cj.Barriers = put(c.Banks, banks), put(c.Barriers, releases)
		j.CUs = append(j.CUs, cj)
	}
	for _, g := range r.Groups {
		for _, f := range []struct {
			name  string
			value int64
		}{{"xcd", int64(g.XCD)}, {"cu", int64(g.CU)}, {"start", g.Start}, {"end", g.End}, {"row", int64(g.Row)}, {"col", int64(g.Col)}} {
			j.Groups[f.name] = append(j.Groups[f.name], f.value)
		}
	}
	return j
}

// flowBytes writes an operation as four varints: twice the issue cycle since the
// one before it, plus 1 for lgkmcnt; the instruction since the one before it,
// zigzag; cycles to completion, 0 for none; cycles to the wait, 0 for none.
func flowBytes(flows []timeline.Flow) []byte {
	var b []byte
	last := timeline.Flow{}
	for _, f := range flows {
		v := uint64(f.Issued-last.Issued) << 1
		if f.LGKM {
			v |= 1
		}
		b = binary.AppendUvarint(b, v)
		b = binary.AppendVarint(b, int64(f.Inst-last.Inst))
		b = binary.AppendUvarint(b, uint64(max(f.Done-f.Issued, 0)))
		b = binary.AppendUvarint(b, uint64(max(f.Wait-f.Issued, 0)))
		last = f
	}
	return b
}
