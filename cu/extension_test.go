package cu

import (
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// extKernel puts a kernel together from assembly text and extensions, which have
// no text that could be read. Branches stay within a piece of text.
func extKernel(t testing.TB, parts ...any) *isa.Kernel {
	t.Helper()
	k := mustAssemble(t, isa.GFX950, "")
	pc := uint32(0)
	for _, p := range parts {
		var list []isa.Inst
		switch p := p.(type) {
		case string:
			list = mustAssemble(t, isa.GFX950, p).Insts
		case isa.Inst:
			p.Enc, p.Size, p.Target = isa.EXT, 8, -1
			list = []isa.Inst{p}
		}
		base := int32(len(k.Insts))
		for _, in := range list {
			if in.Target >= 0 {
				in.Target += base
			}
			in.PC = pc
			pc += uint32(in.Size)
			k.Insts = append(k.Insts, in)
		}
	}
	k.LDSBytes = 65536
	return k
}

func sgpr(n, count int) isa.Operand { return isa.Operand{Reg: isa.S(n), N: uint8(count)} }
func vgpr(n, count int) isa.Operand { return isa.Operand{Reg: isa.V(n), N: uint8(count)} }

// featureSpec is a CU that has every feature.
func featureSpec() *Spec {
	s := testSpec(isa.GFX950)
	s.Features, _ = isa.FeatureNamed("all")
	s.MFMABlocks, s.CopyEntries, s.CopyLines, s.CopyLineGap = 2, 32, 256, 2
	return s
}

// issues records when each instruction of each wave issued.
func issues(b *bench) map[[3]int][]int64 {
	at := map[[3]int][]int64{}
	b.cu.SetHook(func(now int64, simd, slot, inst int) {
		k := [3]int{simd, slot, inst}
		at[k] = append(at[k], now)
	})
	return at
}

// roleSplit leaves SCC set in the waves from 4 on.
const roleSplit = `
	v_lshrrev_b32_e32 v1, 6, v0
	s_nop 1
	v_readfirstlane_b32 s10, v1
	s_cmp_ge_u32 s10, 4
`

func find(k *isa.Kernel, op isa.Op, nth int) int {
	for i := range k.Insts {
		if k.Insts[i].Op == op {
			if nth == 0 {
				return i
			}
			nth--
		}
	}
	return -1
}

// Registers move from the waves that give them up to those of their SIMD that
// ask, and no sooner.
func TestDynamicRegisters(t *testing.T) {
	// The second half of the waves jumps over the first half's part.
	k := extKernel(t, roleSplit, "s_cbranch_scc1 second\nsecond:", "s_sleep 5",
		isa.Inst{Op: isa.X_SET_REGISTERS, Offset: 104}, "s_endpgm",
		isa.Inst{Op: isa.X_SET_REGISTERS, Offset: 400}, "s_endpgm")
	k.Insts[find(k, isa.S_CBRANCH_SCC1, 0)].Target = int32(find(k, isa.X_SET_REGISTERS, 1))
	k.VGPRs, k.AGPRs, k.StartRegisters = 256, 144, 256
	k.WaveRegisters = []int{104, 104, 104, 104, 400, 400, 400, 400}
	b := newBench(t, k, featureSpec(), config{waves: 8})
	at := issues(b)
	b.run(t, 5000)
	b.sums(t)
	for simd := range 4 {
		give := at[[3]int{simd, 0, find(k, isa.X_SET_REGISTERS, 0)}][0]
		take := at[[3]int{simd, 1, find(k, isa.X_SET_REGISTERS, 1)}][0]
		if take <= give || take > give+8 {
			t.Errorf("SIMD %d: registers given at cycle %d, taken at %d", simd, give, take)
		}
		if f := b.cu.ext.free[simd]; f != 512 {
			t.Errorf("SIMD %d: %d registers are free in the end", simd, f)
		}
	}
	if b.st.Inst[find(k, isa.X_SET_REGISTERS, 1)].Stall[StallDependency] == 0 {
		t.Error("nobody waited")
	}
}

// A workgroup is admitted by the sum of what its waves hold on each SIMD.
func TestDynamicOccupancy(t *testing.T) {
	for _, c := range []struct {
		start, producer, consumer int
		groups                    int // 0: refused
	}{
		{168, 24, 232, 1}, {80, 24, 104, 2}, {40, 24, 64, 3}, {168, 64, 240, 0},
	} {
		k := extKernel(t, isa.Inst{Op: isa.X_SET_REGISTERS, Offset: 24}, "s_endpgm")
		k.LDSBytes, k.SGPRs, k.StartRegisters, k.Workgroup = 0, 32, c.start, [3]int{12 * 64, 1, 1}
		for i := range 12 {
			n := c.consumer
			if i < 4 {
				n = c.producer
			}
			k.WaveRegisters = append(k.WaveRegisters, n)
		}
		s := featureSpec()
		s.WaveSlots = 10
		o, err := dynamicOccupancy(s, k)
		switch {
		case c.groups == 0 && err == nil, c.groups > 0 && (err != nil || o.WorkgroupsPerCU != c.groups):
			t.Errorf("%+v: %d workgroups, %v", c, o.WorkgroupsPerCU, err)
		case c.groups == 0 && !strings.Contains(err.Error(), "hold 544 vector registers of SIMD 0"):
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A wave that waits for a barrier object issues nothing until the last arrival,
// and goes on as late as after s_barrier. Parity tells the phases apart.
func TestMBarrier(t *testing.T) {
	wait := isa.Inst{Op: isa.X_MBAR_WAIT, Offset: 64, Src: [4]isa.Operand{sgpr(11, 1)}}
	arrive := isa.Inst{Op: isa.X_MBAR_ARRIVE, Offset: 64}
	k := extKernel(t, isa.Inst{Op: isa.X_MBAR_INIT, Offset: 64, Offset1: 4}, "s_barrier", roleSplit, "s_cbranch_scc1 second\nsecond:",
		"s_sleep 3", arrive, "s_sleep 9", arrive, "s_endpgm",
		"s_mov_b32 s11, 0", wait, "s_mov_b32 s11, 1", wait, "s_endpgm")
	k.Insts[find(k, isa.S_CBRANCH_SCC1, 0)].Target = int32(find(k, isa.X_MBAR_WAIT, 0) - 1)
	for _, full := range []bool{false, true} {
		s := featureSpec()
		b := newBench(t, k, s, config{waves: 8, full: full})
		at := issues(b)
		b.run(t, 5000)
		b.sums(t)
		for phase := range 2 {
			last := int64(0)
			for simd := range 4 {
				last = max(last, at[[3]int{simd, 0, find(k, isa.X_MBAR_ARRIVE, phase)}][0])
			}
			for simd := range 4 {
				w := at[[3]int{simd, 1, find(k, isa.X_MBAR_WAIT, phase)}]
				if len(w) != 1 || w[0] < last+s.BarrierCycles || w[0] > last+s.BarrierCycles+s.IssueInterval {
					t.Errorf("phase %d: the last of 4 arrives at cycle %d, wave 4+%d goes on at %v", phase, last, simd, w)
				}
			}
		}
		if b.st.Barriers != 3 {
			t.Errorf("%d barriers opened, want s_barrier and two phases", b.st.Barriers)
		}
	}
}

// tileCopies is a kernel whose one wave copies count tiles of 64 rows and waits.
func tileCopies(t testing.TB, count int, tail ...any) *isa.Kernel {
	parts := []any{`
		s_load_dwordx2 s[4:5], s[0:1], 0x0
		s_mov_b32 s6, 0x100000
		s_mov_b32 s7, 0x110000
		s_mov_b32 s8, 0
		s_mov_b32 s9, 0
		s_movk_i32 s10, 0x400
		s_waitcnt lgkmcnt(0)`}
	for range count {
		parts = append(parts, isa.Inst{Op: isa.X_TILE_COPY, Offset: 64, Literal: isa.TileCopyCounted,
			Src: [4]isa.Operand{sgpr(4, 4), sgpr(8, 1), sgpr(9, 1), sgpr(10, 1)}})
	}
	if tail == nil {
		tail = []any{"s_waitcnt vmcnt(0)", "s_endpgm"}
	}
	return extKernel(t, append(parts, tail...)...)
}

// The copy engine moves tiles at its own rate, with its own lines outstanding,
// past the vector L1 and its queue; vmcnt says when it is done.
func TestTileCopy(t *testing.T) {
	cycles := func(change func(*Spec), count int, latency int64) (int64, *bench) {
		s := featureSpec()
		if change != nil {
			change(s)
		}
		b := newBench(t, tileCopies(t, count), s, config{latency: latency})
		end := b.run(t, 200000)
		b.sums(t)
		if n := b.cu.TCP().Instructions; n != 0 {
			t.Errorf("%d vector memory instructions, want none", n)
		}
		if want := 64 * count; b.l2.reads < want || b.l2.reads > want+4 { // and the arguments and code
			t.Errorf("%d lines asked for, want %d", b.l2.reads, want)
		}
		if b.st.LDSFill != uint64(count*64*isa.TileRowBytes) {
			t.Errorf("%d bytes to LDS", b.st.LDSFill)
		}
		return end, b
	}
	base, _ := cycles(nil, 16, 100)
	if base < 2048 || base > 2048+400 {
		t.Errorf("1024 lines at one in 2 cycles took %d cycles", base)
	}
	if slow, _ := cycles(func(s *Spec) { s.CopyLineGap = 8 }, 16, 100); slow < 8192 || slow > 8192+400 {
		t.Errorf("1024 lines at one in 8 cycles took %d cycles", slow)
	}
	if few, _ := cycles(func(s *Spec) { s.CopyLines = 16 }, 16, 500); few < 1024/16*500 || few > 1024/16*520 {
		t.Errorf("1024 lines, 16 outstanding of 500 cycles each, took %d cycles", few)
	}
	if _, b := cycles(func(s *Spec) { s.CopyEntries = 2 }, 16, 500); b.st.Stalls[StallVMEMQueue] == 0 {
		t.Error("16 copies found room in 2 entries at once")
	}
}

// A copy can arrive at a barrier object instead of counting.
func TestTileCopySignals(t *testing.T) {
	k := tileCopies(t, 2, isa.Inst{Op: isa.X_MBAR_WAIT, Offset: 0x8000, Src: [4]isa.Operand{sgpr(8, 1)}}, "s_endpgm")
	for i := range k.Insts {
		if k.Insts[i].Op == isa.X_TILE_COPY {
			k.Insts[i].Literal = 0x8000
		}
	}
	init := isa.Inst{Op: isa.X_MBAR_INIT, Enc: isa.EXT, Size: 8, Target: -1, Offset: 0x8000, Offset1: 2}
	k.Insts = append([]isa.Inst{init}, k.Insts...)
	for i := range k.Insts {
		k.Insts[i].PC = uint32(8 * i)
	}
	b := newBench(t, k, featureSpec(), config{latency: 300})
	at := issues(b)
	b.run(t, 5000)
	b.sums(t)
	// The last of 128 lines is asked for 254 cycles after the first.
	first := at[[3]int{0, 0, find(k, isa.X_TILE_COPY, 0)}][0]
	if w := at[[3]int{0, 0, find(k, isa.X_MBAR_WAIT, 0)}][0]; w < first+254+300 || w > first+254+300+40 {
		t.Errorf("copies begun at cycle %d are over at %d", first, w)
	}
	if b.st.Barriers != 1 {
		t.Errorf("%d barriers opened", b.st.Barriers)
	}
}

// blockLoop is a kernel of count x_mma of rows x cols base tiles on every wave;
// lanes read shift*lane.
func blockLoop(t testing.TB, count, rows, cols, shift int) *isa.Kernel {
	addr := map[int]string{4: "v_lshlrev_b32_e32 v1, 4, v0", 7: "v_lshlrev_b32_e32 v1, 7, v0"}[shift]
	parts := []any{"v_and_b32_e32 v0, 63, v0", addr, "s_nop 4"}
	for range count {
		parts = append(parts, isa.Inst{Op: isa.X_MMA_F32_16X16X32_BF16, Offset1: isa.BlockShape(rows, cols), Dst: vgpr(2, 4*rows*cols),
			Src: [4]isa.Operand{vgpr(1, 1), vgpr(1, 1), vgpr(2, 4*rows*cols)}})
	}
	return extKernel(t, append(parts, isa.Inst{Op: isa.X_MMA_WAIT}, "s_endpgm")...)
}

// A block takes the matrix pipe's time where its operands are used often, and
// the LDS's where they are not; bank conflicts count. No LDS instruction issues.
func TestBlockMultiply(t *testing.T) {
	for _, c := range []struct {
		name                     string
		waves, rows, cols, shift int
		change                   func(*Spec)
		count                    int
		least, most              int64
		matrix, bank             uint64
	}{
		{"matrix-bound", 4, 8, 4, 4, nil, 16, 16 * 512, 16*512 + 300, 4 * 16 * 512, 4 * 16 * 48},
		{"bound by the ports, of which a pair of SIMDs has one", 4, 1, 1, 4, func(s *Spec) { s.MFMABlocks = 16 }, 64, 64 * 32, 64*32 + 300, 4 * 64 * 16, 4 * 64 * 8},
		{"one SIMD does not need the LDS", 1, 1, 1, 4, func(s *Spec) { s.MFMABlocks = 16 }, 64, 64 * 16, 64*16 + 300, 64 * 16, 64 * 8},
		{"slower pipe", 4, 8, 4, 4, func(s *Spec) { s.MFMAScale = 2 }, 16, 16 * 1024, 16*1024 + 300, 4 * 16 * 1024, 4 * 16 * 48},
		{"one block at a time", 4, 8, 4, 4, func(s *Spec) { s.MFMABlocks = 1 }, 16, 16*512 + 16*60, 16*512 + 16*260, 4 * 16 * 512, 4 * 16 * 48},
	} {
		s := featureSpec()
		if c.change != nil {
			c.change(s)
		}
		b := newBench(t, blockLoop(t, c.count, c.rows, c.cols, c.shift), s, config{waves: c.waves})
		end := b.run(t, 100000)
		b.sums(t)
		if end < c.least || end > c.most {
			t.Errorf("%s: %d cycles, want %d to %d", c.name, end, c.least, c.most)
		}
		if b.st.MFMABusy != c.matrix || b.st.LDSService != c.bank || b.st.IssuedCount[isa.UnitLDS] != 0 {
			t.Errorf("%s: matrix pipe %d cycles, banks %d, %d LDS instructions; want %d, %d and none",
				c.name, b.st.MFMABusy, b.st.LDSService, b.st.IssuedCount[isa.UnitLDS], c.matrix, c.bank)
		}
	}
	plain := newBench(t, blockLoop(t, 8, 1, 1, 4), featureSpec(), config{})
	clash := newBench(t, blockLoop(t, 8, 1, 1, 7), featureSpec(), config{})
	plain.run(t, 100000)
	if clash.run(t, 100000); clash.st.LDSService <= plain.st.LDSService {
		t.Errorf("operands with bank conflicts cost %d bank cycles, without %d", clash.st.LDSService, plain.st.LDSService)
	}
}

// Where a feature is off its kernels are refused by the name of the switch.
func TestFeaturesOff(t *testing.T) {
	for _, c := range []struct {
		k    *isa.Kernel
		want string
	}{
		{extKernel(t, isa.Inst{Op: isa.X_SET_REGISTERS, Offset: 8}, "s_endpgm"), "features.dynamic_registers must be true"},
		{extKernel(t, isa.Inst{Op: isa.X_MBAR_ARRIVE}, "s_endpgm"), "features.mbarrier must be true"},
		{tileCopies(t, 1), "features.tile_copy must be true"},
		{blockLoop(t, 1, 1, 1, 4), "features.mfma_lds_operands must be true"},
	} {
		l := &isa.Launch{Kernel: c.k, Workgroups: [3]int{1, 1, 1}, Memory: isa.NewMemory()}
		if _, err := NewProgram(testSpec(isa.GFX950), l, ProgramOptions{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// Stepping every cycle, and looking again at every held wave, changes nothing.
func TestExtensionsSkipIdleCycles(t *testing.T) {
	for _, c := range []struct {
		name   string
		k      *isa.Kernel
		waves  int
		change func(*Spec)
	}{
		{"tile copies", tileCopies(t, 8), 1, func(s *Spec) { s.CopyLines, s.CopyEntries = 16, 2 }},
		{"blocks", blockLoop(t, 8, 4, 4, 4), 8, nil},
		{"small blocks", blockLoop(t, 32, 1, 1, 7), 4, func(s *Spec) { s.MFMABlocks = 4 }},
	} {
		var ends [3]int64
		for mode := range ends {
			s := featureSpec()
			if c.change != nil {
				c.change(s)
			}
			b := newBench(t, c.k, s, config{waves: c.waves, latency: 300, mode: stepping(mode)})
			ends[mode] = b.run(t, 100000)
		}
		if ends[0] != ends[1] || ends[0] != ends[2] {
			t.Errorf("%s: %d cycles skipping, %d stepping every cycle, %d looking again", c.name, ends[0], ends[1], ends[2])
		}
	}
}
