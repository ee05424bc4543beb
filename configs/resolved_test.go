package configs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSet(t *testing.T) {
	r := mustLoad(t, "mi355x")
	for _, a := range []string{
		"lds.bytes=262144", " hbm.gbs = 1234.5 ", "l2.set_hash=false", "dispatch.order=contiguous",
		"clock.sustained_mhz.fp64=1700", "cpu=gfx942", "mfma.scale=0.5",
	} {
		if err := r.Set(a); err != nil {
			t.Errorf("Set(%q): %v", a, err)
		}
	}
	m := r.Machine()
	if m.LDS.Bytes != 262144 || m.HBM.GBs != 1234.5 || m.L2.SetHash || m.Dispatch.Order != "contiguous" ||
		m.Clock.SustainedMHz["fp64"] != 1700 || m.CPU != "gfx942" || m.MFMA.Scale != 0.5 {
		t.Errorf("values after Set: %+v", m)
	}
	for _, l := range r.Leaves() {
		if l.Path == "lds.bytes" && (l.Class != Assumed || l.Source != "set on the command line" || l.Value != "262144" || l.Unit != "B") {
			t.Errorf("lds.bytes after Set: %+v", l)
		}
	}
	if err := r.Validate(); err != nil {
		t.Errorf("Validate: %v", err)
	}
}

func TestSetRefused(t *testing.T) {
	cases := []struct {
		assign string
		want   []string
	}{
		{"", []string{"is not an assignment", "KEY=VALUE"}},
		{"lds.bytes", []string{`"lds.bytes" is not an assignment`}},
		{"=3", []string{"is not an assignment"}},
		{"lds.bytes=abc", []string{"lds.bytes is not a number", "an integer from 1024 to 16777216", `"abc"`}},
		{"lds.bytes=", []string{"lds.bytes is not a number"}},
		{"lds.bytes=1.5", []string{"counts in whole units"}},
		{"lds.bytes=0x10000", []string{"lds.bytes is not a number"}},
		{"lds.bytes=-1", []string{"out of range"}},
		{"lds.bytes=" + strings.Repeat("9", 1000), []string{"...", "an integer from"}},
		{"a=1", []string{`unknown key "a". The keys are cpu, chip`}},
		{"lds.bytes=64K", []string{"lds.bytes is not a number"}},
		{"hbm.gbs=NaN", []string{"hbm.gbs is not a number", "a number from 0.001 to 1000000"}},
		{"hbm.gbs=inf", []string{"hbm.gbs is not a number"}},
		{"hbm.gbs=1e300", []string{"out of range"}},
		{"l2.set_hash=maybe", []string{"want true or false"}},
		{"dispatch.order=up", []string{"one of round_robin, contiguous"}},
		{"lds.byte=1", []string{`unknown key "byte" in lds`, "did you mean lds.bytes?"}},
		{"ldss.bytes=1", []string{"did you mean lds.bytes?"}},
		{"lds_bytes=1", []string{"did you mean lds.bytes?"}},
		{"channels_per_stack=1", []string{"did you mean hbm.channels_per_stack?"}},
		{"lds=1", []string{"lds is a group; its keys are bytes"}},
		{"clock.sustained_mhz=1", []string{"is a group; its keys are bf16, fp16"}},
		{"clock.sustained_mhz.bf61=1", []string{"did you mean clock.sustained_mhz.bf16?"}},
		{"lds.bytes.value=1", []string{"lds.bytes is a value and has no keys of its own"}},
		{"name=x", []string{"name describes a machine file"}},
		{"base=mi300x", []string{"base describes a machine file"}},
		{".=1", []string{"unknown key"}},
		{"lds.=1", []string{"unknown key"}},
	}
	r := mustLoad(t, "mi355x")
	before := r.YAML()
	for _, c := range cases {
		wantError(t, r.Set(c.assign), c.want...)
	}
	if r.YAML() != before {
		t.Error("a refused assignment changed the machine")
	}
}

