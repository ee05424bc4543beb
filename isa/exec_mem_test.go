package isa

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// memState has 4 KiB of memory holding its own dword index, its base in s[2:3],
// and a raw buffer descriptor over the first 256 bytes in s[4:7].
func memState(cpu CPU) (*Kernel, *State, uint64) {
	k, s := newTestState(cpu)
	base := s.Mem.Alloc("data", 4096)
	for i := range 1024 {
		s.Mem.Store32(base+uint64(4*i), uint32(i))
	}
	s.setS64(S(2), base)
	s.setS64(S(4), base)
	s.SGPR[6], s.SGPR[7] = 256, 0x20000
	s.Scratch = make([][Lanes]uint32, 16)
	for i := range s.LDS {
		s.LDS[i] = byte(i)
	}
	return k, s, base
}

// memCase runs one instruction on memState; want names registers, mem@offset
// dwords or lds@offset dwords after it.
type memCase struct {
	name, text, in, want string
}

func runMemCases(t *testing.T, cpu CPU, cases []memCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in, err := Parse(cpu, c.text)
			if err != nil {
				t.Fatal(err)
			}
			k, s, base := memState(cpu)
			eachAssignment(t, strings.ReplaceAll(c.in, "@base", fmt.Sprint(base)), func(name string, v uint64) {
				_, set := place(t, s, name)
				set(v)
			})
			if err := Exec(k, &in, s); err != nil {
				t.Fatal(err)
			}
			eachAssignment(t, c.want, func(name string, v uint64) {
				var got uint64
				if at, off, ok := strings.Cut(name, "@"); ok {
					var n uint32
					fmt.Sscan(off, &n)
					if got = uint64(s.Mem.Load32(base + uint64(n))); at == "lds" {
						got = uint64(le32(s.LDS[n:]))
					}
				} else {
					get, _ := place(t, s, name)
					got = get()
				}
				if uint32(got) != uint32(v) {
					t.Errorf("%s: %s is %#x, want %#x", c.text, name, got, v)
				}
			})
		})
	}
}

// iota4 is register r holding step times the lane.
func iota4(r string, step int) string {
	var b strings.Builder
	for l := range Lanes {
		fmt.Fprintf(&b, " %s[%d]=%d", r, l, l*step)
	}
	return b.String() + " "
}

func TestBuffer(t *testing.T) {
	runMemCases(t, GFX950, []memCase{
		{"offen", "buffer_load_dword v0, v1, s[4:7], 0 offen offset:4", iota4("v1", 4) + "v0=9", "v0[0]=1 v0[62]=63 v0[63]=0"},
		{"soffset counts against the range", "buffer_load_dword v0, v1, s[4:7], s8 offen", iota4("v1", 4) + "s8=128", "v0[31]=63 v0[32]=0"},
		{"wide loads clamp by dword", "buffer_load_dwordx4 v[8:11], v1, s[4:7], 0 offen", "v1[0]=248 v1[1]=256", "v8[0]=62 v9[0]=63 v10[0]=0 v11[0]=0 v8[1]=0"},
		{"offset wraps at 32 bits", "buffer_load_dword v0, v1, s[4:7], 0 offen offset:8", "v1=0xfffffffc", "v0=1"},
		{"inactive lanes keep their register", "buffer_load_dword v0, off, s[4:7], 0 offset:8", "exec=2 v0=7", "v0[0]=7 v0[1]=2"},
		{"structured: index against num_records", "buffer_load_dword v0, v1, s[4:7], 0 idxen offset:4", "s5=0x100001 s6=2 v1[0]=1 v1[1]=2", "v0[0]=5 v0[1]=0"},
		{"ushort", "buffer_load_ushort v0, off, s[4:7], 0 offset:4", "v0=-1", "v0=1"},
		{"d16 keeps the high half", "buffer_load_short_d16 v0, off, s[4:7], 0 offset:8", "v0=0x55550000", "v0=0x55550002"},
		{"d16_hi keeps the low half", "buffer_load_ubyte_d16_hi v0, off, s[4:7], 0 offset:8", "v0=0x5555", "v0=0x25555"},
		{"store out of range is dropped", "buffer_store_dword v0, v1, s[4:7], 0 offen", "v0=5 v1=256", "mem@256=64"},
		{"store clamps by dword", "buffer_store_dwordx2 v[0:1], v2, s[4:7], 0 offen", "v0=5 v1=6 v2=252", "mem@252=5 mem@256=64"},
		{"short_d16_hi", "buffer_store_short_d16_hi v0, off, s[4:7], 0 offset:4", "v0=0xabcd1234", "mem@4=0xabcd"},
		{"two lanes at one address: the highest stays", "buffer_store_dword v0, off, s[4:7], 0", iota4("v0", 1), "mem@0=63"},
		{"atomic returns the old value", "buffer_atomic_add v0, off, s[4:7], 0 offset:12 sc0", "v0=10 exec=3", "v0[0]=3 v0[1]=13 mem@12=23"},
		{"atomic out of range returns zero", "buffer_atomic_add v0, v1, s[4:7], 0 offen sc0", "v0=10 v1=256", "v0=0 mem@256=64"},
		{"to LDS", "buffer_load_dword v1, s[4:7], 0 offen offset:8 lds", iota4("v1", 4) + "m0=64", "lds@72=2 lds@76=3 lds@316=63 lds@320=0"},
		{"to LDS, 16 bytes", "buffer_load_dwordx4 v1, s[4:7], 0 offen lds", iota4("v1", 16) + "m0=128 exec=5", "lds@128=0 lds@140=3 lds@144=0x93929190 lds@160=8"},
		{"to LDS, byte extends to a dword", "buffer_load_sbyte v1, s[4:7], 0 offen lds", "v1=0 s[4:5]=@base m0=0 exec=1", "lds@0=0 lds@4=0x07060504"},
	})
}

