package configs

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestEveryLeafHasClassAndSource reads the built-in files as they are written:
// a value in the short form, or a part missing, fails here.
func TestEveryLeafHasClassAndSource(t *testing.T) {
	for _, name := range Names() {
		r := mustLoad(t, name)
		for _, l := range r.Leaves() {
			if !slices.Contains(Classes, l.Class) {
				t.Errorf("%s: %s has class %q", name, l.Path, l.Class)
			}
			if len(l.Source) < 5 || strings.HasPrefix(l.Source, "set in ") {
				t.Errorf("%s: %s has source %q", name, l.Path, l.Source)
			}
			if (l.Class == Calibrated) != (len(l.FittedOn) > 0) {
				t.Errorf("%s: %s is %s and fitted on %q", name, l.Path, l.Class, l.FittedOn)
			}
		}
		if r.Machine().Name != name {
			t.Errorf("%s.yaml calls itself %q", name, r.Machine().Name)
		}
		if r.Description() == "" {
			t.Errorf("%s.yaml has no description", name)
		}
	}
}

// TestSchemaCoversMachine holds the table of leaves against the struct: every
// field has exactly one leaf, its key is the field's name but for case and underscores, and
// leaves come in the order of the fields.
func TestSchemaCoversMachine(t *testing.T) {
	var m Machine
	want := map[uintptr]string{} // field address to Go name
	var order []uintptr
	var walk func(v reflect.Value, name string)
	walk = func(v reflect.Value, name string) {
		if v.Kind() == reflect.Struct {
			for i := range v.NumField() {
				walk(v.Field(i), name+"."+v.Type().Field(i).Name)
			}
			return
		}
		if v.Kind() == reflect.Map || name == ".Name" {
			return
		}
		want[v.Addr().Pointer()] = name
		order = append(order, v.Addr().Pointer())
	}
	walk(reflect.ValueOf(&m).Elem(), "")
	var got []uintptr
	for i := range schema {
		s := &schema[i]
		if s.dataType != "" {
			continue
		}
		addr := reflect.ValueOf(s.field(&m)).Pointer()
		name, ok := want[addr]
		if !ok {
			t.Errorf("%s: its field is used by another leaf or is not in Machine", s.path)
			continue
		}
		delete(want, addr)
		got = append(got, addr)
		if squash(name) != squash(s.path) {
			t.Errorf("leaf %s is for field %s", s.path, name)
		}
		if s.path != strings.ToLower(s.path) {
			t.Errorf("leaf %s is not in lower case", s.path)
		}
	}
	for _, name := range want {
		t.Errorf("field %s has no leaf", name)
	}
	if !slices.Equal(got, order) {
		t.Error("leaves are not in the order of the fields of Machine")
	}
}

