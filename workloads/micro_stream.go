package workloads

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/whisker-sim/whisker/isa"
)

// StreamSpec is a streaming read: each XCD reads its own part of the footprint.
// A workgroup of four waves, one a SIMD, sums a slice of it, Loads loads at a
// time, and in the next pass the next workgroup's slice, so that no L1 holds what
// it reads again.
type StreamSpec struct {
	Footprint  int // bytes; rounded down to whole slices
	Workgroups int // a multiple of XCDs
	XCDs       int
	Loads      int // in flight: issued together, then waited for together
	Width      int // bytes a lane and load: 2, 4, 8 or 16
	Passes     int // over the footprint
	// Together lets the waves of an XCD read neighbouring pieces, one round after
	// the other; else each wave reads a slice of its own from end to end.
	Together bool
}

// streamBytes is what is read in all unless told otherwise: enough that the first
// pass, which finds nothing in the L2, weighs little.
const streamBytes = 512 << 20

// streamWaves is the waves of a workgroup: one a SIMD.
const streamWaves = 4

// streamOps are the loads by width.
var streamOps = map[int]isa.Op{2: isa.BUFFER_LOAD_USHORT, 4: isa.BUFFER_LOAD_DWORD, 8: isa.BUFFER_LOAD_DWORDX2, 16: isa.BUFFER_LOAD_DWORDX4}

// unit is the bytes that a workgroup reads between two waits.
func (s StreamSpec) unit() int { return s.Loads * s.Width * isa.Lanes * streamWaves }

// slice is the bytes of a workgroup's part.
func (s StreamSpec) slice() int { return s.Footprint / s.Workgroups / s.unit() * s.unit() }

func (s StreamSpec) check() error {
	switch {
	case streamOps[s.Width] == 0:
		return fmt.Errorf("stream: loads of %d bytes a lane; 2, 4, 8 and 16 exist", s.Width)
	case s.Loads < 1 || s.Loads > 16:
		return fmt.Errorf("stream: %d loads in flight; 1 to 16 are possible", s.Loads)
	case s.Workgroups < 1 || s.XCDs < 1 || s.Workgroups%s.XCDs != 0 || s.Workgroups > 1<<16:
		return fmt.Errorf("stream: %d workgroups on %d XCDs; they must be a multiple, up to 65536", s.Workgroups, s.XCDs)
	case s.Footprint > maxFootprint || s.slice() < s.unit():
		return fmt.Errorf("stream: a footprint of %s; %d workgroups with %d loads of %d bytes a lane in flight need at least %d KiB, and 2GiB is the most",
			sizeName(s.Footprint), s.Workgroups, s.Loads, s.Width, (s.Workgroups*s.unit()+1023)>>10)
	case s.Passes < 1 || s.Passes > 1<<16:
		return fmt.Errorf("stream: %d passes; 1 to 65536 are possible", s.Passes)
	}
	return nil
}

