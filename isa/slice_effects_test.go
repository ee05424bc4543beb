package isa

import (
	"math/rand/v2"
	"testing"
)

// scramble gives every register outside keep a random value. The registers of a
// descriptor and of addresses are random too: LDS and buffers take any address.
func scramble(r *rand.Rand, s *State, keep *RegSet) {
	for i := range s.SGPR {
		if !keep.Has(Reg(i), 1) {
			s.SGPR[i] = r.Uint32() >> (r.IntN(4) * 8)
		}
	}
	if !keep.Has(SCC, 1) {
		s.SCC = r.IntN(2) == 0
	}
	for i := range s.VGPR {
		if !keep.Has(V(i), 1) {
			scrambleLanes(r, &s.VGPR[i])
		}
		if !keep.Has(A(i), 1) {
			scrambleLanes(r, &s.AGPR[i])
		}
	}
}

func scrambleLanes(r *rand.Rand, v *VReg) {
	x := r.Uint64()
	for l := range v {
		x = x*6364136223846793005 + 1442695040888963407
		v[l] = uint32(x >> 32 >> (x >> 30 & 24))
	}
}

func cloneState(s *State) *State {
	c := *s
	c.VGPR = append([]VReg(nil), s.VGPR...)
	c.AGPR = append([]VReg(nil), s.AGPR...)
	c.LDS = append([]byte(nil), s.LDS...)
	return &c
}

// sameReg compares one register of two states.
func sameReg(a, b *State, r Reg) bool {
	switch {
	case r < Const0:
		return a.SGPR[r] == b.SGPR[r]
	case r == SCC:
		return a.SCC == b.SCC
	case r >= A0:
		return a.AGPR[r-A0] == b.AGPR[r-A0]
	case r >= V0:
		return a.VGPR[r-V0] == b.VGPR[r-V0]
	}
	return true
}

// confine keeps random instructions within few registers, which makes states small.
func confine(in *Inst, regs int) {
	for _, o := range [...]*Operand{&in.Dst, &in.SDst, &in.Src[0], &in.Src[1], &in.Src[2], &in.Src[3], &in.Scale[0], &in.Scale[1]} {
		if !o.Present() || !o.Reg.IsVector() {
			continue
		}
		base := V0
		if o.Reg.IsAGPR() {
			base = A0
		}
		o.Reg = base + Reg(int(o.Reg-base)%((regs-int(o.N))/2+1)*2)
	}
}

// TestEffectsOfEveryOpcode executes random instructions of every opcode on states
// that differ only where Effects says that it does not matter.
func TestEffectsOfEveryOpcode(t *testing.T) {
	const regs = 64
	perOpcode := 10
	if testing.Short() {
		perOpcode = 4
	}
	ran := map[Op]bool{}
	for cpu := GFX942; cpu < numCPUs; cpu++ {
		rng := rand.New(rand.NewPCG(7, uint64(cpu)))
		k := &Kernel{Name: "effects", CPU: cpu, VGPRs: regs, AGPRs: regs, Insts: make([]Inst, 2)}
		a := &State{CPU: cpu, VGPR: make([]VReg, regs), AGPR: make([]VReg, regs), LDS: make([]byte, 2048), Mem: NewMemory()}
		for i := range layouts {
			l := &layouts[i]
			if !l.on(cpu) || l.flags&fAlias != 0 || !HasSemantics(l.op) || l.enc == FLAT || l.enc == SMEM {
				continue // addresses of FLAT and SMEM must be right, and their operands are all explicit
			}
			for n := range perOpcode {
				in := randomInst(rng, l)
				in.Target = 1
				confine(&in, regs)
				k.Insts[0] = in
				if hasIndirect(k) {
					break // such a kernel is in its slice as a whole
				}
				checkEffects(t, rng, k, a, n%2 == 0, ran)
			}
		}
	}
	if len(ran) < 900 {
		t.Errorf("only %d opcodes ran", len(ran))
	}
}

func checkEffects(t *testing.T, rng *rand.Rand, k *Kernel, a *State, full bool, ran map[Op]bool) {
	t.Helper()
	in := &k.Insts[0]
	e := EffectsOf(k.CPU, in, full)
	var none, execOnly RegSet
	execOnly.Add(ExecLo, 2)
	a.PC, a.Mode, a.Ended = 0, DefaultMode, false
	scramble(rng, a, &none)
	if full {
		a.SetExec(^uint64(0))
	}
	// b differs wherever nothing is read or kept.
	keep := e.Reads
	if full {
		keep.Union(&execOnly)
	}
	for i := range keep {
		keep[i] |= e.Writes[i] &^ e.Kill[i]
	}
	b := cloneState(a)
	scramble(rng, b, &keep)
	before, beforeB := cloneState(a), cloneState(b)
	errA, errB := Exec(k, in, a), Exec(k, in, b)
	if (errA == nil) != (errB == nil) {
		t.Errorf("%s: %v and %v", in.Text(k.CPU), errA, errB)
		return
	}
	if errA != nil {
		return
	}
	ran[in.Op] = true
	if a.PC != b.PC || string(a.LDS) != string(b.LDS) {
		t.Errorf("%s, full EXEC %v: the next instruction or LDS depends on a register that is not among the reads", in.Text(k.CPU), full)
	}
	for r := range Reg(A0 + 256) {
		if r >= Const0 && r != SCC && (r < V0 || r.Index() >= len(a.VGPR)) {
			continue
		}
		switch {
		case !e.Writes.Has(r, 1):
			if !sameReg(a, before, r) || !sameReg(b, beforeB, r) {
				t.Errorf("%s, full EXEC %v: writes register %d, which is not among the writes", in.Text(k.CPU), full, r)
			}
		case !sameReg(a, b, r):
			t.Errorf("%s, full EXEC %v: register %d depends on one that is not among the reads, or is not killed", in.Text(k.CPU), full, r)
		}
	}
	checkAddress(t, rng, k, before, &e, full)
}

// checkAddress compares where a memory instruction goes from two states that
// agree on what forms addresses.
func checkAddress(t *testing.T, rng *rand.Rand, k *Kernel, a *State, e *Effects, full bool) {
	t.Helper()
	in := &k.Insts[0]
	if u := Classify(k.CPU, in).Unit; u != UnitLDS && u != UnitVMEM || crossbar(in.Op) {
		return
	}
	keep := e.Address
	if full {
		keep.Add(ExecLo, 2)
	}
	b := cloneState(a)
	scramble(rng, b, &keep)
	a.Access, b.Access = Access{}, Access{}
	if Address(k, in, a) != nil || Address(k, in, b) != nil {
		return
	}
	if a.Access != b.Access {
		t.Errorf("%s, full EXEC %v: the addresses depend on a register that is not among the address reads", in.Text(k.CPU), full)
	}
}
