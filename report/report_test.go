package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files and docs/json.md")

// golden compares got with a file, which -update rewrites.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), `go test ./report -update` rewrites it:\n%s", file, diff)
	}
}

func TestWriteGolden(t *testing.T) {
	for _, f := range Formats {
		var b bytes.Buffer
		if err := Write(&b, sample(), f); err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/sample."+f, b.String())
	}
	if err := Write(&bytes.Buffer{}, sample(), "xml"); err == nil {
		t.Error("format xml was accepted")
	}
}

func TestTextIsOnePage(t *testing.T) {
	var b strings.Builder
	if err := WriteText(&b, sample()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) > 66 { // a printed page
		t.Errorf("page has %d lines", len(lines))
	}
	for _, l := range lines {
		if n := utf8.RuneCountInString(l); n > 100 {
			t.Errorf("line of %d columns: %s", n, l)
		}
		if strings.TrimRight(l, " ") != l {
			t.Errorf("line ends in spaces: %q", l)
		}
	}
}

// TestFunctionalPage holds that a run without time prints no figures of time.
func TestFunctionalPage(t *testing.T) {
	s := sample()
	r := &Run{Version: s.Version, Kernel: s.Kernel, KernelHash: s.KernelHash, Arch: s.Arch, Mode: "functional", Options: s.Options,
		Machine: s.Machine, Launch: s.Launch, Host: &Host{WallSeconds: 1.25, Threads: 1},
		Verify: &Verify{Reference: "float64 on the host", Values: 262144, MaxRelativeError: 0.02, Limit: 0.01}}
	r.Derive()
	var b strings.Builder
	if err := WriteText(&b, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/functional.table", b.String())
}

func TestJSONReadsBack(t *testing.T) {
	want := sample()
	for path, text := range map[string]string{"lds.bytes": "163840", "tcp.set_hash": "true", "mfma.scale": "0.5", "dispatch.order": "round_robin", "cpu": "gfx950"} {
		want.Machine.Resolved.Set(path, text)
	}
	var b bytes.Buffer
	if err := WriteJSON(&b, want); err != nil {
		t.Fatal(err)
	}
	var got Run
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := WriteJSON(&again, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), again.String()); diff != "" {
		t.Errorf("written, read, written again (-first +second):\n%s", diff)
	}
	resolved := map[string]any{"cpu": "gfx950", "lds": map[string]any{"bytes": 163840.0}, "tcp": map[string]any{"set_hash": true},
		"mfma": map[string]any{"scale": 0.5}, "dispatch": map[string]any{"order": "round_robin"}}
	if diff := cmp.Diff(resolved, map[string]any(got.Machine.Resolved)); diff != "" {
		t.Errorf("machine leaves (-want +got):\n%s", diff)
	}
}

// TestPromisedKeys holds the keys that scripts rely on.
func TestPromisedKeys(t *testing.T) {
	have := map[string]Key{}
	for _, k := range Keys() {
		if _, twice := have[k.Path]; twice {
			t.Errorf("key %s occurs twice", k.Path)
		}
		have[k.Path] = k
	}
	for _, path := range strings.Fields(`kernel arch cycles clock_mhz time_us tflops peak_tflops_at_clock matrix_utilization
		loop_matrix_utilization wave_instructions wave_cycles issued stalls lds.bank_conflicts lds.instructions l2.hit_rate
		l2.hit_in_flight l2.requests l2.bytes l2.bandwidth_tbs llc.hit_rate hbm.bytes hbm.bandwidth_tbs clock.fitted_on clock.class
		clock.law launch_overhead_us host_sync_us verify.max_relative_error host.wall_seconds host.wave_instructions_per_second
		host.cycles_per_second counters.SQ_LDS_BANK_CONFLICT stalls.waitcnt_vmcnt seed kernel_hash machine.hash version`) {
		if _, ok := have[path]; !ok {
			t.Errorf("key %s is missing", path)
		}
	}
	for path, k := range have {
		if k.Doc == "" {
			t.Errorf("key %s has no doc", path)
		}
	}
	golden(t, "../docs/json.md", Markdown(Keys()))
}

// TestKeysMatchJSON holds the documented keys against what is written.
func TestKeysMatchJSON(t *testing.T) {
	r := sample()
	r.Verify, r.Replay = &Verify{}, &Replay{}
	r.Instructions = []Instruction{{Kernel: "main"}}
	r.Parts = []Part{{}}
	r.Power, r.Sample, r.HostSync = &Power{}, &Sample{}, &HostSync{}
	var b bytes.Buffer
	if err := WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(b.Bytes(), &tree); err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	collect(tree, "", written)
	for _, k := range Keys() {
		if !written[k.Path] {
			t.Errorf("documented key %s is not written", k.Path)
		}
		delete(written, k.Path)
	}
	for path := range written {
		switch path {
		case "machine", "options", "launch", "clock", "occupancy", "registers", "lds", "tcp", "scalar_cache", "instruction_cache", "l2", "fabric", "llc", "hbm", "lds.latency",
			"power", "power.energy", "sample", "host_sync", "tcp.latency", "l2.latency", "llc.latency", "hbm.latency", "verify", "host":
		default:
			t.Errorf("written key %s is not documented", path)
		}
	}
}

