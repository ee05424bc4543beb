package sim

import (
	"encoding/csv"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// measuredPhases is tables/lds_phases.csv: banks and phases of LDS instructions as
// measured on both CPUs.
func measuredPhases(t *testing.T) map[string][]LDSSolution {
	t.Helper()
	f, err := os.Open("tables/lds_phases.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]LDSSolution{}
	for _, r := range rows[1:] {
		var mask uint64
		for _, l := range strings.Fields(r[4]) {
			n, err := strconv.Atoi(l)
			if err != nil {
				t.Fatal(err)
			}
			mask |= 1 << n
		}
		i := slices.IndexFunc(out[r[0]], func(s LDSSolution) bool { return s.Op == r[1] })
		if i < 0 {
			banks, err := strconv.Atoi(r[2])
			if err != nil {
				t.Fatal(err)
			}
			out[r[0]] = append(out[r[0]], LDSSolution{Op: r[1], Banks: banks})
			i = len(out[r[0]]) - 1
		}
		out[r[0]][i].Phases = append(out[r[0]][i].Phases, mask)
	}
	return out
}

// The solvers find the banks and phases of every measured instruction from conflict
// counts of simulated kernels alone.
func TestLDSSolvers(t *testing.T) {
	for arch, machine := range map[string]string{"gfx942": "mi300x", "gfx950": "mi355x"} {
		m, err := LoadMachine(machine, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range measuredPhases(t)[arch] {
			if testing.Short() && i > 0 {
				break
			}
			got, err := SolveLDS(MicroOptions{Machine: m}, want.Op)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(want.Phases)
			slices.Sort(got[0].Phases)
			if got[0].Banks != want.Banks || !slices.Equal(got[0].Phases, want.Phases) {
				t.Errorf("%s %s: %d banks and phases %x, measured %d and %x", arch, want.Op, got[0].Banks, got[0].Phases, want.Banks, want.Phases)
			}
		}
	}
}

// The suite's figures are those that the unit models give alone: matrix intervals
// are passes, one wave's LDS reads come at the port's rate, four waves' at the
// banks'.
func TestMicroSuite(t *testing.T) {
	m, err := LoadMachine("mi355x", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := RunMicro(MicroOptions{Machine: m, Short: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		// A wave issues at most every fourth cycle.
		if r.Value < 4 {
			t.Errorf("%s is %.2f cycles, less than a wave takes to issue", r.Name, r.Value)
		}
	}
	for name, want := range map[string]float64{
		"mfma/v_mfma_f32_16x16x32_bf16/interval": 16, "mfma/v_mfma_f32_32x32x16_bf16/interval": 32,
		"lds/ds_read_b128/conflict1/waves1": 8, "lds/ds_read_b128/conflict1/waves4": 16,
		"valu/v_fma_f32/latency": 8, "valu/v_fma_f32/interval": 4, "valu/v_exp_f32/interval": 16,
	} {
		i := slices.IndexFunc(rows, func(r MicroRow) bool { return r.Name == name })
		if i < 0 {
			t.Errorf("no row %s", name)
			continue
		}
		if got := rows[i].Value; got < 0.95*want || got > 1.1*want {
			t.Errorf("%s is %.2f, want about %g", name, got, want)
		}
	}
}
