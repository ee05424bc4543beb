package lds

import (
	"strings"
	"testing"
)

func TestSwizzlesPermuteAndInvert(t *testing.T) {
	for _, l := range Layouts() {
		if l.Rows*l.RowBytes != l.SubtileBytes || l.Cols*l.ElemBits != l.RowBytes*8 {
			t.Errorf("%s: %d rows of %d bytes, %d columns of %d bits, subtile %d", l.Name, l.Rows, l.RowBytes, l.Cols, l.ElemBits, l.SubtileBytes)
		}
		moved := false
		hit := make([]bool, 3*l.SubtileBytes)
		for o := range hit {
			s := l.Swizzle(o)
			if s < 0 || s >= len(hit) || s/l.SubtileBytes != o/l.SubtileBytes {
				t.Fatalf("%s: %d leaves its subtile for %d", l.Name, o, s)
			}
			if hit[s] {
				t.Fatalf("%s: two offsets go to %d", l.Name, s)
			}
			hit[s] = true
			if l.Swizzle(s) != o {
				t.Fatalf("%s: %d goes to %d and that to %d", l.Name, o, s, l.Swizzle(s))
			}
			moved = moved || s != o
		}
		if moved != l.Swizzled() || moved == (l.SwizzleText == "none") {
			t.Errorf("%s: moved %v, Swizzled %v, %q", l.Name, moved, l.Swizzled(), l.SwizzleText)
		}
	}
}

// Literal values, worked by hand from the published rules.
func TestSwizzleValues(t *testing.T) {
	for _, c := range []struct {
		layout   string
		from, to int
	}{
		{"st_16x32", 511, 511}, {"st_16x32", 512, 544}, {"st_16x32", 1023, 1023 ^ 32},
		{"st_32x16", 512, 528}, {"st_16x16_swizzled", 128, 136}, {"st_16x16_swizzled", 384, 384 ^ 24},
		{"st_32x32", 512, 544}, {"st_32x32", 1024, 1040}, {"st_32x32", 1536, 1536 ^ 48},
		{"st_16x128_fp8", 256, 272}, {"st_16x128_fp8", 1792, 1792 ^ 112},
		{"st_16x128_fp6", 128, 144}, {"st_16x128_fp6", 1024, 1024},
		{"st_16x128_fp6_packed", 768, 816}, {"st_16x128_fp6_packed", 0, 0},
		{"st_cdna3", 128, 136}, {"st_cdna3", 1920, 1920 ^ 120}, {"st_cdna3", 2048, 2048},
		{"st_8x32", 300, 300},
	} {
		l, err := LayoutByName(c.layout)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Swizzle(c.from); got != c.to {
			t.Errorf("%s: %d goes to %d, want %d", c.layout, c.from, got, c.to)
		}
	}
}

// Together, the accesses of a register tile take every byte of the rows once.
func TestAccessesCoverTheTile(t *testing.T) {
	for _, c := range []struct {
		layout string
		kind   Kind
		bytes  int // of LDS touched
	}{
		{"st_16x16", ReadB64, 512}, {"st_16x16", ReadB128, 1024}, {"st_8x32", ReadB128, 1024},
		{"st_16x32", ReadB128, 1024}, {"st_16x32", ReadB64, 1024}, {"st_32x16", ReadB128, 1024},
		{"st_32x32", ReadB128, 2048}, {"st_16x128_fp8", ReadB128, 2048}, {"st_16x128_fp6_packed", ReadB64, 1536},
		{"st_16x128_fp6", ReadB96, 2048 * 3 / 4}, {"st_cdna3", ReadB64, 2048},
		{"st_8x32", ReadB64Tr, 1024}, {"st_32x16", ReadB64Tr, 1024},
	} {
		l, _ := LayoutByName(c.layout)
		seen := map[int]bool{}
		for n := range l.Accesses(c.kind) {
			off, err := l.Access(c.kind, n)
			if err != nil {
				t.Fatalf("%s %s: %v", c.layout, c.kind, err)
			}
			for _, o := range off {
				for b := range c.kind.Bytes() {
					if seen[o+b] {
						t.Fatalf("%s %s: byte %d is read twice", c.layout, c.kind, o+b)
					}
					seen[o+b] = true
				}
			}
		}
		if len(seen) != c.bytes {
			t.Errorf("%s %s: %d bytes, want %d", c.layout, c.kind, len(seen), c.bytes)
		}
	}
}

// What the swizzles are for: every access the kernels make is free of
// conflicts, and would not be without. Phases and swizzles were published
// apart, so this checks both.
func TestLayoutConflicts(t *testing.T) {
	for _, c := range []struct {
		arch, layout    string
		kind            Kind
		plain, swizzled int // conflicts of each access
	}{
		{"gfx950", "st_16x32", ReadB128, 4, 0},
		{"gfx950", "st_32x16", ReadB128, 4, 0},
		{"gfx950", "st_32x32", ReadB128, 12, 0},
		{"gfx950", "st_8x32", ReadB64Tr, 0, 0},
		{"gfx950", "st_32x32", ReadB64Tr, 0, 0},
		{"gfx950", "st_16x128_fp8", ReadB128, 12, 0},
		{"gfx950", "st_16x128_fp6", ReadB96, 24, 0},
		{"gfx950", "st_16x128_fp6_packed", ReadB64, 2, 0},
		{"gfx942", "st_cdna3", ReadB64, 60, 0},
		{"gfx942", "st_cdna3", WriteB64, 4, 0},
		// Not pairs that a kernel uses: the other part's phases differ.
		{"gfx942", "st_16x32", ReadB128, 8, 8},
		{"gfx942", "st_16x16_swizzled", ReadB64, 12, 0},
	} {
		tab := mustTable(t, c.arch)
		l, _ := LayoutByName(c.layout)
		for n := range l.Accesses(c.kind) {
			for _, swizzle := range []bool{false, true} {
				want := c.plain
				if swizzle {
					want = c.swizzled
				}
				addr, err := l.Addresses(c.kind, n, swizzle)
				if err != nil {
					t.Fatal(err)
				}
				if r := tab.Analyze(c.kind, &addr, ^uint64(0)); r.Conflicts != want || r.Unaligned {
					t.Errorf("%s %s %s access %d, swizzle %v: %+v, want %d conflicts", c.arch, c.layout, c.kind, n, swizzle, r, want)
				}
			}
		}
	}
}

func TestLayoutErrors(t *testing.T) {
	if _, err := LayoutByName("st_7x7"); err == nil || !strings.Contains(err.Error(), "st_16x32") {
		t.Errorf("unknown layout: %v", err)
	}
	l, _ := LayoutByName("st_cdna3")
	if _, err := l.Addresses(ReadB128, 0, true); err == nil || !strings.Contains(err.Error(), "not contiguous") {
		t.Errorf("16-byte read of an 8-byte swizzle: %v", err)
	}
	if _, err := l.Addresses(ReadB64, 99, true); err == nil {
		t.Error("access 99 exists")
	}
	if _, err := l.Addresses(ReadB64Tr, 0, true); err == nil {
		t.Error("a column-layout read of the CDNA3 tile exists")
	}
}
