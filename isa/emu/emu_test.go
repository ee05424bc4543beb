package emu

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

func reg(r isa.Reg, n int) isa.Operand { return isa.Operand{Reg: r, N: uint8(n)} }
func v(n int) isa.Operand              { return reg(isa.V(n), 1) }
func num(n int) isa.Operand            { return reg(isa.Int(n), 1) }

// asm builds a kernel from instructions: pcs are four bytes apart.
func asm(waves int, insts ...isa.Inst) *isa.Launch {
	for i := range insts {
		in := &insts[i]
		in.PC, in.Size = uint32(4*i), 4
		if in.Enc == isa.EncInvalid {
			in.Enc = encOf(in.Op)
		}
		if in.Op != isa.S_BRANCH && in.Op != isa.S_CBRANCH_SCC0 {
			in.Target = -1
		}
	}
	k := &isa.Kernel{
		Name: "hand", CPU: isa.GFX950, Insts: insts, VGPRs: 16, SGPRs: 32, LDSBytes: 1024 * waves,
		Workgroup: [3]int{64 * waves, 1, 1},
		ABI:       isa.ABI{KernargPtr: true, UserSGPRs: 2, WorkgroupID: [3]bool{true, false, false}},
	}
	return &isa.Launch{Kernel: k, Workgroups: [3]int{1, 1, 1}, Memory: isa.NewMemory()}
}

func encOf(op isa.Op) isa.Enc {
	switch name := op.String(); {
	case strings.HasPrefix(name, "ds_"):
		return isa.DS
	case strings.HasPrefix(name, "global_"):
		return isa.FLAT
	case strings.HasPrefix(name, "buffer_"):
		return isa.MUBUF
	case strings.HasPrefix(name, "s_load"):
		return isa.SMEM
	case strings.HasPrefix(name, "v_"):
		return isa.VOP2
	case name == "s_mov_b32" || name == "s_mov_b64":
		return isa.SOP1
	case name == "s_add_u32":
		return isa.SOP2
	case strings.HasPrefix(name, "s_cmp"):
		return isa.SOPC
	}
	return isa.SOPP
}

// withData allocates n dwords at s[0:1]'s target: the first kernel argument.
func withData(l *isa.Launch, words ...uint32) uint64 {
	base := l.Memory.Alloc("data", uint64(4*len(words)))
	for i, w := range words {
		l.Memory.Store32(base+uint64(4*i), w)
	}
	l.Kernarg = binary.LittleEndian.AppendUint64(nil, base)
	return base
}

func wait(vm, lgkm int) isa.Inst {
	return isa.Inst{Op: isa.S_WAITCNT, Offset: isa.Waitcnt(vm, -1, lgkm)}
}

var (
	end     = isa.Inst{Op: isa.S_ENDPGM}
	barrier = isa.Inst{Op: isa.S_BARRIER}
	// loadArg reads the argument pointer into s[4:5].
	loadArg = isa.Inst{Op: isa.S_LOAD_DWORDX2, Dst: reg(isa.S(4), 2), Src: [4]isa.Operand{reg(isa.S(0), 2)}, Flags: isa.ImmOffset}
	// byteOffset is 4*work-item id in v1.
	byteOffset = isa.Inst{Op: isa.V_LSHLREV_B32, Dst: v(1), Src: [4]isa.Operand{num(2), v(0)}}
)

func globalLoad(dst int) isa.Inst {
	return isa.Inst{Op: isa.GLOBAL_LOAD_DWORD, Dst: v(dst), Flags: isa.SegGlobal,
		Src: [4]isa.Operand{v(1), reg(isa.S(4), 2)}}
}

func globalStore(src, offset int) isa.Inst {
	return isa.Inst{Op: isa.GLOBAL_STORE_DWORD, Flags: isa.SegGlobal, Offset: int32(offset),
		Src: [4]isa.Operand{v(1), reg(isa.S(4), 2), {}, v(src)}}
}

func add(dst, a, b int) isa.Inst {
	return isa.Inst{Op: isa.V_ADD_U32, Dst: v(dst), Src: [4]isa.Operand{v(a), v(b)}}
}

