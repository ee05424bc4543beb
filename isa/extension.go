package isa

import (
	"fmt"
	"strings"
)

// Whisker's extensions: instructions of machines that do not exist, for studies
// of what the HipKittens paper says AMD lacks. No hardware encodes them, so that
// Encode and Assembly refuse them; Exec gives their values and cu their time.
//
// Operand slots:
//
//	x_set_registers  Offset: vector registers that the wave holds from now on
//	x_mbar_init      Offset: LDS address of the barrier object, Offset1: arrivals of a phase
//	x_mbar_arrive    Offset: LDS address of the barrier object
//	x_mbar_wait      Offset: LDS address, Src[0]: parity of the phase that must be over
//	x_tile_copy      Src[0]: buffer descriptor (4), Src[1]: byte offset, Src[2]: LDS
//	                 address, Src[3]: bytes from row to row; Offset: rows, a multiple
//	                 of 16; Literal: TileCopyCounted, or the LDS address of the barrier
//	                 object that the copy arrives at
//	x_mma_*          Dst, Src[0]=A, Src[1]=B, Src[2]=C; Offset and Literal: offsets of
//	                 A and B in LDS; Offset1: rows and columns of base tiles (BlockShape)
//	x_mma_wait       Offset: blocks of the wave that may still be under way
const (
	X_SET_REGISTERS Op = firstExtension + iota
	X_MBAR_INIT
	X_MBAR_ARRIVE
	X_MBAR_WAIT
	X_TILE_COPY
	X_MMA_F32_16X16X32_BF16
	X_MMA_F32_16X16X32_F16
	X_MMA_WAIT
	lastExtension
)

// firstExtension leaves room for the opcodes of the hardware.
const firstExtension Op = 0x4000

// EXT is the encoding of the extensions: none.
const EXT Enc = 64

var extensionNames = [...]string{"x_set_registers", "x_mbar_init", "x_mbar_arrive", "x_mbar_wait", "x_tile_copy",
	"x_mma_f32_16x16x32_bf16", "x_mma_f32_16x16x32_f16", "x_mma_wait"}

// IsExtension reports whether no hardware has the opcode.
func (o Op) IsExtension() bool { return o >= firstExtension && o < lastExtension }

// Features is a set of what extensions need of a machine.
type Features uint8

// The features, one a switch of the machine file.
const (
	DynamicRegisters Features = 1 << iota
	MFMALDSOperands
	TileCopy
	MBarrier
	numFeatures = iota
)

// featureLeaves are the machine file's switches, in the order of the bits.
var featureLeaves = [numFeatures]string{"features.dynamic_registers", "features.mfma_lds_operands", "features.tile_copy", "features.mbarrier"}

// Leaves are the machine file's switches of the features.
func (f Features) Leaves() []string {
	var out []string
	for i, l := range featureLeaves {
		if f>>i&1 != 0 {
			out = append(out, l)
		}
	}
	return out
}

// FeatureNamed returns the feature whose switch is features.name, or all of
// them.
func FeatureNamed(name string) (Features, bool) {
	if name == "all" {
		return 1<<numFeatures - 1, true
	}
	for i, l := range featureLeaves {
		if l == "features."+name {
			return 1 << i, true
		}
	}
	return 0, false
}

// FeatureNames are the names that FeatureNamed takes.
func FeatureNames() []string {
	names := make([]string, 0, numFeatures+1)
	for _, l := range featureLeaves {
		names = append(names, strings.TrimPrefix(l, "features."))
	}
	return append(names, "all")
}

// feature is what an opcode needs.
func (o Op) feature() Features {
	switch o {
	case X_SET_REGISTERS:
		return DynamicRegisters
	case X_MBAR_INIT, X_MBAR_ARRIVE, X_MBAR_WAIT:
		return MBarrier
	case X_TILE_COPY:
		return TileCopy
	case X_MMA_F32_16X16X32_BF16, X_MMA_F32_16X16X32_F16, X_MMA_WAIT:
		return MFMALDSOperands
	}
	return 0
}

// Features is what the kernel's instructions need of a machine.
func (k *Kernel) Features() Features {
	var f Features
	for i := range k.Insts {
		f |= k.Insts[i].Op.feature()
		if in := &k.Insts[i]; in.Op == X_TILE_COPY && in.Literal != TileCopyCounted {
			f |= MBarrier
		}
	}
	return f
}

// TileCopyCounted is the Literal of a tile copy that counts on vmcnt.
const TileCopyCounted = ^uint32(0)

