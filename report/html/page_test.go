package html_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/whisker-sim/whisker/report/html"
	"github.com/whisker-sim/whisker/report/timeline"
	"github.com/whisker-sim/whisker/sim"
	"github.com/whisker-sim/whisker/swizzle"
)

// pingpong records 8-wave ping-pong on the teaching machine.
func pingpong(t *testing.T, k int) *timeline.Recording {
	t.Helper()
	o := sim.RunOptions{Kernel: "gemm", Arch: "teaching", Tile: "256x256", M: 512, N: 256, K: k, Mode: "timing", Threads: 1, Seed: 1, Record: &sim.RecordOptions{}}
	if _, err := sim.Run(o); err != nil {
		t.Fatal(err)
	}
	return o.Record.Result
}

func write(t *testing.T, runs ...*timeline.Recording) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := html.Write(f, runs...); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// inked is how many different colours a canvas shows, and the share of its
// pixels that are not white.
const inked = `((c) => { const g = c.getContext("2d"), d = new Uint32Array(g.getImageData(0, 0, c.width, c.height).data.buffer), s = new Set(); let n = 0;
  for (const p of d) { s.add(p); if (p !== 0xffffffff && p !== 0) n++; } return [s.size, n / d.length]; })`

// TestPage opens the page of a ping-pong run as a reader would, on a wide and on
// a narrow screen: every page has content and fits, and nothing is complained of.
func TestPage(t *testing.T) {
	path := write(t, pingpong(t, 1024))
	for _, s := range []struct {
		name          string
		width, height int
	}{{"wide", 1280, 900}, {"narrow", 390, 844}} {
		b := open(t, path, "overview", s.width, s.height)
		for _, p := range []struct{ tab, canvas string }{
			{"overview", "#roofline canvas"}, {"timeline", "#tl-canvas"}, {"code", ""}, {"lds", "#lds-both canvas"}, {"chiplets", "#chip-canvas"}, {"compare", "#cmp-canvas"},
		} {
			b.run(click("#tab-"+p.tab), chromedp.WaitVisible(chromedp.CSS("#"+p.tab)))
			if n := js[int](b, `document.getElementById("`+p.tab+`").innerText.length`); n < 40 {
				t.Errorf("%s: page %s has %d characters", s.name, p.tab, n)
			}
			if w := js[int](b, `document.documentElement.scrollWidth`); w > s.width {
				t.Errorf("%s: page %s is %d pixels wide", s.name, p.tab, w)
			}
			b.run(chromedp.Sleep(60 * time.Millisecond))
			if p.canvas != "" {
				if got := js[[]float64](b, inked+`(document.querySelector("`+p.canvas+`"))`); got[0] < 5 || got[1] < 0.02 {
					t.Errorf("%s: the canvas %s shows %v colours on a share of %.3f", s.name, p.canvas, got[0], got[1])
				}
			}
			b.shot(s.name + "-" + p.tab)
		}
		if n := js[int](b, `document.querySelectorAll("#code-table tbody tr").length`); n < 100 {
			t.Errorf("the code page has %d rows", n)
		}
		if n := js[int](b, `document.querySelectorAll("#sol .bar").length * document.querySelectorAll("#stalls .bar").length * document.querySelectorAll("#hit-rates .bar").length`); n == 0 {
			t.Error("a panel of bars is empty")
		}
		if e := b.errors(); e != "" {
			t.Errorf("%s: console: %s", s.name, e)
		}
	}
}