func TestGlobalFlatScratch(t *testing.T) {
	runMemCases(t, GFX942, []memCase{
		{"saddr", "global_load_dword v0, v1, s[2:3] offset:-4", iota4("v1", 8) + "v1[0]=4", "v0[0]=0 v0[1]=1 v0[2]=3"},
		{"saddr offset is unsigned", "global_load_dwordx2 v[10:11], v1, s[2:3]", "v1=16", "v10=4 v11=5"},
		{"store", "global_store_dwordx3 v1, v[4:6], s[2:3]", "v1=12 v4=7 v5=8 v6=9", "mem@8=2 mem@12=7 mem@16=8 mem@20=9 mem@24=6"},
		{"cmpswap: new, then compare", "global_atomic_cmpswap v0, v1, v[4:5], s[2:3] sc0", "v1=20 v4=100 v5=5 exec=3", "v0[0]=5 v0[1]=100 mem@20=100"},
		{"add_f32", "global_atomic_add_f32 v1, v4, s[2:3]", "v1=0 exec=3 v4=" + bf(1.5), "mem@0=" + bf(3)},
		{"pk_add_bf16", "global_atomic_pk_add_bf16 v1, v4, s[2:3]", "v1=0 exec=3 v4=0x3f804000", "mem@0=0x40004080"},
		{"umax", "global_atomic_umax v1, v4, s[2:3]", "v1=8 v4=-1 exec=1", "mem@8=0xffffffff"},
		{"dec", "global_atomic_dec v1, v4, s[2:3]", "v1=0 v4=9 exec=3", "mem@0=8"},
		{"inc", "global_atomic_inc v1, v4, s[2:3]", "v1=8 v4=2 exec=1", "mem@8=0"},
		{"add_x2", "global_atomic_add_x2 v1, v[4:5], s[2:3]", "v1=0 v4=-1 exec=1", "mem@0=-1 mem@4=1"},
		{"s_load", "s_load_dwordx4 s[8:11], s[2:3], 0x10", "", "s8=4 s11=7"},
		{"s_load with an SGPR offset", "s_load_dword s8, s[2:3], s12 offset:0x4", "s12=8", "s8=3"},
		{"s_buffer_load", "s_buffer_load_dwordx2 s[8:9], s[4:7], 0x8", "", "s8=2 s9=3"},
		{"s_buffer_load out of range", "s_buffer_load_dword s8, s[4:7], 0x100", "s8=1", "s8=0"},
	})
}