func TestValidate(t *testing.T) {
	cases := []struct {
		assigns string
		want    []string
	}{
		{"tcp.bytes=30000", []string{"mi355x.yaml", "tcp.bytes 30000 is not a multiple of ways (64) * line (128) = 8192"}},
		{"l2.bytes=6291456", []string{"l2.bytes 6291456 makes 192 sets", "change the ways"}},
		{"l2.bytes=4194305", []string{"l2.channels (16) * ways (16) * line (128)"}},
		{"llc.ways=24", []string{"llc.bytes"}},
		{"salu.cache_bytes=10000", []string{"salu.cache_bytes"}},
		{"fetch.cache_bytes=65000", []string{"fetch.cache_bytes"}},
		{"l2.line_bytes=64", []string{"l2.line_bytes 64", "whole lines"}},
		{"l2.interleave_bytes=64", []string{"l2.interleave_bytes 64 is less than l2.line_bytes 128"}},
		{"fabric.request_bytes=256", []string{"fabric.request_bytes 256"}},
		{"hbm.row_bytes=64", []string{"hbm.row_bytes 64"}},
		{"llc.prefetch_block_bytes=3000", []string{"llc.prefetch_block_bytes 3000 is not a power of two from llc.line_bytes 128 up"}},
		{"llc.prefetch_block_bytes=64", []string{"llc.prefetch_block_bytes 64 is not a power of two"}},
		{"llc.fetch_bytes=192", []string{"llc.fetch_bytes 192 is neither 0 nor a power of two from llc.line_bytes 128 to hbm.row_bytes 1024"}},
		{"llc.fetch_bytes=64", []string{"llc.fetch_bytes 64 is neither 0"}},
		{"llc.fetch_bytes=2048", []string{"llc.fetch_bytes 2048 is neither 0"}},
		{"hbm.refresh_ns=3900", []string{"hbm.refresh_ns 3900 leaves no time"}},
		{"chip.cus_per_xcd=3", []string{"chip.shader_engines is 4 but an XCD has only 3 CUs"}},
		{"fabric.hop_ns=81", []string{"fabric.latency_ns is 40, but a slice lies 0.5 hops of 81 ns (fabric.hop_ns) away"}},
		{"llc.slices=1 llc.bytes=2097152", []string{"chip.iods is 2 but the LLC has only 1 slices (llc.slices)"}},
		{"dispatch.xcd_offset=8", []string{"with 8 XCDs it must be below that"}},
		{"chip.shader_engines=1 chip.cus_per_xcd=1", []string{"fetch.shared_by_cus is 2"}},
		{"clock.sustained_mhz.bf16=2401", []string{"clock.sustained_mhz.bf16 is 2401 MHz, above clock.peak_mhz 2400"}},
		{"clock.peak_mhz=2000", []string{"above clock.peak_mhz 2000; raise the peak or lower this one as well"}},
		{"cu.simds=3", []string{"must be even"}},
		{"cu.vgpr_granule=64 cu.vgprs_per_simd=500", []string{"not a multiple of cu.vgpr_granule"}},
		{"cu.sgpr_granule=17", []string{"not a multiple of cu.sgpr_granule"}},
		{"cu.max_vgprs=513", []string{"cu.max_vgprs 513"}},
		{"cu.max_agprs=513", []string{"cu.max_agprs 513"}},
		{"cu.sgprs_per_simd=64", []string{"cu.max_sgprs 102"}},
		{"valu.dependent_cycles=3", []string{"valu.dependent_cycles 3"}},
		{"salu.load_miss_cycles=10", []string{"salu.load_miss_cycles 10"}},
		{"lds.bytes=1024", []string{"lds.granule_bytes 1280 is more than lds.bytes 1024"}},
		{"lds.banks=16", []string{"lds.write_bytes_per_cycle 128 is wider than 16 banks"}},
	}
	for _, c := range cases {
		r := mustLoad(t, "mi355x")
		before := r.YAML()
		wantError(t, r.SetAll(strings.Fields(c.assigns)), c.want...)
		if r.YAML() != before {
			t.Errorf("%s: a refused SetAll changed the machine", c.assigns)
		}
	}
	r := mustLoad(t, "mi355x")
	for _, ok := range []string{"l2.bytes=8388608", "lds.bytes=262144", "chip.xcds=7", "l2.bytes=6291456 l2.ways=24", "chip.xcds=1 chip.iods=1"} {
		if err := r.Clone().SetAll(strings.Fields(ok)); err != nil {
			t.Errorf("SetAll(%s): %v", ok, err)
		}
	}
}