func dsWrite(addr, data, offset int) isa.Inst {
	return isa.Inst{Op: isa.DS_WRITE_B32, Src: [4]isa.Operand{v(addr), v(data)}, Offset: int32(offset)}
}

func dsRead(dst, addr, offset int) isa.Inst {
	return isa.Inst{Op: isa.DS_READ_B32, Dst: v(dst), Src: [4]isa.Operand{v(addr)}, Offset: int32(offset)}
}

// toLDS is a direct-to-LDS load of a dword a lane with the descriptor in s[8:11].
var toLDS = isa.Inst{Op: isa.BUFFER_LOAD_DWORD, Flags: isa.Offen | isa.LDSBit,
	Src: [4]isa.Operand{v(1), reg(isa.S(8), 4), num(0)}}

// descriptorInsts make a V# over the argument's memory in s[8:11].
func descriptorInsts() []isa.Inst {
	mov := func(d int, s isa.Operand, lit uint32) isa.Inst {
		return isa.Inst{Op: isa.S_MOV_B32, Dst: reg(isa.S(d), 1), Src: [4]isa.Operand{s}, Literal: lit}
	}
	return []isa.Inst{loadArg, wait(-1, 0),
		mov(8, reg(isa.S(4), 1), 0), mov(9, reg(isa.S(5), 1), 0),
		mov(10, reg(isa.Literal, 1), 4096), mov(11, reg(isa.Literal, 1), 0x20000),
		{Op: isa.S_MOV_B32, Dst: reg(isa.M0, 1), Src: [4]isa.Operand{num(0)}}, byteOffset}
}

func run(t *testing.T, l *isa.Launch) (Stats, error) {
	t.Helper()
	return Run(l, Options{Check: true, MaxInsts: 100_000})
}

func TestRunStoresSums(t *testing.T) {
	l := asm(2, loadArg, byteOffset, wait(-1, 0), globalLoad(2), wait(0, -1), add(3, 2, 0), globalStore(3, 0), end)
	words := make([]uint32, 128)
	for i := range words {
		words[i] = uint32(1000 * i)
	}
	base := withData(l, words...)
	st, err := run(t, l)
	if err != nil {
		t.Fatal(err)
	}
	for i := range words {
		if got, want := l.Memory.Load32(base+uint64(4*i)), uint32(1001*i); got != want {
			t.Fatalf("word %d: got %d, want %d", i, got, want)
		}
	}
	if st.Waves != 2 || st.Insts != 16 || st.ByUnit[isa.UnitVMEM] != 4 {
		t.Errorf("stats %+v", st)
	}
}