// Stream builds the streaming read for cpu. A K step of its main loop is one
// round of loads.
func Stream(cpu isa.CPU, s StreamSpec) (*Built, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	v := newVectorKernel(cpu, 2, 0)
	bytes := s.slice() * s.Workgroups
	in, out := v.SGPR(4), v.SGPR(4)
	v.srd(in, v.ptr[0], bytes)
	v.srd(out, v.ptr[1], s.Workgroups*streamWaves*isa.Lanes*4)
	regs := max(1, s.Width/4)
	var data []Val
	for range s.Loads {
		data = append(data, v.VGPR(regs))
	}
	sum, voff, vhigh := v.VGPR(1), v.VGPR(1), v.VGPR(1)
	part, off, end, pass, t := v.SGPR(1), v.SGPR(1), v.SGPR(1), v.SGPR(1), v.SGPR(1)
	first, local := v.SGPR(1), v.SGPR(1)
	each := s.Workgroups / s.XCDs // workgroups, and slices, of an XCD
	step := s.Width * isa.Lanes   // bytes of a wave's load
	perWave := s.slice() / streamWaves
	start, stride, span := perWave, s.Loads*step, perWave // of a wave, between rounds, of all its rounds
	if s.Together {
		start, stride = s.Loads*step, each*streamWaves*s.Loads*step
		span = perWave / start * stride
	}
	v.VShl(voff, v.ln.lane, bits.TrailingZeros(uint(s.Width)))
	v.VAdd(vhigh, Imm(4096), voff) // an immediate offset reaches 4095
	v.VOP1(isa.V_MOV_B32, sum, Imm(0))
	v.divMod(local, first, v.wg[0], s.XCDs, s.Workgroups) // place on the XCD, XCD
	v.SMul(first, first, Imm(each))
	v.SMov(pass, Imm(s.Passes))

	passes, loop := v.Label(), v.Label()
	v.Place(passes)
	v.Cluster("pass", "other")
	if s.Together {
		v.SMul(off, first, Imm(s.slice()))
		v.SMul(t, local, Imm(streamWaves*start))
		v.SAdd(off, off, t)
	} else {
		v.SAdd(part, first, local)
		v.SMul(off, part, Imm(s.slice()))
	}
	v.SMul(t, v.ln.wave, Imm(start))
	v.SAdd(off, off, t)
	v.SAdd(end, off, Imm(span))
	v.Cluster("stream", "memory")
	v.Place(loop)
	v.built.LoopStart = len(v.insts)
	for i, d := range data {
		if at := i * step; at < 4096 {
			v.BufferOp(streamOps[s.Width], d, voff, in, off, at, false)
		} else {
			v.streamHigh(streamOps[s.Width], d, voff, vhigh, in, off, at)
		}
	}
	v.SAdd(off, off, Imm(stride))
	v.SOPC(isa.S_CMP_LT_U32, off, end)
	v.WaitVM(0)
	for _, d := range data {
		for r := range regs {
			v.VAdd(sum, sum, d.At(r, 1))
		}
	}
	v.Branch(isa.S_CBRANCH_SCC1, loop)
	v.built.LoopEnd = len(v.insts)
	v.Cluster("next", "other")
	v.SAdd(local, local, Imm(1))
	v.SOPC(isa.S_CMP_GE_U32, local, Imm(each))
	v.SOP2(isa.S_CSELECT_B32, local, Imm(0), local)
	v.SOP2(isa.S_SUB_U32, pass, pass, Imm(1))
	v.SOPC(isa.S_CMP_LG_U32, pass, Imm(0))
	v.Branch(isa.S_CBRANCH_SCC1, passes)
	v.Cluster("store", "memory")
	v.SOP2(isa.S_LSHL_B32, off, v.wg[0], Imm(bits.TrailingZeros(streamWaves*isa.Lanes*4)))
	v.SOP2(isa.S_LSHL_B32, t, v.ln.wave, Imm(bits.TrailingZeros(isa.Lanes*4)))
	v.SAdd(off, off, t)
	v.VShl(voff, v.ln.lane, 2)
	v.BufferOp(isa.BUFFER_STORE_DWORD, sum, voff, out, off, 0, true)

	ts := []tensor{{name: "footprint", bytes: bytes}, {name: "out", bytes: s.Workgroups * streamWaves * isa.Lanes * 4}}
	name := fmt.Sprintf("stream_%s_%d_%d_%s", sizeName(s.Footprint), s.Loads, s.Width, cpu)
	if err := v.launch(name, [3]int{s.Workgroups, 1, 1}, streamWaves, ts); err != nil {
		return nil, err
	}
	b := v.built
	b.LoopKTiles, b.KTile = 1, 1
	b.LoopTrips = perWave / (s.Loads * step) * s.Passes
	b.Outputs = []string{"out"}
	b.FillInputs = func() { s.fill(b.Launch.Memory, ts[0].addr) }
	b.Verify, b.Expect = microVerify(b.Launch.Memory, ts[1].addr, s.sums), words(ts[1].addr, s.sums)
	return b, nil
}

// streamHigh emits a load whose offset is beyond an immediate's reach: vhigh is
// 4096 further than voff.
func (v *vectorKernel) streamHigh(op isa.Op, d, voff, vhigh, srd, off Val, at int) {
	base := 4096
	for at-base >= 4096 {
		v.VAdd(vhigh, Imm(4096), vhigh)
		base += 4096
	}
	v.BufferOp(op, d, vhigh, srd, off, at-base, false)
	if base > 4096 {
		v.VAdd(vhigh, Imm(4096), voff)
	}
}

// streamWord is the input at dword i.
func streamWord(i int) uint32 { return uint32(i)*2654435761 + 12345 }

func (s StreamSpec) fill(mem *isa.Memory, addr uint64) {
	const chunk = 1 << 16
	buf := make([]byte, 0, 4*chunk)
	for i, n := 0, s.slice()*s.Workgroups/4; i < n; {
		buf = buf[:0]
		from := i
		for ; i < n && i-from < chunk; i++ {
			buf = binary.LittleEndian.AppendUint32(buf, streamWord(i))
		}
		mem.Write(addr+uint64(4*from), buf)
	}
}

