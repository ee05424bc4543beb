package daisen_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/whisker-sim/whisker/report/daisen"
	"github.com/whisker-sim/whisker/report/timeline"
	"github.com/whisker-sim/whisker/sim"
)

// TestViewer opens a trace in Daisen itself, of the version that go.mod names:
// its server answers what its pages ask for, and in Chromium its pages draw the
// run.
func TestViewer(t *testing.T) {
	if testing.Short() {
		t.Skip("Daisen is built")
	}
	o := sim.RunOptions{Kernel: "gemm", Arch: "teaching", Tile: "256x256", M: 256, N: 256, K: 256, Mode: "timing", Threads: 1, Seed: 1, Record: &sim.RecordOptions{}}
	if _, err := sim.Run(o); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.sqlite3")
	if err := daisen.Write(path, o.Record.Result); err != nil {
		t.Fatal(err)
	}
	at := serve(t, path)
	answers(t, at, o.Record.Result)
	pages(t, at)
}

// serve builds and starts Daisen on a trace and returns its address.
func serve(t *testing.T, path string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "daisen")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/sarchlab/akita/v4/daisen").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "localhost:" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	cmd := exec.Command(program, "-sqlite", path, "-http", address)
	cmd.Env = []string{"PATH=/nowhere"} // it would open a browser of its own
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 200 {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return "http://" + address
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("Daisen does not listen")
	return ""
}

// answers asks Daisen's server what its pages ask.
func answers(t *testing.T, at string, r *timeline.Recording) {
	t.Helper()
	type task struct {
		ID       string  `json:"id"`
		ParentID string  `json:"parent_id"`
		Start    float64 `json:"start_time"`
		End      float64 `json:"end_time"`
		Steps    []struct{ Time float64 }
	}
	get := func(query string, v any) {
		t.Helper()
		rsp, err := http.Get(at + "/api/" + query)
		if err != nil {
			t.Fatal(err)
		}
		defer rsp.Body.Close()
		if err := json.NewDecoder(rsp.Body).Decode(v); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	tasks := func(query string) (v []task) {
		t.Helper()
		get("trace?"+query, &v)
		return v
	}
	whole := tasks("kind=Simulation")
	if len(whole) != 1 || whole[0].Start != 0 || int64(whole[0].End*r.Run.ClockMHz*1e6+0.5) != r.Run.Cycles {
		t.Fatalf("the simulation is %+v, want one of %d cycles", whole, r.Run.Cycles)
	}
	kernels := tasks("parentid=" + whole[0].ID)
	if len(kernels) != 1 {
		t.Fatalf("%d kernels", len(kernels))
	}
	groups := tasks("parentid=" + kernels[0].ID)
	if len(groups) != 1 {
		t.Fatalf("%d workgroups", len(groups))
	}
	var insts, steps int64
	for _, w := range tasks("parentid=" + groups[0].ID) {
		for _, in := range tasks("parentid=" + w.ID) {
			insts++
			steps += int64(len(in.Steps))
		}
	}
	if insts != r.Run.WaveInstructions || steps == 0 {
		t.Errorf("Daisen finds %d instructions with %d milestones, and the run has %d", insts, steps, r.Run.WaveInstructions)
	}
	var info struct{ Data []struct{ Value float64 } }
	get(fmt.Sprintf("compinfo?where=%s&info_type=AvgLatency&start_time=%g&end_time=%g&num_dots=20", url.QueryEscape("GPU.XCD[0].CU[0].SIMD[0].Slot[0].Memory"), whole[0].Start, whole[0].End), &info)
	worst := 0.0
	for _, d := range info.Data {
		worst = max(worst, d.Value)
	}
	if len(info.Data) != 20 || worst*r.Run.ClockMHz*1e6 < 100 {
		t.Errorf("the latency of memory is at most %g s in %d places", worst, len(info.Data))
	}
}

// pages looks at Daisen's pages in Chromium, where there is one.
func pages(t *testing.T, at string) {
	t.Helper()
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			browser = p
			break
		}
	}
	switch {
	case browser == "" && os.Getenv("REQUIRE_CHROMIUM") != "":
		t.Fatal("REQUIRE_CHROMIUM is set, and there is no chromium")
	case browser == "":
		t.Log("there is no chromium: the pages are not looked at")
		return
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	defer stop()
	ctx, stopPage := chromedp.NewContext(alloc)
	defer stopPage()
	ctx, stopTime := context.WithTimeout(ctx, 60*time.Second)
	defer stopTime()
	for _, p := range []struct{ page, what, drawn string }{
		{"/dashboard", "the rates of the wave slots' memory", `[...document.querySelectorAll("path")].filter(p => (p.getAttribute("d") || "").length > 300).length > 4`},
		{"/task", "the simulation with its kernel", `document.querySelectorAll("svg rect").length >= 2 && document.body.innerText.includes("Simulation-gemm on teaching")`},
		{"/task?id=wave2", "a wave with its instructions", `document.querySelectorAll("svg rect").length > 500 && document.body.innerText.includes("inst-v_mfma")`},
	} {
		err := chromedp.Do(ctx, chromedp.Navigate(at+p.page), chromedp.Poll[chromedp.Void](p.drawn))
		if err != nil {
			t.Errorf("Daisen's page %s does not show %s: %v", p.page, p.what, err)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return
		}
	}
}
