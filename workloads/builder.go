// Package workloads holds the kernels that Whisker runs and a tile builder that
// emits them as real gfx942 and gfx950 instructions with real registers: what
// is simulated assembles and runs on hardware.
package workloads

import (
	"fmt"
	"slices"

	"github.com/whisker-sim/whisker/isa"
)

// Val is an operand of the builder: a register range, an inline constant or a
// 32-bit literal.
type Val struct {
	isa.Operand
	Lit uint32 // value when Reg is isa.Literal
}

// inlineFloats are the bits that the inline constants from ConstHalf on have in a
// 32-bit operand. Assemblers choose them for equal integers too.
var inlineFloats = [...]uint32{0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x40800000, 0xc0800000}

// Imm is an integer constant: inline where the encoding allows it, else a
// literal.
func Imm(v int) Val {
	if v >= -16 && v <= 64 {
		return Val{Operand: isa.Operand{Reg: isa.Int(v), N: 1}}
	}
	if i := slices.Index(inlineFloats[:], uint32(v)); i >= 0 {
		return Val{Operand: isa.Operand{Reg: isa.ConstHalf + isa.Reg(i), N: 1}}
	}
	return Val{Operand: isa.Operand{Reg: isa.Literal, N: 1}, Lit: uint32(v)}
}

// At is the part of a register range that starts at dword i and spans n.
func (v Val) At(i, n int) Val {
	v.Reg += isa.Reg(i)
	v.N = uint8(n)
	return v
}

// reg is the operand that names n registers from r.
func reg(r isa.Reg, n int) Val { return Val{Operand: isa.Operand{Reg: r, N: uint8(n)}} }

// m0 is the LDS address of direct-to-LDS loads.
var m0 = reg(isa.M0, 1)

// Label is a branch target of a Builder.
type Label int

// Builder appends instructions to a kernel, allocates its registers, and keeps
// the hazards that LLVM's assembler leaves to its user.
type Builder struct {
	cpu      isa.CPU
	insts    []isa.Inst
	pc       uint32
	labels   []int // instruction index of each label, -1 until placed
	branches map[int]Label
	nextV    int
	nextA    int
	nextS    int
	clusters []Cluster
	waits    int // s_waitcnt seen so far
	dropWait int // ordinal of the wait to leave out, -1 for none
	dropped  int // instruction index where the dropped wait would stand, -1
	states   waitStates
	virtual  bool    // VGPR hands out virtual registers
	tuples   []tuple // the virtual ones, in order
	scratch  int     // bytes of private memory per lane
}

// NewBuilder starts a kernel for cpu with the first free registers after the
// ones that the launch fills.
func NewBuilder(cpu isa.CPU, firstV, firstS int) *Builder {
	return &Builder{cpu: cpu, branches: map[int]Label{}, nextV: firstV, nextS: firstS, dropWait: -1, dropped: -1}
}

// VGPR allocates n vector registers, even-aligned when n > 1 (gfx90a and later
// require it of 64-bit and wider tuples).
func (b *Builder) VGPR(n int) Val {
	if b.virtual {
		return b.newVirtual(n)
	}
	if n > 1 {
		b.nextV += b.nextV & 1
	}
	v := reg(isa.V(b.nextV), n)
	b.nextV += n
	return v
}

// AGPR allocates n accumulation registers.
func (b *Builder) AGPR(n int) Val {
	v := reg(isa.A(b.nextA), n)
	b.nextA += n
	return v
}

// SGPR allocates n scalar registers, aligned to n up to 4.
func (b *Builder) SGPR(n int) Val {
	align := min(n, 4)
	b.nextS = (b.nextS + align - 1) / align * align
	v := reg(isa.S(b.nextS), n)
	b.nextS += n
	return v
}

// Emit appends one instruction, sets its size and address, and returns its
// index.
func (b *Builder) Emit(in isa.Inst) int {
	if b.states.on {
		c := isa.Classify(b.cpu, &in)
		if n := b.states.need(b.cpu, &in, &c); n > 0 && in.Op != isa.S_NOP {
			b.Nop(n)
		}
		b.states.done(b.cpu, &in, &c)
	}
	in.Size = 4
	if in.Sub != isa.SubNone || in.E64 {
		in.Size = 8
	}
	switch in.Enc {
	case isa.SMEM, isa.VOP3, isa.VOP3P, isa.MAI, isa.DS, isa.MUBUF, isa.FLAT, isa.EXT:
		in.Size = 8
	default:
		for _, s := range in.Src {
			if s.N != 0 && s.Reg == isa.Literal {
				in.Size = 8
			}
		}
	}
	in.PC = b.pc
	in.Target = -1
	b.pc += uint32(in.Size)
	b.insts = append(b.insts, in)
	return len(b.insts) - 1
}

// Label makes a branch target that is not yet placed.
func (b *Builder) Label() Label {
	b.labels = append(b.labels, -1)
	return Label(len(b.labels) - 1)
}

// Place puts l before the next instruction.
func (b *Builder) Place(l Label) {
	b.labels[l] = len(b.insts)
	if b.states.on {
		b.states.place(l)
	}
}

// Branch emits a SOPP branch to l.
func (b *Builder) Branch(op isa.Op, l Label) {
	b.branches[b.Emit(isa.Inst{Op: op, Enc: isa.SOPP})] = l
	if b.states.on {
		b.states.branch(l)
	}
}

// Finish resolves the branches and returns the instructions.
func (b *Builder) Finish() ([]isa.Inst, error) {
	for i := range b.insts {
		l, ok := b.branches[i]
		if !ok {
			continue
		}
		t := b.labels[l]
		if t < 0 || t >= len(b.insts) {
			return nil, fmt.Errorf("workloads: branch %d goes to a label that is not placed", i)
		}
		// The target counts dwords from the next instruction (SOPP branches).
		d := (int64(b.insts[t].PC) - int64(b.insts[i].PC) - 4) / 4
		if d < -1<<15 || d >= 1<<15 {
			return nil, fmt.Errorf("workloads: branch %d spans %d dwords, more than simm16 holds", i, d)
		}
		b.insts[i].Offset, b.insts[i].Target = int32(d), int32(t)
	}
	if b.nextV > 256 || b.nextA > 256 {
		return nil, fmt.Errorf("workloads: kernel needs %d VGPRs and %d AGPRs, a wave can name 256 of each", b.nextV, b.nextA)
	}
	if b.nextS > 102 {
		return nil, fmt.Errorf("workloads: kernel needs %d SGPRs, a wave has 102", b.nextS)
	}
	return b.insts, nil
}

// Cluster is a named range of instructions [Start, End) that reports use. Kind
// is "memory", "compute" or "other".
type Cluster struct {
	Name, Kind string
	Start, End int
}

// Cluster closes the open cluster and opens one that starts at the next
// instruction.
func (b *Builder) Cluster(name, kind string) {
	b.EndCluster()
	b.clusters = append(b.clusters, Cluster{name, kind, len(b.insts), -1})
}

// EndCluster closes the open cluster, if any.
func (b *Builder) EndCluster() {
	if n := len(b.clusters); n > 0 && b.clusters[n-1].End < 0 {
		b.clusters[n-1].End = len(b.insts)
	}
}