func TestHazards(t *testing.T) {
	prefix := []isa.Inst{loadArg, wait(-1, 0), byteOffset}
	with := func(p []isa.Inst, rest ...isa.Inst) []isa.Inst {
		return append(append([]isa.Inst{}, p...), append(rest, end)...)
	}
	// The other wave's bytes: lane l reads what lane l+64 of the workgroup wrote, modulo 128.
	other := []isa.Inst{
		{Op: isa.V_XOR_B32, Dst: v(4), Src: [4]isa.Operand{reg(isa.Literal, 1), v(1)}, Literal: 256},
	}
	dma := append(descriptorInsts(),
		isa.Inst{Op: isa.V_READFIRSTLANE_B32, Dst: reg(isa.M0, 1), Src: [4]isa.Operand{v(1)}})
	for _, c := range []struct {
		name  string
		waves int
		insts []isa.Inst
		want  []string // parts of the error, nil for none
	}{
		{"scalar load read at once", 1, with(nil, loadArg, byteOffset, globalLoad(2)),
			[]string{"`global_load_dword v2, v1, s[4:5]` at pc 0x8 reads s4", "`s_load_dwordx2 s[4:5], s[0:1], 0x0` at pc 0x0"}},
		{"scalar load with lgkmcnt(1)", 1, with(nil, loadArg, byteOffset, wait(-1, 1), globalLoad(2)), []string{"reads s4"}},
		{"load used after its wait", 1, with(prefix, globalLoad(2), wait(0, -1), add(3, 2, 2)), nil},
		{"load used too early", 1, with(prefix, globalLoad(2), add(3, 2, 2)), []string{"wave 0", "reads v2", "global_load_dword v2"}},
		{"load overwritten", 1, with(prefix, globalLoad(2), add(2, 1, 1)), []string{"overwrites v2"}},
		{"older of two loads", 1, with(prefix, globalLoad(2), globalLoad(3), wait(1, -1), add(4, 2, 2)), nil},
		{"younger of two loads", 1, with(prefix, globalLoad(2), globalLoad(3), wait(1, -1), add(4, 3, 3)), []string{"reads v3"}},
		{"store counts on vmcnt", 1, with(prefix, globalLoad(2), globalStore(1, 0), wait(1, -1), add(4, 2, 2)), nil},
		{"reload in order", 1, with(prefix, globalLoad(2), globalLoad(2), wait(0, -1)), nil},
		{"LDS read without wait", 1, with(prefix, dsWrite(1, 0, 0), dsRead(2, 1, 0), add(3, 2, 2)), []string{"reads v2", "ds_read_b32"}},
		{"own LDS write", 1, with(prefix, dsWrite(1, 0, 0), dsRead(2, 1, 0), wait(-1, 0), add(3, 2, 2)), nil},
		{"exchange", 2, with(prefix, append(other, dsWrite(1, 0, 0), wait(-1, 0), barrier, dsRead(2, 4, 0), wait(-1, 0))...), nil},
		{"exchange without wait", 2, with(prefix, append(other, dsWrite(1, 0, 0), barrier, dsRead(2, 4, 0), wait(-1, 0))...),
			[]string{"reads LDS bytes at 0x0 written by wave 0's `ds_write_b32 v1, v0`", "had not waited"}},
		{"exchange without barrier", 2, with(prefix, append(other, barrier, dsWrite(1, 0, 0), wait(-1, 0), dsRead(2, 4, 0), wait(-1, 0))...),
			[]string{"wave 0", "overwrites LDS bytes", "another wave reads", "no barrier or flag lies between"}},
		{"read of what the other wave writes", 2, with(prefix, append(other, dsRead(2, 4, 0), wait(-1, 0), dsWrite(1, 0, 0))...),
			[]string{"wave 1", "reads LDS bytes", "written by wave 0's"}},
		{"direct to LDS", 2, with(dma, append(other, toLDS, wait(0, -1), barrier, dsRead(2, 4, 0), wait(-1, 0))...), nil},
		{"direct to LDS, no vmcnt before the barrier", 2, with(dma, append(other, toLDS, barrier, dsRead(2, 4, 0), wait(-1, 0))...),
			[]string{"reads LDS bytes at 0x0 written by wave 0's `buffer_load_dword v1, s[8:11], 0 offen lds`", "had not waited"}},
		{"direct to LDS, wait after the barrier", 2, with(dma, append(other, toLDS, barrier, wait(0, -1), dsRead(2, 4, 0), wait(-1, 0))...),
			[]string{"written by wave"}},
		{"own direct to LDS without vmcnt", 1, with(dma, toLDS, dsRead(2, 1, 0), wait(-1, 0)), []string{"which no s_waitcnt covers"}},
		{"own direct to LDS after vmcnt", 1, with(dma, toLDS, wait(0, -1), dsRead(2, 1, 0), wait(-1, 0)), nil},
		{"LDS out of range", 1, with(prefix, dsWrite(1, 0, 1020)), []string{"lane 1", "uses LDS bytes [0x400, 0x404) of 0x400"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := asm(c.waves, c.insts...)
			withData(l, make([]uint32, 1024)...)
			_, err := run(t, l)
			if c.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			if !errors.Is(err, ErrHazard) && !errors.Is(err, isa.ErrOutOfBounds) {
				t.Errorf("error of another kind: %v", err)
			}
			for _, part := range append(c.want, "kernel hand", "workgroup [0 0 0]") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error lacks %q: %v", part, err)
				}
			}
		})
	}
}