func TestScratchAndFlatApertures(t *testing.T) {
	k, s, _ := memState(GFX942)
	run := func(text string) {
		t.Helper()
		in, err := Parse(GFX942, text)
		if err != nil {
			t.Fatal(err)
		}
		if err := Exec(k, &in, s); err != nil {
			t.Fatal(err)
		}
	}
	for l := range Lanes {
		s.VGPR[0][l] = uint32(l)
		s.VGPR[4][l] = 8 // scratch offset
		s.VGPR[5][l] = privateApertureHi
		s.VGPR[6][l] = uint32(4 * l) // LDS address
		s.VGPR[7][l] = sharedApertureHi
	}
	run("scratch_store_dword off, v0, off offset:8")
	run("scratch_load_dword v1, v4, off")
	run("flat_load_dword v2, v[4:5]")
	run("flat_store_dword v[6:7], v0")
	for l := range Lanes {
		if s.VGPR[1][l] != uint32(l) || s.VGPR[2][l] != uint32(l) || le32(s.LDS[4*l:]) != uint32(l) {
			t.Fatalf("lane %d: scratch %d, flat %d, LDS %d", l, s.VGPR[1][l], s.VGPR[2][l], le32(s.LDS[4*l:]))
		}
	}
}

func TestMemoryErrors(t *testing.T) {
	for text, want := range map[string][]string{
		"global_load_dword v0, v1, s[2:3] offset:4092": {"lane 1", "0x", `"data"`, "workgroup [1 2 3] wave 4"},
		"scratch_load_dword v0, off, off offset:64":    {"lane 0", "the kernel has 64 scratch bytes"},
		"s_load_dwordx16 s[16:31], s[2:3], 0xfd0":      {"access of 64 bytes"},
	} {
		k, s, _ := memState(GFX942)
		s.Info.Workgroup, s.Info.WaveInWG = [3]int{1, 2, 3}, 4
		for l := range Lanes {
			s.VGPR[1][l] = uint32(4 * l)
		}
		in, err := Parse(GFX942, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []func(*Kernel, *Inst, *State) error{Exec, Address} {
			err := f(k, &in, s)
			if !errors.Is(err, ErrOutOfBounds) {
				t.Errorf("%s: %v", text, err)
				continue
			}
			for _, part := range append(want, text, "kernel test") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: error lacks %q: %v", text, part, err)
				}
			}
		}
	}
}

// LDS of memState holds byte i at address i.
func TestLDS(t *testing.T) {
	runMemCases(t, GFX950, []memCase{
		{"b128", "ds_read_b128 v[8:11], v1 offset:4", iota4("v1", 16), "v8[1]=0x17161514 v11[0]=0x13121110"},
		{"u8", "ds_read_u8 v0, v1 offset:3", "v1=0", "v0=3"},
		{"i8", "ds_read_i8 v0, v1", "v1=0xff", "v0=-1"},
		{"u16_d16_hi", "ds_read_u16_d16_hi v0, v1", "v1=2 v0=0x1234", "v0=0x03021234"},
		{"read2", "ds_read2_b32 v[8:9], v1 offset0:1 offset1:3", "v1=4", "v8=0x0b0a0908 v9=0x13121110"},
		{"read2_b64", "ds_read2_b64 v[8:11], v1 offset0:1 offset1:2", "v1=0", "v8=0x0b0a0908 v11=0x17161514"},
		{"read2st64", "ds_read2st64_b32 v[8:9], v1 offset0:0 offset1:1", "v1=4", "v8=0x07060504 v9=0x07060504"},
		{"out of range reads zero", "ds_read_b32 v0, v1", "v1=4096 v0=1", "v0=0"},
		{"write b96", "ds_write_b96 v1, v[8:10] offset:4", "v1=0 v8=1 v9=2 v10=3", "lds@0=0x03020100 lds@4=1 lds@12=3"},
		{"write b16_d16_hi", "ds_write_b16_d16_hi v1, v8", "v1=0 v8=0xabcd1234", "lds@0=0x0302abcd"},
		{"write2st64_b64", "ds_write2st64_b64 v1, v[8:9], v[10:11] offset1:2", "v1=0 v8=1 v9=2 v10=3 v11=4", "lds@0=1 lds@4=2 lds@1024=3 lds@1028=4"},
		{"add_rtn", "ds_add_rtn_u32 v0, v1, v2", "v1=0 v2=1 exec=3", "v0[0]=0x03020100 v0[1]=0x03020101 lds@0=0x03020102"},
		{"cmpst: compare, then new", "ds_cmpst_rtn_b32 v0, v1, v2, v3", "v1=0 v2=0x03020100 v3=9 exec=1", "v0[0]=0x03020100 lds@0=9"},
		{"mskor", "ds_mskor_b32 v1, v2, v3", "v1=0 v2=0xff v3=0x44 exec=1", "lds@0=0x03020144"},
		{"rsub", "ds_rsub_u32 v1, v2", "v1=0 v2=0x03020105 exec=1", "lds@0=5"},
		{"max_f32", "ds_max_f32 v1, v2", "v1=0 v2=" + qNaN + " exec=1", "lds@0=0x03020100"},
		{"wrxchg2", "ds_wrxchg2_rtn_b32 v[8:9], v1, v2, v3 offset1:1", "v1=0 v2=1 v3=2 exec=1", "v8[0]=0x03020100 v9[0]=0x07060504 lds@0=1 lds@4=2"},
		{"pk_add_f16", "ds_pk_add_f16 v1, v2", "v1=0 v2=0 exec=1", "lds@0=0x03020100"},
		{"swizzle xor", "ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)", iota4("v1", 1), "v0[0]=1 v0[33]=32"},
		{"swizzle quad", "ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM,3,2,1,0)", iota4("v1", 1), "v0[0]=3 v0[6]=5"},
		{"swizzle broadcast", "ds_swizzle_b32 v0, v1 offset:swizzle(BROADCAST,8,3)", iota4("v1", 1), "v0[0]=3 v0[60]=59"},
		{"swizzle reads zero from inactive lanes", "ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)", "v1=7 exec=1", "v0[0]=0"},
		{"bpermute", "ds_bpermute_b32 v0, v1, v2", iota4("v2", 1) + "v1=20 v1[3]=260", "v0[0]=5 v0[3]=1"},
		{"permute: the highest lane wins", "ds_permute_b32 v0, v1, v2", iota4("v2", 1) + "v1=20", "v0[5]=63 v0[4]=0"},
		{"append", "ds_append v0 offset:8", "exec=7 m0=0", "v0[0]=0x0b0a0908 lds@8=0x0b0a090b"},
		{"addtid", "ds_read_addtid_b32 v0 offset:4", "m0=4", "v0[0]=0x0b0a0908 v0[1]=0x0f0e0d0c"},
	})
}