func collect(v any, path string, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			p := strings.TrimPrefix(path+"."+k, ".")
			into[p] = true
			collect(e, p, into)
		}
	case []any:
		for _, e := range v {
			if _, ok := e.(map[string]any); ok {
				collect(e, path+"[]", into)
			}
		}
	}
}

func TestCSVIsLongForm(t *testing.T) {
	var b bytes.Buffer
	if err := WriteCSV(&b, sample()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, r := range rows {
		got[r[0]] = r[1:]
	}
	for metric, want := range map[string][]string{
		"metric":                           {"unit", "value"},
		"cycles":                           {"cycles", "1310000"},
		"stalls.barrier":                   {"wave-cycles", "900000000"},
		"launch_sensitivity.2.overhead_us": {"us", "5"},
		"clusters.0.name":                  {"", "prologue"},
		"clock.fitted_on.0":                {"", "gemm bf16 8192"},
	} {
		if diff := cmp.Diff(want, got[metric]); diff != "" {
			t.Errorf("%s (-want +got): %s", metric, diff)
		}
	}
}

func TestDerive(t *testing.T) {
	r := &Run{Cycles: 2_000_000, ClockMHz: 2000, LaunchOverheadUS: 3, FLOPs: 1e12, L2: Cache{Requests: 10, Hits: 6, HitsInFlight: 2, Misses: 2, Bytes: 4_000_000_000},
		LLC: Cache{Requests: 10, Reads: 8, Writes: 2, Hits: 4, HitsInFlight: 2, ReadHits: 6, Misses: 4}} // no write hits
	r.Derive()
	if r.KernelTimeUS != 1000 || r.TimeUS != 1003 {
		t.Errorf("times %g and %g us, want 1000 and 1003", r.KernelTimeUS, r.TimeUS)
	}
	if want := 1e12 / 1003e-6 / 1e12; r.TFLOPS != want {
		t.Errorf("%g TFLOPS, want %g", r.TFLOPS, want)
	}
	if r.L2.HitRate != 0.8 || r.L2.HitInFlight != 0.2 || r.L2.BandwidthTBs != 4 {
		t.Errorf("L2 hit rate %g, in flight %g, %g TB/s; want 0.8, 0.2, 4", r.L2.HitRate, r.L2.HitInFlight, r.L2.BandwidthTBs)
	}
	if r.LLC.HitRate != 0.6 || r.LLC.ReadHitRate != 0.75 {
		t.Errorf("LLC hit rate %g, of reads %g; want 0.6, 0.75", r.LLC.HitRate, r.LLC.ReadHitRate)
	}
	if len(r.LaunchSensitivity) != 3 || r.LaunchSensitivity[0].TimeUS != 1001 {
		t.Errorf("sensitivity %+v", r.LaunchSensitivity)
	}
	empty := &Run{}
	empty.Derive() // nothing may become NaN, which JSON cannot hold
	if err := WriteJSON(&bytes.Buffer{}, empty); err != nil {
		t.Error(err)
	}
}

func TestCheckSums(t *testing.T) {
	rows := func(r *Run) {
		r.Instructions = []Instruction{{PC: 0, Hits: r.WaveInstructions, IssueCycles: r.Issued.Sum(), StallCycles: r.Stalls.Sum(), Stalls: r.Stalls.NonZero()}}
	}
	for _, c := range []struct {
		name   string
		change func(*Run)
		want   string
	}{
		{"as it is", func(*Run) {}, ""},
		{"rows that add up", rows, ""},
		{"a wave-cycle lost", func(r *Run) { r.WaveCycles++ }, "resident"},
		{"a request lost", func(r *Run) { r.L2.Misses-- }, "l2"},
		{"a row's issue lost", func(r *Run) { rows(r); r.Instructions[0].IssueCycles-- }, "wave-cycles"},
		{"a row's hit lost", func(r *Run) { rows(r); r.Instructions[0].Hits-- }, "times"},
		{"a row's stall lost", func(r *Run) { rows(r); r.Instructions[0].StallCycles-- }, "stalls by reason"},
		{"a row's reason swapped", func(r *Run) {
			rows(r)
			r.Instructions[0].Stalls[0].Value++
			r.Instructions[0].Stalls[1].Value--
		}, "stalled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sample()
			c.change(r)
			err := r.CheckSums()
			if c.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestLatency(t *testing.T) {
	l := NewLatency("cycles", []Bucket{{0, 10, 50}, {10, 20, 40}, {30, 41, 10}}, 15)
	want := Latency{Unit: "cycles", Count: 100, Mean: 15, Min: 0, P50: 9, P90: 19, P99: 39, Max: 40,
		Buckets: []Bucket{{0, 10, 50}, {10, 20, 40}, {30, 41, 10}}}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := NewLatency("ns", []Bucket{{0, 1, 0}}, 0); got.Count != 0 || got.Max != 0 || got.Buckets != nil {
		t.Errorf("empty distribution: %+v", got)
	}
	// 0 has no significant bit, 1 has one, 2 and 3 have two.
	if diff := cmp.Diff([]Bucket{{0, 1, 7}, {1, 2, 8}, {4, 8, 9}}, PowerBuckets([]uint64{7, 8, 0, 9})); diff != "" {
		t.Errorf("power buckets (-want +got):\n%s", diff)
	}
}

func TestCounts(t *testing.T) {
	c := NewCounts(StallReasons)
	if err := c.Add("coffee", 1); err == nil {
		t.Error("an undocumented stall reason was accepted")
	}
	fill(c, "fetch", 2)
	fill(c, "fetch", 3)
	if c.Get("fetch") != 5 || c.Sum() != 5 || len(c.NonZero()) != 1 {
		t.Errorf("counts %v", c)
	}
}

func TestThousands(t *testing.T) {
	for v, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := Thousands(v); got != want {
			t.Errorf("Thousands(%d) = %s, want %s", v, got, want)
		}
	}
}

// TestOptionsRoundTrip: the options of any kernel are one flat object that is
// read back as it was.
func TestOptionsRoundTrip(t *testing.T) {
	for want, o := range map[string]Options{
		`{"m":512,"n":256,"k":128,"tile":"256x256x64","dtype":"bf16","window":8,"chunk":64}`: {M: 512, N: 256, K: 128, Tile: "256x256x64", DType: "bf16", Window: 8, Chunk: 64},
		`{"seq":4096,"causal":true,"p":0.01,"dtype":"bf16"}`:                                 {DType: "bf16", Other: []Setting{{"seq", 4096}, {"causal", true}, {"p", 0.01}, {"dtype", "bf16"}}},
	} {
		got, err := json.Marshal(o)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
		var back Options
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(o, back); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
	if err := new(Options).UnmarshalJSON([]byte("{")); err == nil {
		t.Error("half an object was accepted")
	}
}

// TestCombineAddsUp: counts of several kernels add, shares are weighted by
// cycles, and the sums still hold.
func TestCombineAddsUp(t *testing.T) {
	a, b := sample(), sample()
	a.Kernel, b.Kernel = "main", "prep"
	b.Cycles, b.MatrixUtilization = a.Cycles/4, 0
	r := Combine([]*Run{b, a})
	if r.Cycles != a.Cycles+b.Cycles || r.WaveInstructions != 2*a.WaveInstructions || r.L2.Requests != 2*a.L2.Requests || r.Issued.Sum() != a.Issued.Sum()+b.Issued.Sum() {
		t.Errorf("cycles %d, instructions %d, L2 requests %d", r.Cycles, r.WaveInstructions, r.L2.Requests)
	}
	if got, want := r.MatrixUtilization, a.MatrixUtilization*float64(a.Cycles)/float64(r.Cycles); math.Abs(got-want) > 1e-12 {
		t.Errorf("matrix utilisation %g, want %g", got, want)
	}
	if len(r.Parts) != 2 || r.Parts[0].Name != "prep" || !strings.Contains(r.Notes[0], "main") {
		t.Errorf("parts %+v, notes %q", r.Parts, r.Notes)
	}
	if err := r.CheckSums(); err != nil {
		t.Error(err)
	}
	if Combine([]*Run{a}) != a {
		t.Error("a single run is not itself")
	}
}

// Kernels of a measurement are sampled in different parts; their bandwidths count by cycles, and not by
// the counts that happen to be there.
func TestCombineSamples(t *testing.T) {
	main, prep := sample(), sample()
	main.Kernel, main.Launch.Workgroups, main.Cycles, main.HBM.Bytes = "main", 4096, 1600, 3000
	main.Sample = &Sample{Workgroups: 256, OfWorkgroups: 4096, Rounds: 1, SimulatedCycles: 100, RoundCycles: 100}
	prep.Kernel, prep.Launch.Workgroups, prep.Cycles, prep.HBM.Bytes = "prep", 9000, 400, 8000
	prep.Sample = &Sample{Workgroups: 4500, OfWorkgroups: 9000, Rounds: 4, SimulatedCycles: 200, RoundCycles: 50}
	for _, order := range [][]*Run{{main, prep}, {prep, main}} {
		r := Combine(order)
		r.ClockMHz = 1000
		r.Derive()
		// 30 bytes a cycle for four fifths of the time, 40 for one.
		if got := r.HBM.BandwidthTBs; math.Abs(got-0.032) > 1e-9 {
			t.Errorf("%g TB/s from HBM, want 0.032", got)
		}
		if want := (Sample{Workgroups: 4756, OfWorkgroups: 13096, Rounds: 1, SimulatedCycles: 300, RoundCycles: 100}); *r.Sample != want {
			t.Errorf("sample %+v, want %+v", *r.Sample, want)
		}
	}
	prep.Sample = nil // it ran whole
	r := Combine([]*Run{prep, main})
	r.ClockMHz = 1000
	r.Derive()
	if got := r.HBM.BandwidthTBs; math.Abs(got-0.028) > 1e-9 || r.Sample.SimulatedCycles != 500 || r.Sample.Workgroups != 9256 {
		t.Errorf("%g TB/s from HBM, want 0.028; sample %+v", got, *r.Sample)
	}
}

// Clusters of one name stay apart: every figure has a path of its own.
func TestValuesOfRepeatedNames(t *testing.T) {
	r := &Run{Clusters: []Cluster{{Name: "load", Visits: 1}, {Name: "load", Visits: 2}, {Name: "load#2", Visits: 3}, {Name: "load", Visits: 4}}}
	seen, visits := map[string]bool{}, map[string]float64{}
	for _, v := range Values(r) {
		if seen[v.Path()] {
			t.Errorf("two figures are called %s", v.Path())
		}
		seen[v.Path()] = true
		if name, ok := strings.CutSuffix(v.Metric, ".visits"); ok && v.Component == "clusters" {
			visits[name] = v.Value
		}
	}
	if want := map[string]float64{"load": 1, "load#3": 2, "load#2": 3, "load#4": 4}; !maps.Equal(visits, want) {
		t.Errorf("visits %v, want %v", visits, want)
	}
}

// A memory-bound run has a bandwidth in the place of TFLOPS, in units that have digits; one of several
// kernels has the overhead of as many launches in every figure; one without cycles has no rates.
func TestTimeLines(t *testing.T) {
	page := func(r *Run) string {
		r.Derive()
		var b strings.Builder
		if err := writeTime(&b, r); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, c := range []struct {
		name string
		r    Run
		want []string
	}{
		{"memory-bound", Run{Cycles: 97e3, ClockMHz: 1000, LaunchOverheadUS: 3, UsefulBytes: 400e6},
			[]string{"100.00 us = 97.00 us + 3.00 us launch: 4.00 TB/s of the 400 MB that must move", "4.08 TB/s at 1 us, 4.00 TB/s at 3 us"}},
		{"small", Run{Cycles: 7e3, ClockMHz: 1000, LaunchOverheadUS: 3, UsefulBytes: 200e3}, []string{": 20 GB/s of the 200 kB that must move", "25 GB/s at 1 us"}},
		{"several kernels", Run{Cycles: 91e3, ClockMHz: 1000, LaunchOverheadUS: 9, FLOPs: 1e11, Parts: make([]Part, 3)},
			[]string{"+ 9.00 us for 3 launches: 1000.0 TFLOPS", "1063.8 TFLOPS at 1 us a launch, 1000.0 TFLOPS at 3 us a launch"}},
		{"neither", Run{Cycles: 7e3, ClockMHz: 1000, LaunchOverheadUS: 3}, []string{"10.00 us = 7.00 us + 3.00 us launch\n", "8.00 us at 1 us"}},
	} {
		got := page(&c.r)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", c.name, want, got)
			}
		}
	}
	none := Run{LaunchOverheadUS: 3, FLOPs: 1e9, UsefulBytes: 1e9}
	if got := page(&none); got != "" || none.TimeUS != 0 || none.TFLOPS != 0 || none.UsefulTBs != 0 || none.LaunchSensitivity[0].TFLOPS != 0 {
		t.Errorf("without cycles: %q and %+v", got, none)
	}
}

// One sample is its own percentiles, and samples of one bucket lie about their mean.
func TestPercentilesOfOneBucket(t *testing.T) {
	if l := NewLatency("ns", []Bucket{{64, 128, 1}}, 82); l.P50 != 82 || l.P99 != 82 {
		t.Errorf("one sample of 82: %+v", l)
	}
	if l := NewLatency("ns", []Bucket{{64, 128, 1000}}, 100); l.P50 < 99 || l.P50 > 101 || l.P99 > 127 || l.P99 < 120 {
		t.Errorf("a bucket about 100: %+v", l)
	}
}
