package isa

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnsupported is wrapped by the error of an instruction that Exec has no
// semantics for.
var ErrUnsupported = errors.New("no semantics")

// ErrOutside is wrapped by the error of a wave that goes on where its kernel has no
// instruction: past the last one, or to an address between or beyond them.
var ErrOutside = errors.New("no instruction")

// PastEnd is the error of a wave that runs past the last instruction.
func PastEnd(k *Kernel, workgroup [3]int, wave int) error {
	last := &k.Insts[len(k.Insts)-1]
	return fmt.Errorf("isa: kernel %s: %w after %s at pc %#x, the last of its code: workgroup %v wave %d does not end", k.Name, ErrOutside, last.Text(k.CPU), last.PC, workgroup, wave)
}

// ErrOutOfBounds is wrapped by the error of a memory access outside every
// allocation.
var ErrOutOfBounds = errors.New("out of bounds")

// DefaultMode is the MODE register that clang's kernel descriptors set on both
// CPUs: round to nearest even, denormals kept, DX10_CLAMP and IEEE on.
const DefaultMode = 0x3f0

// execFunc does one instruction. s.PC already names the next instruction.
type execFunc func(k *Kernel, in *Inst, s *State) error

// execTable is filled once, by the register functions of the exec files; an
// opcode whose entry is nil has no semantics.
var execTable [numOps]execFunc

func init() {
	registerScalar()
	registerProgram()
	registerMemory()
	registerVector()
	registerMatrix()
	registerGPRIdx()
	registerRare()
}

// HasSemantics reports whether Exec can run op.
func HasSemantics(op Op) bool { return op < numOps && execTable[op] != nil }

// Exec does one instruction: registers, SCC, EXEC, LDS, memory and the program
// counter. s_waitcnt, s_barrier, s_setprio and s_nop only advance the counter,
// for waiting is a matter of time; s_endpgm sets s.Ended. Memory instructions
// leave their addresses in s.Access.
//
// MODE decides rounding, denormals and clamping; IEEE is taken as on.
func Exec(k *Kernel, in *Inst, s *State) error {
	if in.Op >= numOps || execTable[in.Op] == nil {
		if in.Op.IsExtension() {
			return execExtension(k, in, s)
		}
		return unsupported(k, in, Refused(in.Op))
	}
	pc := s.PC
	s.PC++
	f := execTable[in.Op]
	if s.Mode&modeGPRIdx != 0 {
		f = execIndexed
	}
	if err := f(k, in, s); err != nil {
		s.PC = pc
		return err
	}
	return nil
}

func unsupported(k *Kernel, in *Inst, why string) error {
	if why != "" {
		why = ": " + why
	}
	return fmt.Errorf("isa: %v: %w for %s at pc %#x (kernel %s)%s",
		k.CPU, ErrUnsupported, in.Text(k.CPU), in.PC, k.Name, why)
}

// CheckRegisters reports the first instruction that names a register which the
// kernel did not declare, or a scalar where only a vector register can be. Exec
// relies on it: run it once per kernel.
func CheckRegisters(k *Kernel) error {
	for i := range k.Insts {
		in := &k.Insts[i]
		if err := checkRanges(k, in); err != nil {
			return err
		}
		if o, ok := notVector(in); !ok {
			return fmt.Errorf("isa: kernel %s: %s at pc %#x has %v where it needs a vector register",
				k.Name, in.Text(k.CPU), in.PC, o.Reg)
		}
	}
	return nil
}

func checkRanges(k *Kernel, in *Inst) error {
	ops := [...]Operand{in.Dst, in.SDst, in.Src[0], in.Src[1], in.Src[2], in.Src[3], in.Scale[0], in.Scale[1]}
	for _, o := range ops {
		if !o.Present() {
			continue
		}
		end := o.Reg.Index() + int(o.N)
		file, limit := "SGPR", NumSGPRs
		switch {
		case o.Reg.IsAGPR():
			file, limit = "AGPR", k.AGPRs
		case o.Reg.IsVGPR():
			file, limit = "VGPR", k.VGPRs
		case !o.Reg.IsSGPR():
			continue
		}
		if end > limit {
			return fmt.Errorf("isa: kernel %s: %s at pc %#x names %s %d, but the kernel has %d",
				k.Name, in.Text(k.CPU), in.PC, file, end-1, limit)
		}
	}
	return nil
}

// notVector returns an operand that must be a vector register and is not.
func notVector(in *Inst) (Operand, bool) {
	var need [4]Operand
	switch in.Enc {
	case VOP1, VOP2, VOP3, VOP3P:
		if in.Op != V_READFIRSTLANE_B32 && in.Op != V_READLANE_B32 && !isCompare(in.Op) {
			need[0] = in.Dst
		}
		switch in.Op {
		case V_SWAP_B32, V_PERMLANE16_SWAP_B32, V_PERMLANE32_SWAP_B32:
			need[1] = in.Src[0]
		}
		if in.Src[0].N > 2 { // wide sources of the scaled conversions
			need[1] = in.Src[0]
		}
		if in.Src[1].N > 2 {
			need[2] = in.Src[1]
		}
	case MAI:
		need = [4]Operand{in.Dst, in.Src[0], in.Src[1]}
		if in.Src[0].N == 1 && in.Src[2].N == 0 { // v_accvgpr_write takes a scalar
			need = [4]Operand{in.Dst}
		}
	case DS:
		need = [4]Operand{in.Dst, in.Src[0], in.Src[1], in.Src[2]}
	case MUBUF, FLAT:
		need = [4]Operand{in.Dst, in.Src[0], in.Src[3]}
	}
	for _, o := range need {
		if o.Present() && !o.Reg.IsVector() {
			return o, false
		}
	}
	return Operand{}, true
}

// isCompare reports v_cmp and v_cmpx, which write a lane mask.
func isCompare(op Op) bool { return strings.HasPrefix(op.String(), "v_cmp") }