// Transposing reads: the group's lanes hold the rows of a matrix whose element
// [row][col] is its own number; lane t must get column t.
func TestTransposeReads(t *testing.T) {
	for _, c := range []struct {
		text            string
		w, bytes, elems int
	}{
		{"ds_read_b64_tr_b16 v[0:1], v4", 16, 8, 4},
		{"ds_read_b64_tr_b8 v[0:1], v4", 8, 8, 8},
		{"ds_read_b64_tr_b4 v[0:1], v4", 4, 8, 16},
		{"ds_read_b96_tr_b6 v[0:2], v4", 6, 12, 16},
	} {
		k, s := newTestState(GFX950)
		in, err := Parse(GFX950, c.text)
		if err != nil {
			t.Fatal(err)
		}
		rows := c.elems // the result's elements are one column
		mask := uint32(1)<<c.w - 1
		value := func(group, row, col int) uint32 { return uint32(group*37+row*16+col) & mask }
		for l := range Lanes {
			at := l * 16 // chunks need not be adjacent
			s.VGPR[4][l] = uint32(at)
			for e := range c.elems {
				n := l%16*c.elems + e
				setBits(s.LDS[at:], e*c.w, c.w, value(l/16, n/16, n%16))
			}
		}
		if err := Exec(k, &in, s); err != nil {
			t.Fatal(err)
		}
		for l := range Lanes {
			for j := range rows {
				got := packedCode(s.VGPR[:3], l, j*c.w, c.w)
				if want := value(l/16, j, l%16); got != want {
					t.Fatalf("%s: lane %d element %d is %#x, want %#x", c.text, l, j, got, want)
				}
			}
		}
	}
}