// sums is what each lane of each wave has added up.
func (s StreamSpec) sums() []uint32 {
	lanes := streamWaves * isa.Lanes
	want := make([]uint32, s.Workgroups*lanes)
	perWave := s.slice() / streamWaves
	round := s.unit() / streamWaves
	each := s.Workgroups / s.XCDs
	for wg := range s.Workgroups {
		for pass := range s.Passes {
			part := wg%s.XCDs*each + (wg/s.XCDs+pass)%each
			for i := range s.slice() / s.Width {
				at := i * s.Width // within what the workgroup reads
				wave := at / perWave
				lane := wave*isa.Lanes + i%isa.Lanes
				from := part*s.slice() + at
				if s.Together {
					within := at % perWave
					slot := part%each*streamWaves + wave
					from = part/each*each*s.slice() + (within/round*each*streamWaves+slot)*round + within%round
				}
				for b := 0; b < s.Width; b += 4 {
					a := from + b
					w := streamWord(a / 4)
					if s.Width == 2 {
						w = w >> (8 * (a % 4)) & 0xffff
					}
					want[wg*lanes+lane] += w
				}
			}
		}
	}
	return want
}

func streamOptions() []Option {
	return []Option{
		{"footprint", "64MiB", "4KiB to 2GiB", "bytes read, rounded down to whole parts of the workgroups"},
		{"loads", "8", "1 to 16", "loads in flight of a wave"},
		{"width", "2", "2, 4, 8, 16", "bytes of a lane and load"},
		{"waves", "1", "1 to 8", "waves of a SIMD"},
		{"workgroups", "as many as fill the CPU's usual chip", "multiple of the XCDs", "workgroups of four waves for each wave of a SIMD"},
		{"layout", "slices", "slices, together", "each wave reads a slice of its own, or neighbouring waves neighbouring pieces"},
		{"passes", "as many as make 512 MiB", "", "passes over the footprint"},
	}
}

func buildStream(r Request) (*Job, error) {
	cus := map[isa.CPU]int{isa.GFX942: 38, isa.GFX950: 32}[r.CPU]
	s := StreamSpec{XCDs: max(1, r.XCDs)}
	var err error
	if s.Footprint, err = r.footprint("stream", "64MiB"); err != nil {
		return nil, err
	}
	waves := 0
	for _, o := range []struct {
		name      string
		to        *int
		def, most int
	}{
		{"loads", &s.Loads, 8, 16}, {"width", &s.Width, 2, 16}, {"waves", &waves, 1, 8},
		{"workgroups", &s.Workgroups, cus * s.XCDs, 1 << 13}, {"passes", &s.Passes, min(1<<12, max(1, streamBytes/s.Footprint)), 1 << 16},
	} {
		if *o.to, err = r.Positive("stream", o.name, o.def, o.most); err != nil {
			return nil, err
		}
	}
	layout, err := r.Choice("stream", "layout", "slices", "together")
	if err != nil {
		return nil, err
	}
	s.Together = layout == "together"
	s.Workgroups *= waves
	b, err := Stream(r.CPU, s)
	if err != nil {
		return nil, err
	}
	read := float64(s.slice()) * float64(s.Workgroups) * float64(s.Passes)
	return &Job{Kernel: "stream", DType: "idle", Kernels: []*Built{b}, Bytes: read, Values: int64(s.Workgroups) * streamWaves * isa.Lanes,
		Settings:   settings("footprint", sizeName(s.Footprint), "loads", s.Loads, "width", s.Width, "waves", waves, "workgroups", s.Workgroups, "passes", s.Passes, "layout", layout),
		Notes:      []string{fmt.Sprintf("a K step of the main loop is one round of %d loads; %.0f MB are read in all", s.Loads, read/1e6)},
		FillInputs: b.FillInputs, Verify: b.Verify, Expect: b.Expect}, nil
}

func streamForms() []Info {
	var all []Info
	for _, cpu := range []isa.CPU{isa.GFX950, isa.GFX942} {
		b := mustBuild(Stream(cpu, StreamSpec{Footprint: 1 << 20, Workgroups: 8, XCDs: 8, Loads: 8, Width: 2, Passes: 1}))
		all = append(all, b.form("stream", "streaming read, one wave a SIMD", "stream", "-", streamOptions()))
	}
	return all
}
