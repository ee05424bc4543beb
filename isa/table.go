package isa

import "strings"

// row describes one opcode: where it lives, on which CPUs, and its operands in
// the order of the assembly text.
type row struct {
	op    Op
	enc   Enc
	code  uint16
	cpus  cpuSet
	sig   string
	flags rowFlags
}

// cpuSet is a bit set of CPU.
type cpuSet uint8

const (
	on942 cpuSet = 1 << GFX942
	on950 cpuSet = 1 << GFX950
	both         = on942 | on950
)

// rowFlags is what an opcode allows beyond its base encoding.
type rowFlags uint32

const (
	fE32      rowFlags = 1 << iota // text carries an encoding suffix
	fE64                           // has a VOP3 form
	fDPP                           // has a DPP form
	fSDWA                          // has an SDWA form
	fNoDstSel                      // SDWA without dst_sel (fp8 conversions)
	fFPMod                         // sources take neg and abs
	fOpSel                         // VOP3 op_sel: one bit a source, one for the destination
	fOpSel4                        // VOP3 op_sel of four bits with two sources
	fMix                           // VOP3P whose neg_hi is abs and whose op_sel_hi defaults to 0
	fAlias                         // another row decodes from the same code
	fTwoAddr                       // DS with two 8-bit offsets
	fGDS                           // DS only with the gds bit
	fGlobal                        // FLAT, global segment
	fScratch                       // FLAT, scratch segment
	fF8F6F4                        // A and B sizes follow CBSZ and BLGP
	fNegBLGP                       // f64 matrix: BLGP negates A, B and C
	fSparse                        // smfmac: Src[2] is an index register
)

// slot is one operand of a row. The kinds are
//
//	D R A    Dst: vector or scalar by encoding, always scalar, always accumulation
//	S        SDst
//	a b c d  Src[0] to Src[3]; x is Src[0] in an accumulation register
//	q        Dst, present when the atomic returns
//	r        data that an atomic also returns in: Src[3] (buffer) or Src[2] (SMEM)
//	s t      Scale[0], Scale[1]
//	K        the 32-bit literal as an operand of its own (fmaak, setreg_imm32)
//	I N B    simm16 as hexadecimal, as a small number, as a branch distance
//	H G W M  simm16 as hwreg, gpr_idx, waitcnt, sendmsg
//	E        simm16, absent when zero
//	o P      SMEM: offset, probe kind
type slot struct {
	kind byte
	n    uint8 // dwords
}

// layout is a row with its operand signature taken apart.
type layout struct {
	row
	slots []slot
	nsrc  int // VALU sources that are encoded: a, b, c, x
}

var (
	layouts  [len(rows)]layout
	byOp     [numOps]*layout
	byCode   map[codeKey]*layout
	mnemonic map[string]Op
)

type codeKey struct {
	cpu  CPU
	enc  Enc
	seg  uint8 // SEG of FLAT, segScaled of MAI
	code uint16
}

const segScaled = 4

func init() {
	byCode = make(map[codeKey]*layout, 2*len(rows))
	mnemonic = make(map[string]Op, len(rows))
	for i := range rows {
		l := &layouts[i]
		l.row = rows[i]
		l.slots, l.nsrc = parseSig(l.sig)
		byOp[l.op] = l
		mnemonic[l.op.String()] = l.op
		// The scaled matrix instructions share the code of the plain ones; their
		// first half tells them apart.
		seg := l.segment()
		if l.has('s') {
			seg = segScaled
		}
		if l.flags&fAlias != 0 {
			continue
		}
		for c := CPU(0); c < numCPUs; c++ {
			if l.on(c) {
				byCode[codeKey{c, l.enc, seg, l.code}] = l
			}
		}
	}
}

func parseSig(sig string) (slots []slot, nsrc int) {
	if sig == "" {
		return nil, 0
	}
	for _, f := range strings.Split(sig, ",") {
		s := slot{kind: f[0]}
		for _, d := range f[1:] {
			s.n = s.n*10 + uint8(d-'0')
		}
		if strings.IndexByte("abcx", s.kind) >= 0 {
			nsrc++
		}
		slots = append(slots, s)
	}
	return slots, nsrc
}

// on reports whether the opcode exists on a CPU.
func (l *layout) on(c CPU) bool { return l.cpus>>c&1 != 0 }

// segment is the SEG field of a FLAT opcode.
func (l *layout) segment() uint8 {
	switch {
	case l.enc != FLAT:
		return 0
	case l.flags&fScratch != 0:
		return 1
	case l.flags&fGlobal != 0:
		return 2
	}
	return 0
}

// has reports whether the signature holds a slot of the kind.
func (l *layout) has(kind byte) bool { return strings.IndexByte(l.sig, kind) >= 0 }

// compareSwap reports whether an atomic's data is a new value and a compare
// value, of which it returns only one.
func (l *layout) compareSwap() bool { return strings.Contains(l.op.String(), "cmpswap") }

// toLDS reports whether a FLAT opcode loads into LDS.
func (l *layout) toLDS() bool { return l.enc == FLAT && strings.Contains(l.op.String(), "_load_lds_") }

// lookup returns the row of an opcode on a CPU, or nil.
func lookup(c CPU, op Op) *layout {
	if op >= numOps || c >= numCPUs {
		return nil
	}
	if l := byOp[op]; l != nil && l.on(c) {
		return l
	}
	return nil
}

// Supports reports whether a CPU has the opcode.
func Supports(c CPU, op Op) bool { return lookup(c, op) != nil }

// OpByName returns the opcode of a mnemonic without its encoding suffix.
func OpByName(name string) (Op, bool) {
	op, ok := mnemonic[name]
	return op, ok
}