func TestAddressOnly(t *testing.T) {
	k, s, base := memState(GFX950)
	for l := range Lanes {
		s.VGPR[1][l] = uint32(16 * l)
	}
	s.SGPR[M0] = 0x12345 // 18 bits count on gfx950
	in, err := Parse(GFX950, "buffer_load_dwordx4 v1, s[4:7], 0 offen offset:16 lds")
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() { err = Address(k, &in, s) }); n != 0 || err != nil {
		t.Fatalf("%v allocations, error %v", n, err)
	}
	a := &s.Access
	if a.Lanes != 0x7fff || a.Addr[3] != base+64 || a.Bytes != 16 || a.LDS != 0x12355 || a.LDSStride != 16 {
		t.Errorf("lanes %#x, address %#x, %d bytes, LDS %#x stride %d", a.Lanes, a.Addr[3]-base, a.Bytes, a.LDS, a.LDSStride)
	}
	if s.PC != 0 || s.LDS[0x355] != 0x55 {
		t.Error("Address moved data or the program counter")
	}
}

func TestInit(t *testing.T) {
	k := &Kernel{CPU: GFX942, VGPRs: 4, AGPRs: 2, ScratchBytes: 10, Workgroup: [3]int{24, 3, 1}, ABI: ABI{
		QueuePtr: true, KernargPtr: true, PreloadDwords: 2, PreloadOffset: 1, UserSGPRs: 9,
		WorkgroupID: [3]bool{true, false, true}, WorkitemIDDims: 1,
	}}
	l := &Launch{Kernel: k, Kernarg: []byte{0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}}
	s := &State{SCC: true, Ended: true}
	Init(k, l, [3]int{5, 6, 7}, 1, 0x123456789, s)
	want := []uint32{0, 0, 0x23456789, 1, 1, 2, 0, 0, 0, 5, 7, 0}
	for i, w := range want {
		if s.SGPR[i] != w {
			t.Errorf("s%d is %#x, want %#x", i, s.SGPR[i], w)
		}
	}
	// The second wave holds work-items 64..71 of 72: x = id mod 24, y = id/24.
	if s.Exec() != 0xff || s.VGPR[0][0] != 16|2<<10 || s.VGPR[0][7] != 23|2<<10 {
		t.Errorf("exec %#x, v0 %#x", s.Exec(), s.VGPR[0][:8])
	}
	if len(s.VGPR) != 4 || len(s.AGPR) != 2 || len(s.Scratch) != 3 || s.Mode != DefaultMode || s.SCC || s.Ended {
		t.Errorf("state %d %d %d", len(s.VGPR), len(s.AGPR), len(s.Scratch))
	}
}

func TestProgram(t *testing.T) {
	k, s := newTestState(GFX950)
	for i := range k.Insts {
		k.Insts[i] = Inst{Op: S_NOP, PC: uint32(4 * i), Size: 4, Target: -1}
	}
	step := func(in Inst) error { s.PC = 1; return Exec(k, &in, s) }
	br := Inst{Op: S_CBRANCH_VCCNZ, Enc: SOPP, PC: 4, Size: 4, Target: 3}
	if err := step(br); err != nil || s.PC != 2 {
		t.Errorf("not taken: pc %d, %v", s.PC, err)
	}
	s.SetVCC(1 << 40)
	if err := step(br); err != nil || s.PC != 3 {
		t.Errorf("taken: pc %d, %v", s.PC, err)
	}
	s.setS64(S(8), 12)
	if err := step(Inst{Op: S_SWAPPC_B64, PC: 4, Size: 4, Dst: Operand{Reg: S(10), N: 2}, Src: [4]Operand{{Reg: S(8), N: 2}}}); err != nil || s.PC != 3 || s.SGPR[10] != 8 {
		t.Errorf("s_swappc: pc %d, return %d, %v", s.PC, s.SGPR[10], err)
	}
	s.setS64(S(8), 13)
	if err := step(Inst{Op: S_SETPC_B64, PC: 4, Size: 4, Src: [4]Operand{{Reg: S(8), N: 2}}}); err == nil || s.PC != 1 {
		t.Errorf("s_setpc into an instruction: pc %d, %v", s.PC, err)
	}
	if err := step(Inst{Op: S_TRAP, Offset: 2}); err == nil {
		t.Error("s_trap 2 did not fail")
	}
	if err := step(Inst{Op: S_CBRANCH_JOIN, Src: [4]Operand{{Reg: S(8), N: 2}}, PC: 4}); !errors.Is(err, ErrUnsupported) || HasSemantics(S_CBRANCH_JOIN) {
		t.Errorf("unsupported: %v", err)
	}
	if err := step(Inst{Op: S_ENDPGM}); err != nil || !s.Ended {
		t.Errorf("s_endpgm: %v", err)
	}
}
