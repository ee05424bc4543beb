package lds

import (
	"encoding/csv"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// measured reads testdata/microbenchmarks.csv: published unit-level
// measurements on real parts.
func measured(t *testing.T) [][]string {
	t.Helper()
	f, err := os.Open("testdata/microbenchmarks.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The fourteen gfx950 rows "ds_read_b128 pad ...": interval per wave with one
// and with four waves on the CU, by stated conflict degree.
func TestReadIntervals(t *testing.T) {
	row := regexp.MustCompile(`^ds_read_b128 pad \S+ \(conflict (\w+)\) (\d) waves?/CU$`)
	tab, s := mustTable(t, "gfx950"), specs["gfx950"]
	n := 0
	for _, rec := range measured(t) {
		m := row.FindStringSubmatch(rec[1])
		if m == nil {
			continue
		}
		n++
		addr := stride(16 + 4) // unaligned
		if m[1] != "unaligned" {
			degree, _ := strconv.Atoi(m[1])
			addr = spread(tab, ReadB128, max(1, degree))
		}
		waves, _ := strconv.Atoi(m[2])
		d := drive(t, NewUnit(s), onSIMDs(waves, 64, request(tab, s, ReadB128, addr)))
		for i := range d.pushed {
			if got, want := cadence(d.pushed[i]), number(t, rec[3]); got != want {
				t.Errorf("%s: wave %d reads every %v cycles, want %v", rec[1], i, got, want)
			}
		}
	}
	if n != 14 {
		t.Errorf("%d rows, want 14", n)
	}
}

// Other published cadences: gfx950-gluon-tutorials and the MI325X trace.
func TestReadCadences(t *testing.T) {
	for _, c := range []struct {
		arch  string
		kind  Kind
		waves int
		want  float64
	}{
		{"gfx942", ReadB128, 1, 16}, {"gfx942", ReadB128, 4, 32},
		{"gfx942", ReadB64, 4, 16}, // MI325X thread trace
		{"gfx950", ReadB64, 4, 8}, {"gfx950", ReadB64Tr, 4, 8},
	} {
		tab, s := mustTable(t, c.arch), specs[c.arch]
		d := drive(t, NewUnit(s), onSIMDs(c.waves, 64, request(tab, s, c.kind, spread(tab, c.kind, 1))))
		for i := range d.pushed {
			if got := cadence(d.pushed[i]); got != c.want {
				t.Errorf("%s %s, %d waves: wave %d every %v cycles, want %v", c.arch, c.kind, c.waves, i, got, c.want)
			}
		}
	}
}

// A burst starts at the issue rate: at least the FIFO's eight reads, four
// cycles apart, then the port's cadence.
func TestBurstStart(t *testing.T) {
	for _, arch := range []string{"gfx942", "gfx950"} {
		tab, s := mustTable(t, arch), specs[arch]
		d := drive(t, NewUnit(s), onSIMDs(1, 40, request(tab, s, ReadB128, spread(tab, ReadB128, 1))))
		at := d.pushed[0]
		for i := 1; i < 8; i++ {
			if at[i]-at[i-1] != 4 {
				t.Errorf("%s: read %d issues %d cycles after its predecessor, want 4", arch, i+1, at[i]-at[i-1])
			}
		}
		if last := at[39] - at[38]; last == 4 {
			t.Errorf("%s: the burst never meets the port's cadence", arch)
		}
	}
}

// The MI325X thread trace of the HipKittens GEMM, rows 571 to 582: twelve
// ds_read_b64 of each of four waves, mean duration of each. Two waves share a
// pair's FIFO, so it fills within five reads; how far into the burst shows how
// long a request holds its entry, hence QueueCycles. The first read's 6.25
// includes whatever delayed its issue, so it is not compared.
func TestTraceBurst(t *testing.T) {
	want := []float64{6.25, 8, 8, 8, 8.5, 15, 16, 16, 16, 16, 16, 16}
	tab, s := mustTable(t, "gfx942"), specs["gfx942"]
	d := drive(t, NewUnit(s), onSIMDs(4, 12, request(tab, s, ReadB64, spread(tab, ReadB64, 1))))
	for i := 1; i < len(want); i++ {
		var got float64
		for w := range d.sent {
			got += float64(d.sent[w][i]-d.sent[w][i-1]) / 4
		}
		if math.Abs(got-want[i]) > 1 {
			t.Errorf("read %d takes %v cycles, traced %v", i+1, got, want[i])
		}
	}
}

// A dependent ds_read_b32 chase: data, then 4 cycles of s_waitcnt, then a VALU
// address operation whose result an LDS instruction may use after 12.
func TestDependentRead(t *testing.T) {
	const waitcnt, addressUse = 4, 12
	s := specs["gfx950"]
	tab := mustTable(t, "gfx950")
	u := NewUnit(s)
	u.Push(0, request(tab, s, ReadB32, stride(4)))
	for next := u.Next(); next != Never; {
		next = u.Step(next)
	}
	for _, rec := range measured(t) {
		if rec[1] == "dependent ds_read_b32" {
			if got, want := float64(u.Done[0].At+waitcnt+addressUse), number(t, rec[3]); got != want {
				t.Errorf("%s: %v cycles, want %v", rec[1], got, want)
			}
			return
		}
	}
	t.Error("no row of the dependent read")
}

// The stride rows: one wave issues 64 reads back to back and waits for all.
// What compares is the ratio to the widest stride.
func TestStrideRatios(t *testing.T) {
	row := regexp.MustCompile(`^64x ds_read_(b32|b64) stride (\d+) B$`)
	archs := map[string]string{"MI350X": "gfx950", "MI300X": "gfx942"}
	type point struct {
		name           string
		model, measure float64
	}
	groups, order := map[string][]point{}, []string{}
	for _, rec := range measured(t) {
		m := row.FindStringSubmatch(rec[1])
		if m == nil {
			continue
		}
		k := map[string]Kind{"b32": ReadB32, "b64": ReadB64}[m[1]]
		step, _ := strconv.Atoi(m[2])
		tab, s := mustTable(t, archs[rec[0]]), specs[archs[rec[0]]]
		d := drive(t, NewUnit(s), onSIMDs(1, 64, request(tab, s, k, stride(step))))
		key := rec[0] + " " + m[1]
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], point{rec[0] + " " + rec[1], float64(d.done[0][63]), number(t, rec[3])})
	}
	for _, key := range order {
		g := groups[key]
		widest := g[len(g)-1]
		t.Logf("%s: measured is %.2f times simulated at the widest stride; unexplained", key, widest.measure/widest.model)
		for _, p := range g {
			ratio := p.model / widest.model / (p.measure / widest.measure)
			t.Logf("%s: simulated %.0f, measured %.0f, ratio off by %+.1f %%", p.name, p.model, p.measure, 100*(ratio-1))
			low, high := 0.85, 1.15
			if r, ok := beyondRatio[p.name]; ok {
				low, high = r[0], r[1]
			}
			if ratio < low || ratio > high {
				t.Errorf("%s: %.3f of the measured ratio, want %v to %v", p.name, ratio, low, high)
			}
		}
	}
}

// beyondRatio are stride rows that one wave cannot reproduce within 15 %, with
// the range they are in. Less the common factor of 2.42, the 8-byte row is 241
// cycles, fewer than the 256 that issuing 64 reads every fourth cycle takes: it
// and the 16-byte row cannot both hold for a wave alone on its CU.
var beyondRatio = map[string][2]float64{
	"MI350X 64x ds_read_b64 stride 8 B": {1.2, 1.3},
}