// TestSetReachesEveryLeaf changes each leaf to another accepted value: the
// hash, the difference and the printed file must all show it.
func TestSetReachesEveryLeaf(t *testing.T) {
	base := mustLoad(t, "mi355x")
	seen := map[string]string{base.Hash(): "the machine itself"}
	for i := range schema {
		s := &schema[i]
		text := "3"
		old, _ := s.text(base.Machine())
		switch {
		case s.kind == kindBool:
			text = map[string]string{"true": "false", "false": "true"}[old]
		case s.kind == kindString:
			text = s.limits.words[0]
			if text == old {
				text = s.limits.words[1]
			}
		default:
			text = formatFloat(s.limits.max)
			if text == old {
				text = formatFloat(s.limits.min)
			}
		}
		r := base.Clone()
		if err := r.Set(s.path + "=" + text); err != nil {
			t.Errorf("Set(%s=%s): %v", s.path, text, err)
			continue
		}
		if other, dup := seen[r.Hash()]; dup {
			t.Errorf("%s=%s has the hash of %s", s.path, text, other)
		}
		seen[r.Hash()] = s.path
		d := Diff(base, r)
		if len(d) != 1 || d[0].Leaf != s.path || d[0].B != text || d[0].Unit != s.unit {
			t.Errorf("Diff after %s=%s: %v", s.path, text, d)
		}
	}
}

func TestLeavesAreInFileOrder(t *testing.T) {
	var keys []string
	for _, k := range Keys() {
		keys = append(keys, k.Path)
	}
	i := 0
	for _, l := range mustLoad(t, "mi300x").Leaves() {
		for i < len(keys) && keys[i] != l.Path {
			i++
		}
		if i == len(keys) {
			t.Fatalf("%s is out of order", l.Path)
		}
	}
}

func TestYAMLLoadsAgain(t *testing.T) {
	for _, name := range Names() {
		r := mustLoad(t, name)
		if err := r.Set("hbm.latency_ns=0.30000000000000004"); err != nil {
			t.Fatal(err)
		}
		dir := write(t, map[string]string{"printed.yaml": r.YAML()})
		back, err := Load(filepath.Join(dir, "printed.yaml"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(r.Machine(), back.Machine()); d != "" {
			t.Errorf("%s: machine changed:\n%s", name, d)
		}
		if d := cmp.Diff(r.Leaves(), back.Leaves()); d != "" {
			t.Errorf("%s: provenance changed:\n%s", name, d)
		}
		if back.Hash() != r.Hash() || back.YAML() != r.YAML() || back.Description() != r.Description() {
			t.Errorf("%s: prints differently after loading again", name)
		}
	}
}

func TestYAMLQuoting(t *testing.T) {
	text := "base: mi355x\ndescription: 'say \"hi\" \\ {x: y} # no comment é'\nname: \"1e3\"\n" +
		"lds:\n  bytes: {value: 65536, class: calibrated, source: 'a: \"b\", [c] \\n', fitted_on: ['x, y', 'true']}\n"
	r, err := parseBytes("m.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	back, err := parseBytes("again.yaml", []byte(r.YAML()))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r.Leaves(), back.Leaves()); d != "" || back.Description() != r.Description() || back.Machine().Name != "1e3" {
		t.Errorf("changed by printing: %s\n%q\n%q", d, r.Description(), back.Description())
	}
}

// TestHashSeesValuesOnly: the same values under another name and with other
// sources are the same machine.
func TestHashSeesValuesOnly(t *testing.T) {
	a := mustLoad(t, "mi355x")
	b, err := parseBytes("m.yaml", []byte("name: other\nbase: mi355x\nlds: {bytes: 163840}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Hash() != b.Hash() {
		t.Error("a name or a source changes the hash")
	}
	if len(a.Hash()) != 16 {
		t.Errorf("hash %q", a.Hash())
	}
	hashes := map[string]string{}
	for _, n := range Names() {
		h := mustLoad(t, n).Hash()
		if other, dup := hashes[h]; dup {
			t.Errorf("%s and %s have one hash", n, other)
		}
		hashes[h] = n
	}
}

func TestCloneIsIndependent(t *testing.T) {
	a := mustLoad(t, "mi355x")
	before := a.YAML()
	c := a.Clone()
	for _, s := range []string{"lds.bytes=65536", "clock.sustained_mhz.bf16=1000"} {
		if err := c.Set(s); err != nil {
			t.Fatal(err)
		}
	}
	if a.YAML() != before {
		t.Error("changing a clone changes the original")
	}
}

func TestEditDistance(t *testing.T) {
	cases := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"bytes", "bytes", 0}, {"byte", "bytes", 1}, {"bnaks", "banks", 1},
		{"tpc", "tcp", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3},
	}
	for _, c := range cases {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := editDistance(c.b, c.a); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
