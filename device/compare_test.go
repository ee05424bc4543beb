package device

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/att"
)

// simulated is a run with a few figures.
func simulated() *report.Run {
	r := &report.Run{Version: "1", Kernel: "gemm", Cycles: 2400, KernelTimeUS: 1, TimeUS: 4, Launch: report.Launch{Workgroups: 4, WavesPerWorkgroup: 8},
		Machine: report.Machine{Name: "mi355x", CPU: "gfx950", XCDs: 8}, Options: report.Options{M: 256, N: 256, K: 256}}
	r.Counters = report.Counts{{Name: "GRBM_GUI_ACTIVE", Value: 2400}, {Name: "SQ_WAVES", Value: 32}, {Name: "TCC_HIT_sum", Value: 1000}, {Name: "SQ_LDS_BANK_CONFLICT", Value: 0}}
	return r
}

func line(t *testing.T, c *Comparison, what string) Line {
	t.Helper()
	for _, l := range c.Lines {
		if l.What == what {
			return l
		}
	}
	t.Fatalf("no line %s", what)
	return Line{}
}

// What Whisker writes as rocprofv3 would, it reads back, and a run equals itself.
func TestCountersRoundTrip(t *testing.T) {
	r := simulated()
	var b bytes.Buffer
	if err := WriteCounterCSV(&b, r); err != nil {
		t.Fatal(err)
	}
	path := write(t, t.TempDir(), "c.csv", b.String())
	c, err := Compare(CompareOptions{Run: r, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"cycles", "SQ_WAVES", "TCC_HIT_sum", "SQ_LDS_BANK_CONFLICT"} {
		if l := line(t, c, what); l.Verdict != VerdictWithin || *l.RelativeError != 0 {
			t.Errorf("%s: %+v", what, l)
		}
	}
	if len(c.Problems) > 0 || c.Err() != nil {
		t.Errorf("problems %v, error %v", c.Problems, c.Err())
	}
	k := ingest(t, path).Kernels[0]
	if k.Grid != 2048 || k.Workgroup != 512 || k.ProfiledUS.Mean != 1 {
		t.Errorf("kernel %+v", k)
	}
}

// The measuring program does not wait for the device between its events, so that a
// simulated wait of the host is left out of the time that it is held against.
func TestCompareWithoutHostSync(t *testing.T) {
	path := write(t, t.TempDir(), "c.csv", measured)
	for _, host := range []float64{0, 50} {
		r := simulated()
		r.HostSyncUS = host
		r.TimeUS += host
		c, err := Compare(CompareOptions{Run: r, Path: path})
		if err != nil {
			t.Fatal(err)
		}
		l := line(t, c, "time_us")
		if *l.Simulated != 4 || strings.Contains(l.Note, "host") != (host > 0) {
			t.Errorf("a wait of %g us: %g us, note %q; want 4 us", host, *l.Simulated, l.Note)
		}
	}
}

const measured = longHeader + `
1,1,A,"gemm_k",2048,512,8,"SQ_WAVES",32,1000,3000
1,1,A,"gemm_k",2048,512,8,"TCC_HIT_sum",1250,1000,3000
1,1,A,"gemm_k",2048,512,8,"TCC_EA0_RDREQ_sum",7,1000,3000
1,1,A,"gemm_k",2048,512,8,"SQ_LDS_BANK_CONFLICT",5,1000,3000
2,2,A,"__amd_rocclr_copyBuffer",2048,512,8,"SQ_WAVES",1,1000,3000
`

func TestCompareVerdicts(t *testing.T) {
	path := write(t, t.TempDir(), "c.csv", measured)
	c, err := Compare(CompareOptions{Run: simulated(), Path: path, Tolerance: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]string{"SQ_WAVES": VerdictWithin, "TCC_HIT_sum": VerdictBeyond, "TCC_EA0_RDREQ_sum": VerdictUnsimulated, "time_us": VerdictUnmeasured, "SQ_LDS_BANK_CONFLICT": VerdictBeyond} {
		if l := line(t, c, what); l.Verdict != want {
			t.Errorf("%s: %+v, want %s", what, l, want)
		}
	}
	if e := line(t, c, "TCC_HIT_sum").RelativeError; math.Abs(*e+0.2) > 1e-12 {
		t.Errorf("error %g, want -0.2", *e)
	}
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "beyond the tolerance of 10 %: TCC_HIT_sum, SQ_LDS_BANK_CONFLICT") {
		t.Errorf("error %v", err)
	}
	if c, err = Compare(CompareOptions{Run: simulated(), Path: path, Tolerance: 1}); err != nil || c.Err() != nil {
		t.Errorf("within everything: %v, %v", err, c.Err())
	}
	for _, format := range report.Formats {
		var b bytes.Buffer
		if err := WriteComparison(&b, c, format, 5); err != nil || !strings.Contains(b.String(), "TCC_HIT_sum") {
			t.Errorf("%s: %v, %s", format, err, b.String())
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	dir := t.TempDir()
	two := write(t, dir, "two.csv", measured+"3,3,A,other,64,64,8,SQ_WAVES,1,1000,3000\n")
	none := write(t, dir, "none.csv", longHeader+"\n1,1,A,k,64,64,8,TCP_UNKNOWN,1,1000,3000\n")
	timing := func(name, kernel, arch string) string {
		return write(t, filepath.Join(dir, name), timingFile, fmt.Sprintf(`{"kernel":%q,"device":{"arch":%q},"time":{"median_us":4},"times_us":[4]}`, kernel, arch))
	}
	agents := write(t, filepath.Join(dir, "agents"), "agent_info.csv", "Node_Id,Agent_Type,Name,Cu_Count,Gfx_Target_Version\n1,GPU,gfx942,304,90402\n")
	write(t, filepath.Join(dir, "agents"), "c.csv", measured)
	sized := filepath.Join(dir, "sized")
	write(t, sized, manifestFile, `{"kernel":"gemm","cpu":"gfx950","kernels":[{"symbol":"gemm_k"}],"options":[{"name":"m","value":"512"}]}`)
	write(t, sized, "results/c.csv", measured)
	for _, c := range []struct {
		name, want string
		o          CompareOptions
	}{
		{"two kernels", "2 kernels were measured: name the one", CompareOptions{Path: two}},
		{"a kernel that is not there", `no kernel "x" was measured; there are "__amd_rocclr_copyBuffer", "gemm_k", "other"`, CompareOptions{Path: two, Kernel: "x"}},
		{"another GPU by timing", "it was measured on gfx942; the run is of gfx950", CompareOptions{Path: timing("a", "gemm", "gfx942:sramecc+")}},
		{"another GPU by agents", "it was measured on gfx942; the run is of gfx950", CompareOptions{Path: filepath.Dir(agents)}},
		{"another kernel", "it was measured with rotary; the run is of gemm", CompareOptions{Path: timing("b", "rotary", "gfx950")}},
		{"another size", "it was measured with --m 512; the run has 256", CompareOptions{Path: filepath.Join(sized, "results")}},
		{"nothing in common", "not simulated", CompareOptions{Path: none}},
		{"tolerance", "--tolerance is -1", CompareOptions{Path: two, Tolerance: -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Run = simulated()
			got, err := Compare(c.o)
			if c.name == "nothing in common" {
				// Time and cycles are lines, but nothing was measured of them.
				if err == nil || !strings.Contains(err.Error(), "nothing that was measured there is in the run too") {
					t.Errorf("error %v, %+v", err, got)
				}
				return
			}
			if _, input := errors.AsType[*InputError](err); !input || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// A kernel is chosen by its name where several were measured.
func TestCompareChoosesKernel(t *testing.T) {
	path := write(t, t.TempDir(), "two.csv", measured+"3,3,A,other,64,64,8,SQ_WAVES,16,1000,3000\n")
	c, err := Compare(CompareOptions{Run: simulated(), Path: path, Kernel: "other", Tolerance: 2})
	if err != nil || len(c.Kernels) != 1 || *line(t, c, "SQ_WAVES").Measured != 16 {
		t.Errorf("%v, %+v", err, c)
	}
}

// A thread trace is matched instruction by instruction, in order.
func TestCompareThreadTrace(t *testing.T) {
	dir := t.TempDir()
	f := &att.Folder{GFX: "gfx950", Dispatches: map[string]string{"1": "gemm"}, Occupancy: map[int][]att.Occupied{}, Code: []att.CodeRow{
		{ISA: "s_load_dwordx2 s[0:1], s[2:3], 0x0", Hit: 2, Latency: 20, Stall: 12}, {ISA: "v_mov_b32_e32 v9, 0", Address: 8, Hit: 2, Latency: 8},
		{ISA: "s_nop 7", Address: 12, Hit: 2, Latency: 64}, {ISA: "s_endpgm", Address: 16, Hit: 2, Latency: 8}}}
	if err := att.Write(dir, att.FolderName(0, 1), f); err != nil {
		t.Fatal(err)
	}
	r := simulated()
	if _, err := Compare(CompareOptions{Run: r, Path: dir}); err == nil {
		t.Error("a trace without a table of instructions has nothing to compare")
	}
	r.Instructions = []report.Instruction{{PC: 0, Text: "s_load_dwordx2 s[4:5], s[0:1], 0x0", Hits: 4, IssueCycles: 16, StallCycles: 16},
		{PC: 8, Text: "v_mov_b32_e32 v1, 0", Hits: 4, IssueCycles: 16}, {PC: 12, Text: "s_endpgm", Hits: 4, IssueCycles: 16}}
	c, err := Compare(CompareOptions{Run: r, Path: dir, Tolerance: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Instructions) != 3 || c.Instructions[0].MeasuredLatency != 10 || c.Instructions[0].SimulatedLatency != 8 || c.Instructions[0].MeasuredStall != 6 || c.Instructions[2].ISA != "s_endpgm" {
		t.Errorf("instructions %+v", c.Instructions)
	}
	if l := line(t, c, "latency"); *l.Simulated != 16 || *l.Measured != 18 || l.Verdict != VerdictWithin {
		t.Errorf("latency %+v", l)
	}
	if l := line(t, c, "stall"); l.Verdict != VerdictBeyond {
		t.Errorf("stall %+v", l)
	}
}
