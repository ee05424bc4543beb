package isa

import "fmt"

// Branches, program counter, hardware registers and the instructions that only
// time knows.

func registerProgram() {
	t := &execTable
	nop := func(*Kernel, *Inst, *State) error { return nil }
	for _, op := range []Op{
		S_NOP, S_WAITCNT, S_BARRIER, S_SETPRIO, S_SLEEP, S_SENDMSG, S_SENDMSGHALT, S_SETHALT,
		S_ICACHE_INV, S_TTRACEDATA, S_INCPERFLEVEL, S_DECPERFLEVEL, S_WAKEUP,
		S_DCACHE_INV, S_DCACHE_INV_VOL, S_DCACHE_WB, S_DCACHE_WB_VOL,
		// Memory is one store here: nothing dirty is left to discard, and a probe
		// of the translation has nothing to return.
		S_DCACHE_DISCARD, S_DCACHE_DISCARD_X2, S_ATC_PROBE, S_ATC_PROBE_BUFFER,
		BUFFER_INV, BUFFER_WBL2, V_NOP, V_CLREXCP, DS_NOP,
		S_CBRANCH_CDBGSYS, S_CBRANCH_CDBGUSER, S_CBRANCH_CDBGSYS_OR_USER, S_CBRANCH_CDBGSYS_AND_USER,
	} {
		t[op] = nop
	}
	end := func(_ *Kernel, _ *Inst, s *State) error { s.Ended = true; return nil }
	t[S_ENDPGM], t[S_ENDPGM_SAVED] = end, end
	t[S_BRANCH] = branch(func(*State) bool { return true })
	t[S_CBRANCH_SCC0] = branch(func(s *State) bool { return !s.SCC })
	t[S_CBRANCH_SCC1] = branch(func(s *State) bool { return s.SCC })
	t[S_CBRANCH_VCCZ] = branch(func(s *State) bool { return s.VCC() == 0 })
	t[S_CBRANCH_VCCNZ] = branch(func(s *State) bool { return s.VCC() != 0 })
	t[S_CBRANCH_EXECZ] = branch(func(s *State) bool { return s.Exec() == 0 })
	t[S_CBRANCH_EXECNZ] = branch(func(s *State) bool { return s.Exec() != 0 })
	t[S_TRAP] = execTrap
	t[S_GETPC_B64] = func(k *Kernel, in *Inst, s *State) error {
		s.setS64(in.Dst.Reg, k.CodeBase+uint64(in.PC)+uint64(in.Size))
		return nil
	}
	t[S_SETPC_B64] = func(k *Kernel, in *Inst, s *State) error { return setPC(k, in, s, s.s64(in, 0)) }
	t[S_SWAPPC_B64] = func(k *Kernel, in *Inst, s *State) error {
		to := s.s64(in, 0)
		s.setS64(in.Dst.Reg, k.CodeBase+uint64(in.PC)+uint64(in.Size))
		return setPC(k, in, s, to)
	}
	t[S_CALL_B64] = func(k *Kernel, in *Inst, s *State) error {
		s.setS64(in.Dst.Reg, k.CodeBase+uint64(in.PC)+uint64(in.Size))
		return takeBranch(k, in, s)
	}
	t[S_GETREG_B32] = execGetReg
	t[S_SETREG_B32] = func(k *Kernel, in *Inst, s *State) error {
		r := in.Dst.Reg
		if in.Src[0].Present() {
			r = in.Src[0].Reg
		}
		return setReg(k, in, s, s.scalar32(in, r))
	}
	t[S_SETREG_IMM32_B32] = func(k *Kernel, in *Inst, s *State) error { return setReg(k, in, s, in.Literal) }
	clock := func(_ *Kernel, in *Inst, s *State) error {
		s.Access = Access{}
		var v uint64
		if s.Info.Clock != nil {
			v = s.Info.Clock()
		}
		s.setS64(in.Dst.Reg, v)
		return nil
	}
	t[S_MEMTIME], t[S_MEMREALTIME] = clock, clock
}

func branch(taken func(*State) bool) execFunc {
	return func(k *Kernel, in *Inst, s *State) error {
		if taken(s) {
			return takeBranch(k, in, s)
		}
		return nil
	}
}

func takeBranch(k *Kernel, in *Inst, s *State) error {
	if in.Target < 0 || int(in.Target) >= len(k.Insts) {
		return fmt.Errorf("isa: kernel %s: %s at pc %#x branches outside the code", k.Name, in.Text(k.CPU), in.PC)
	}
	s.PC = int(in.Target)
	return nil
}

// setPC goes to a code address. Addresses that s_getpc, s_call and s_swappc
// make count from CodeBase.
func setPC(k *Kernel, in *Inst, s *State, to uint64) error {
	to -= k.CodeBase
	if to>>32 != 0 {
		return fmt.Errorf("isa: kernel %s: %s at pc %#x goes to %#x, outside the code: %w there", k.Name, in.Text(k.CPU), in.PC, to+k.CodeBase, ErrOutside)
	}
	i, err := k.At(uint32(to))
	if err != nil {
		return fmt.Errorf("%w (from %s at pc %#x)", err, in.Text(k.CPU), in.PC)
	}
	s.PC = i
	return nil
}

// execTrap: ROCm's handler treats id 2 as an abort and id 3 as a breakpoint.
func execTrap(k *Kernel, in *Inst, s *State) error {
	if in.Offset&0xff == 3 {
		return nil
	}
	return fmt.Errorf("isa: kernel %s: s_trap %d at pc %#x: wave %d of workgroup %v aborted",
		k.Name, in.Offset&0xff, in.PC, s.Info.WaveInWG, s.Info.Workgroup)
}

// Hardware registers that s_getreg and s_setreg name.
const (
	hwMode       = 1
	hwStatus     = 2
	hwHWID       = 4
	hwSHMemBases = 15
	hwXCCID      = 20
)

func hwField(in *Inst) (id, off, size uint32) {
	v := uint32(in.Offset)
	return v & 63, v >> 6 & 31, v>>11&31 + 1
}

func execGetReg(k *Kernel, in *Inst, s *State) error {
	id, off, size := hwField(in)
	var v uint32
	switch id {
	case hwMode:
		v = s.Mode
	case hwStatus:
		v = bit32(s.SCC) | bit32(s.Exec() == 0)<<9 | bit32(s.VCC() == 0)<<10 | 1<<16
	case hwHWID:
		v = s.Info.HWID
	case hwSHMemBases:
		v = sharedApertureHi&0xffff0000 | privateApertureHi>>16
	case hwXCCID:
		v = uint32(s.Info.XCC)
	default:
		return unsupported(k, in, fmt.Sprintf("hardware register %d", id))
	}
	s.setS32(in.Dst.Reg, uint32(bfeU(uint64(v), off, size)))
	return nil
}

func setReg(k *Kernel, in *Inst, s *State, v uint32) error {
	id, off, size := hwField(in)
	if id != hwMode {
		return unsupported(k, in, fmt.Sprintf("write of hardware register %d", id))
	}
	m := uint32(uint64(1)<<size-1) << off
	s.Mode = s.Mode&^m | v<<off&m
	return nil
}