// squash drops what differs between a field's name and its key.
func squash(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '_' {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

func TestUnitsFollowTheNames(t *testing.T) {
	units := map[string]string{
		"_cycles": "cycles", "_ns": "ns", "_us": "us", "_mhz": "MHz", "gbs": "GB/s", "_gb": "GB",
		"bytes": "B", "_bytes_per_cycle": "B/cycle",
	}
	for _, k := range Keys() {
		for suffix, unit := range units {
			if strings.HasSuffix(k.Path, suffix) && k.Unit != unit {
				t.Errorf("%s has unit %q, want %q", k.Path, k.Unit, unit)
			}
		}
		if k.Doc == "" || k.Accepts == "" {
			t.Errorf("%s has no description or range", k.Path)
		}
	}
}

// TestPublishedFigures holds the machines to figures that vendor documents
// print, by arithmetic that crosses several leaves.
func TestPublishedFigures(t *testing.T) {
	cases := []struct {
		name                   string
		cus, ldsKiB, vgprKiB   int
		peakTFLOPS             float64 // dense BF16
		flopsPerCUCycle        int
		capacityGB             int
		tcpSets, l2Sets, llcMB int
	}{
		{"mi300x", 304, 64, 512, 1307.4, 2048, 192, 4, 128, 256},
		{"mi300a", 228, 64, 512, 980.6, 2048, 128, 4, 128, 256},
		{"mi325x", 304, 64, 512, 1307.4, 2048, 256, 4, 128, 256},
		{"mi350x", 256, 160, 512, 2306.9, 4096, 288, 4, 128, 256},
		{"mi355x", 256, 160, 512, 2516.6, 4096, 288, 4, 128, 256},
	}
	for _, c := range cases {
		m := mustLoad(t, c.name).Machine()
		cus := m.Chip.XCDs * m.Chip.CUsPerXCD
		peak := float64(cus*c.flopsPerCUCycle*m.Clock.PeakMHz) / 1e6
		vgprKiB := m.CU.SIMDs * m.CU.VGPRsPerSIMD * 64 * 4 / kib
		tcpSets := m.TCP.Bytes / (m.TCP.Ways * m.TCP.LineBytes)
		l2Sets := m.L2.Bytes / (m.L2.Channels * m.L2.Ways * m.L2.LineBytes)
		if cus != c.cus || m.LDS.Bytes/kib != c.ldsKiB || vgprKiB != c.vgprKiB || m.HBM.CapacityGB != c.capacityGB ||
			tcpSets != c.tcpSets || l2Sets != c.l2Sets || m.LLC.Bytes/mib != c.llcMB {
			t.Errorf("%s: CUs %d, LDS %d KiB, VGPRs %d KiB, HBM %d GB, TCP sets %d, L2 sets %d, LLC %d MiB; want %+v",
				c.name, cus, m.LDS.Bytes/kib, vgprKiB, m.HBM.CapacityGB, tcpSets, l2Sets, m.LLC.Bytes/mib, c)
		}
		if peak < c.peakTFLOPS-0.1 || peak > c.peakTFLOPS+0.1 {
			t.Errorf("%s: peak %.1f TFLOPS, want %.1f", c.name, peak, c.peakTFLOPS)
		}
	}
}

// TestUnloadedLatenciesAddUp holds the parts of the memory path to the chases
// measured on the MI300X: scalar loads have 83 ns in the L2 (VF report), C&C's 218
// in the LLC, with a TLB miss the VF report's 256 to 262 there and 341 to 353 in
// HBM; a vector load's L2 hit lies between the VF report's 170 and the MI210's 250
// cycles.
func TestUnloadedLatenciesAddUp(t *testing.T) {
	m := mustLoad(t, "mi300x").Machine()
	l2 := m.TCP.HitLatencyCycles + m.L2.HitLatencyCycles
	llc := float64(m.SALU.LoadMissCycles)*1000/float64(m.Clock.PeakMHz) + 2*m.Fabric.LatencyNS + m.LLC.LatencyNS
	hbm := llc + m.TLB.MissNS + m.HBM.LatencyNS + m.HBM.RowMissNS
	if l2 < 170 || l2 > 250 {
		t.Errorf("L2 hit takes %d cycles", l2)
	}
	if llc < 216 || llc > 220 || llc+m.TLB.MissNS < 256 || llc+m.TLB.MissNS > 1.02*262 {
		t.Errorf("LLC hit takes %.1f ns, and %.1f with a TLB miss", llc, llc+m.TLB.MissNS)
	}
	if hbm < 341 || hbm > 353 {
		t.Errorf("HBM takes %.1f ns", hbm)
	}
}

// TestInFlightCoversBandwidth checks that no miss table is the hidden limit
// under the published bandwidths.
func TestInFlightCoversBandwidth(t *testing.T) {
	for _, name := range Names() {
		m := mustLoad(t, name).Machine()
		beyondL2 := 2*m.Fabric.LatencyNS + m.LLC.LatencyNS
		l2 := float64(m.L2.MSHRsPerChannel*m.L2.Channels*m.L2.LineBytes) / beyondL2
		if l2 < m.Fabric.ReadGBs {
			t.Errorf("%s: L2 misses in flight carry %.0f GB/s, the fabric %.0f", name, l2, m.Fabric.ReadGBs)
		}
		llc := float64(m.LLC.MSHRsPerSlice*m.LLC.Slices*m.LLC.LineBytes) / (m.HBM.LatencyNS + m.HBM.RowMissNS)
		if llc < m.HBM.GBs {
			t.Errorf("%s: LLC misses in flight carry %.0f GB/s, HBM %.0f", name, llc, m.HBM.GBs)
		}
	}
}

func TestArchitectureDifferences(t *testing.T) {
	diffs := Diff(mustLoad(t, "mi300x"), mustLoad(t, "mi355x"))
	want := []string{
		"cpu gfx942 gfx950", "chip.cus_per_xcd 38 32", "chip.iods 4 2", "clock.peak_mhz 2100 2400",
		"valu.dependent_cycles 4 8", "lds.bytes 65536 163840", "lds.granule_bytes 512 1280", "lds.banks 32 64",
		"lds.pair_port_bytes_per_cycle 64 128", "tcp.set_hash_bits 13 64", "hbm.capacity_gb 192 288", "hbm.gbs 5300 8000",
		"dispatch.wave_launch_cycles 4 5",
	}
	var got []string
	for _, d := range diffs {
		got = append(got, d.Leaf+" "+d.A+" "+d.B)
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("Diff does not list %q", w)
		}
	}
	if !slices.ContainsFunc(diffs, func(d Difference) bool { return d.Leaf == "clock.sustained_mhz.fp4" && d.A == "" && d.B != "" }) {
		t.Error("Diff does not show a leaf that only one machine has")
	}
	if len(Diff(mustLoad(t, "mi355x"), mustLoad(t, "mi355x"))) != 0 {
		t.Error("a machine differs from itself")
	}
}