// One wave waits at a barrier while the other spins on a flag that nobody sets.
func TestDeadlock(t *testing.T) {
	insts := []isa.Inst{
		{Op: isa.V_READFIRSTLANE_B32, Dst: reg(isa.S(6), 1), Src: [4]isa.Operand{v(0)}},
		{Op: isa.S_CMP_EQ_U32, Src: [4]isa.Operand{reg(isa.S(6), 1), num(0)}},
		{Op: isa.S_CBRANCH_SCC0, Target: 4, Offset: 1},
		barrier,
		{Op: isa.S_CMP_EQ_U32, Src: [4]isa.Operand{reg(isa.S(6), 1), num(0)}},
		{Op: isa.S_CBRANCH_SCC0, Target: 4, Offset: -2},
		end,
	}
	_, err := run(t, asm(2, insts...))
	if !errors.Is(err, ErrDeadlock) {
		t.Fatalf("got %v", err)
	}
	// The first line says it all by itself.
	if first, _, _ := strings.Cut(err.Error(), "\n"); !strings.Contains(first, "kernel hand") || !strings.Contains(first, "deadlock after ") || !strings.Contains(first, "wave 1 is running, `s_c") {
		t.Errorf("first line %q", first)
	}
	for _, part := range []string{"wave 0: at a barrier with 1 of 2 waves, `s_barrier` at pc 0xc", "wave 1: running, `s_c"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error lacks %q: %v", part, err)
		}
	}
}

// A wave that has ended no longer counts at the barrier.
func TestEndedWaveLeavesBarrier(t *testing.T) {
	insts := []isa.Inst{
		{Op: isa.V_READFIRSTLANE_B32, Dst: reg(isa.S(6), 1), Src: [4]isa.Operand{v(0)}},
		{Op: isa.S_CMP_EQ_U32, Src: [4]isa.Operand{reg(isa.S(6), 1), num(0)}},
		{Op: isa.S_CBRANCH_SCC0, Target: 4, Offset: 1},
		barrier,
		end,
	}
	st, err := run(t, asm(3, insts...))
	if err != nil || st.Barriers != 1 {
		t.Fatalf("barriers %d, error %v", st.Barriers, err)
	}
}

func TestOutOfBounds(t *testing.T) {
	l := asm(1, loadArg, byteOffset, wait(-1, 0), globalLoad(2), wait(0, -1), end)
	withData(l, make([]uint32, 63)...)
	_, err := run(t, l)
	if !errors.Is(err, isa.ErrOutOfBounds) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"kernel hand", "pc 0xc", "wave 0 lane 63", `the nearest allocation is "data"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error lacks %q: %v", part, err)
		}
	}
}

func TestUnsupported(t *testing.T) {
	_, err := run(t, asm(1, isa.Inst{Op: isa.S_CBRANCH_JOIN, Src: [4]isa.Operand{reg(isa.S(0), 1)}}, end))
	if !errors.Is(err, isa.ErrUnsupported) || !strings.Contains(err.Error(), "at pc 0x0 (kernel hand)") {
		t.Errorf("got %v", err)
	}
}

func TestUndeclaredRegister(t *testing.T) {
	_, err := run(t, asm(1, add(16, 0, 0), end))
	if err == nil || !strings.Contains(err.Error(), "names VGPR 16, but the kernel has 16") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkRun(b *testing.B) {
	// A loop of scalar and vector work without memory.
	insts := []isa.Inst{
		{Op: isa.S_MOV_B32, Dst: reg(isa.S(6), 1), Src: [4]isa.Operand{reg(isa.Literal, 1)}, Literal: 1000},
		add(2, 0, 0), add(3, 2, 2), add(4, 3, 2),
		{Op: isa.S_ADD_U32, Dst: reg(isa.S(6), 1), Src: [4]isa.Operand{reg(isa.S(6), 1), num(-1)}},
		{Op: isa.S_CMP_EQ_U32, Src: [4]isa.Operand{reg(isa.S(6), 1), num(0)}},
		{Op: isa.S_CBRANCH_SCC0, Target: 1, Offset: -6},
		end,
	}
	l := asm(1, insts...)
	var n uint64
	for b.Loop() {
		st, err := Run(l, Options{Check: true})
		if err != nil {
			b.Fatal(err)
		}
		n += st.Insts
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Minst/s")
}