// TestUse zooms by wheel and keys, chooses segments, and goes from an instruction
// to the timeline and back.
func TestUse(t *testing.T) {
	b := open(t, write(t, pingpong(t, 512)), "timeline", 1280, 900)
	view := func() [2]float64 {
		v := js[[]float64](b, `[whisker.timeline.t0, whisker.timeline.span]`)
		return [2]float64{v[0], v[1]}
	}
	whole := view()
	b.run(chromedp.Focus(chromedp.CSS("#tl-canvas")), chromedp.KeyEvent("+"), chromedp.KeyEvent("+"))
	if v := view(); v[1] != whole[1]/4 {
		t.Errorf("two plus keys show %v cycles of %v", v[1], whole[1])
	}
	js[bool](b, `(document.getElementById("tl-canvas").dispatchEvent(new WheelEvent("wheel", {deltaY: -400, clientX: 700, clientY: 300, bubbles: true, cancelable: true})), true)`)
	if v := view(); v[1] >= whole[1]/5 {
		t.Errorf("the wheel leaves %v cycles", v[1])
	}
	at := view()[0]
	b.run(chromedp.KeyEvent(kb.ArrowRight))
	if view()[0] <= at {
		t.Error("the right arrow does not pan")
	}
	b.run(chromedp.KeyEvent("0"))
	if view() != whole {
		t.Errorf("0 shows %v, not %v", view(), whole)
	}
	// To single cycles.
	for range 14 {
		b.run(chromedp.KeyEvent("+"))
	}
	if v := view(); v[1] > 30 {
		t.Errorf("the closest view is %v cycles", v[1])
	}
	b.run(chromedp.KeyEvent("0"))

	// A click on an instruction moves the timeline to it.
	b.run(click("#tab-code"), chromedp.Sleep(50*time.Millisecond))
	inst := js[int](b, `[...document.querySelectorAll("#code-table tbody tr")].find(r => r.innerText.includes("v_mfma")).dataset.inst | 0`)
	b.run(chromedp.ScrollIntoView(chromedp.CSS(fmt.Sprintf("tr[data-inst='%d']", inst))), click(fmt.Sprintf("tr[data-inst='%d']", inst)), chromedp.Sleep(100*time.Millisecond))
	if v := view(); v[1] > 1200 || js[string](b, `whisker.current`) != "timeline" {
		t.Errorf("the timeline did not move: %v", v)
	}
	if got := js[int](b, `(s => s.row.series.inst[s.i])(whisker.timeline.selected)`); got != inst {
		t.Errorf("instruction %d is chosen, want %d", got, inst)
	}
	if text := js[string](b, `document.getElementById("tl-info").innerText`); !strings.Contains(text, "v_mfma") {
		t.Errorf("the timeline says %q", text)
	}
	b.shot("use-instruction")
	b.run(click("#tl-info button"), chromedp.Sleep(50*time.Millisecond))
	if js[string](b, `whisker.current`) != "code" {
		t.Error("the way back to the code is missing")
	}
	// Sorting by stall puts the most stalled first.
	js[bool](b, `([...document.querySelectorAll("#code button")].find(x => x.innerText === "Sort by stall").click(), true)`)
	if !js[bool](b, `(v => v.every((x, i) => i === 0 || x <= v[i - 1]) && v[0] > 0)([...document.querySelectorAll("#code-table tbody tr")].map(r => +r.children[5].innerText.replaceAll(",", "")))`) {
		t.Error("the rows are not in order of stalls")
	}
	// The page orders tiles as the kernels do.
	for _, o := range []swizzle.Order{{Kind: swizzle.Remap, Window: 5, Chunk: 25, XCDs: 8}, {Kind: swizzle.Remap, Window: 8, Chunk: 64, XCDs: 8}, {Kind: swizzle.Remap, XCDs: 3}} {
		grid := swizzle.Grid{Rows: 19, Cols: 31}
		got := js[[][]int](b, fmt.Sprintf(`Array.from({length: %d}, (_, i) => whisker.remap(i, %d, 19, 31, %d, %d, %d))`, grid.Tiles(), grid.Tiles(), o.Window, o.Chunk, o.XCDs))
		for i, tile := range got {
			if want := o.Place(i, grid); tile[0] != want.Row || tile[1] != want.Col {
				t.Fatalf("%v: workgroup %d has tile %v, want %v", o, i, tile, want)
			}
		}
	}
	// Digits change pages; every control can be reached by keys.
	b.run(chromedp.KeyEvent("4"))
	if js[string](b, `whisker.current`) != "lds" {
		t.Error("key 4 does not show LDS")
	}
	if e := b.errors(); e != "" {
		t.Errorf("console: %s", e)
	}
}

// TestPingPong: in the main loop, the matrix pipe of every SIMD is handed from
// one wave group to the other and back, with hardly a gap; that is what the
// picture shows.
func TestPingPong(t *testing.T) {
	b := open(t, write(t, pingpong(t, 2048)), "timeline", 1280, 900)
	js[bool](b, `([...document.querySelectorAll("#timeline button")].find(x => x.innerText === "Main loop").click(), true)`)
	b.shot("pingpong")
	got := js[[][]float64](b, `whisker.timeline.rows.filter(r => r.kind === "pipe").map(r => { const t = whisker.timeline, s = r.series; let turns = 0, busy = 0, last = -1;
	  for (let i = 0; i < s.n; i++) { if (s.from[i] < t.t0 || s.to[i] > t.t0 + t.span) continue; busy += s.to[i] - s.from[i]; if (last >= 0 && r.groupOf(i) !== last) turns++; last = r.groupOf(i); }
	  return [turns, busy / t.span]; })`)
	if len(got) != 4 {
		t.Fatalf("%d matrix pipes, want 4", len(got))
	}
	for i, p := range got {
		// Two iterations of eight clusters of matrix work, four for each group.
		if p[0] < 12 || p[1] < 0.85 {
			t.Errorf("matrix pipe %d: %v turns, busy for %.3f of the time", i, p[0], p[1])
		}
	}
}

// TestMillion: the page of a run with a million events is small, opens in less
// than three seconds and draws any view at interactive speed. Other programs on
// the host stretch the wall clock, so the processor time of the page's thread is
// held as well, and the wall clock where a core is free.
func TestMillion(t *testing.T) {
	path := write(t, pingpong(t, 14848))
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() > 20e6 {
		t.Errorf("the page has %d bytes, more than 20 MB", st.Size())
	}
	b := open(t, path, "timeline", 1280, 900)
	if n := js[float64](b, `whisker.meta.runs[0].events`); n < 1e6 {
		t.Fatalf("the run has %v events", n)
	}
	cpu, wall := b.busy(), js[float64](b, `whisker.opened`)/1000
	// The whole run, then closer and closer: the first frame of a view may build
	// what later ones use.
	const frames = 48
	js[bool](b, `(() => { const t = whisker.timeline; for (let k = 0; k < 48; k++) { t.setView(t.lo + (t.hi - t.lo) * 0.37, (t.hi - t.lo) * Math.pow(0.8, k)); t.paint(); } return true; })()`)
	frame := (b.busy() - cpu) / frames
	t.Logf("%d bytes; opened in %.2f s, %.2f s of processor time; a frame takes %.1f ms", st.Size(), wall, cpu, frame*1000)
	if cpu > 3 || frame > 0.1 {
		t.Errorf("opening takes %.2f s of processor time and a frame %.0f ms; want less than 3 s and 100 ms", cpu, frame*1000)
	}
	if wall > 3 && free() {
		t.Errorf("opening took %.2f s, want less than 3", wall)
	}
	if e := b.errors(); e != "" {
		t.Error(e)
	}
}

// free reports whether the host has a core to spare, as Linux tells.
func free() bool {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return true
	}
	load, err := strconv.ParseFloat(strings.Fields(string(b))[0], 64)
	return err == nil && load < float64(runtime.NumCPU())
}
