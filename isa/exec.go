package isa

import (
	"errors"
	"fmt"
)

// ErrUnsupported is wrapped by the error of an instruction that Exec has no
// semantics for.
var ErrUnsupported = errors.New("no semantics")

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
}

// HasSemantics reports whether Exec can run op.
func HasSemantics(op Op) bool { return op < numOps && execTable[op] != nil }

// Exec does one instruction: registers, SCC, EXEC, LDS, memory and the program
// counter. s_waitcnt, s_barrier, s_setprio and s_nop only advance the counter,
// for waiting is a matter of time; s_endpgm sets s.Ended. Memory instructions
// leave their addresses in s.Access.
//
// Arithmetic rounds to nearest even; MODE decides denormals, IEEE and clamping.
func Exec(k *Kernel, in *Inst, s *State) error {
	if in.Op >= numOps || execTable[in.Op] == nil {
		return unsupported(k, in, "")
	}
	pc := s.PC
	s.PC++
	if err := execTable[in.Op](k, in, s); err != nil {
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
// kernel did not declare. Exec relies on it: run it once per kernel.
func CheckRegisters(k *Kernel) error {
	for i := range k.Insts {
		in := &k.Insts[i]
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
	}
	return nil
}