// TileRowBytes is a row of a tile that x_tile_copy moves: 64 elements of 16
// bits. In LDS the tile is a row-major grid of 16x32 subtiles of 1 KiB; in a
// subtile the byte offset o gets o ^= (o>>9&1)<<5, as direct-to-LDS kernels
// place theirs (HipKittens st_16x32).
const TileRowBytes = 128

// tilePlace is the LDS offset of 16 bytes of a tile, column 16*c of row r.
func tilePlace(r, c int) uint32 {
	o := uint32(r%16*64 + c%4*16)
	o ^= o >> 9 & 1 << 5
	return uint32(r/16*2+c/4)*1024 + o
}

// BlockTileStep is the distance in LDS of neighbouring base tiles of an operand
// of x_mma: 16 rows of TileRowBytes.
const BlockTileStep = 16 * TileRowBytes

// baseTileBytes is a matrix operand: 16 bytes a lane.
const baseTileBytes = 16 * Lanes

// BlockShape is the Offset1 of an x_mma of rows x cols base tiles.
func BlockShape(rows, cols int) uint8 { return uint8(rows<<4 | cols) }

// Block returns the rows and columns of base tiles of an x_mma.
func (in *Inst) Block() (rows, cols int) { return int(in.Offset1 >> 4), int(in.Offset1 & 15) }

// BlockLDS reports which operands of an x_mma lie in LDS: those that name one
// register, an address.
func (in *Inst) BlockLDS() (a, b bool) { return in.Src[0].N == 1, in.Src[1].N == 1 }

// plain is the matrix instruction of which an x_mma is a block.
func (o Op) plain() Op {
	if o == X_MMA_F32_16X16X32_F16 {
		return V_MFMA_F32_16X16X32_F16
	}
	return V_MFMA_F32_16X16X32_BF16
}

// classifyExtension is the timing class of an extension.
func classifyExtension(cpu CPU, in *Inst) Class {
	switch in.Op {
	case X_TILE_COPY:
		return Class{Unit: UnitInternal, LDSDMA: true}
	case X_MMA_F32_16X16X32_BF16, X_MMA_F32_16X16X32_F16:
		c := classes[cpu][in.Op.plain()]
		if c.Unit != UnitMFMA {
			return Class{}
		}
		rows, cols := in.Block()
		c.Passes *= uint8(rows * cols)
		c.FLOPs *= uint32(rows * cols)
		return c
	}
	return Class{Unit: UnitInternal}
}

// extensionEffects is EffectsOf an extension.
func extensionEffects(in *Inst) (e Effects) {
	for _, o := range in.Src {
		e.Reads.addOperand(o)
	}
	e.Writes.addOperand(in.Dst)
	e.Kill = e.Writes
	if in.Op.feature() == MFMALDSOperands {
		a, b := in.BlockLDS()
		if a {
			e.Address.addOperand(in.Src[0])
		}
		if b {
			e.Address.addOperand(in.Src[1])
		}
	}
	return e
}

// extensionText prints an extension.
func (in *Inst) extensionText() string {
	var b strings.Builder
	b.WriteString(in.Op.String())
	sep := " "
	put := func(format string, args ...any) {
		b.WriteString(sep)
		fmt.Fprintf(&b, format, args...)
		sep = ", "
	}
	reg := func(o Operand) { put("%s", o.Reg.text(int(o.N))) }
	switch in.Op {
	case X_SET_REGISTERS, X_MMA_WAIT:
		put("%d", in.Offset)
	case X_MBAR_INIT:
		put("%#x", in.Offset)
		put("%d", in.Offset1)
	case X_MBAR_ARRIVE:
		put("%#x", in.Offset)
	case X_MBAR_WAIT:
		put("%#x", in.Offset)
		reg(in.Src[0])
	case X_TILE_COPY:
		for _, o := range in.Src {
			reg(o)
		}
		put("%d", in.Offset)
		if in.Literal != TileCopyCounted {
			put("%#x", in.Literal)
		}
	default:
		reg(in.Dst)
		for i, o := range in.Src[:3] {
			a, l := in.BlockLDS()
			switch {
			case i == 0 && a:
				put("lds(%s+%#x)", o.Reg.text(1), in.Offset)
			case i == 1 && l:
				put("lds(%s+%#x)", o.Reg.text(1), in.Literal)
			default:
				reg(o)
			}
		}
		rows, cols := in.Block()
		put("%dx%d", rows, cols)
	}
	return b.String()
}

// errExtension refuses to encode an extension.
func errExtension(op Op) error {
	return fmt.Errorf("isa: %v is an extension of Whisker that no hardware encodes (it needs %s of a machine file), so there is no assembly or machine code of it",
		op, strings.Join(op.feature().Leaves(), " and "))
}
