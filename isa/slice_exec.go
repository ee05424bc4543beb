package isa

// Which lanes are on, as far as the code alone tells. Compilers narrow EXEC for
// a branch and widen it again from a saved copy or from a mask of the other
// lanes; the analysis follows pairs of masks that cover all lanes between them.

// maskPair numbers the aligned pairs of scalar registers, EXEC among them.
type maskPair = int8

const (
	numMasks          = NumSGPRs / 2
	execMask maskPair = maskPair(ExecLo / 2)
	noMask   maskPair = -1 // a constant, or registers that are not an aligned pair
)

// covers is what is known of the masks at a point: full are those with all lanes
// on, with holds for each the other masks that have every lane which it lacks.
type covers struct {
	full uint64
	with [numMasks]uint64
}

// mask is the value of an expression: whether all lanes are on, and the register
// pairs that have every lane which it lacks.
type mask struct {
	pair maskPair
	full bool
	with uint64
}

// get reads an operand as a mask.
func (c *covers) get(in *Inst, o Operand) mask {
	if o.Present() && o.N == 2 && o.Reg < Const0 && o.Reg%2 == 0 {
		p := maskPair(o.Reg / 2)
		if c.full>>p&1 != 0 {
			return mask{p, true, ^uint64(0)}
		}
		return mask{p, false, c.with[p] | c.full}
	}
	// Integers are sign-extended to 64 bits.
	if o.Reg == ConstNeg1 || o.Reg == Literal && in.Literal == ^uint32(0) {
		return mask{noMask, true, ^uint64(0)}
	}
	return mask{noMask, false, c.full}
}

// covers reports whether a and b have all lanes between them.
func (a mask) covers(b mask) bool {
	return a.full || b.full || b.pair != noMask && a.with>>b.pair&1 != 0
}

func (a mask) bit() uint64 {
	if a.pair == noMask {
		return 0
	}
	return 1 << a.pair
}

// maskOr is a|b: it covers what either covers.
func maskOr(a, b mask) mask { return mask{noMask, a.covers(b), a.with | b.with} }

// maskAnd is a&b.
func maskAnd(a, b mask) mask { return mask{noMask, a.full && b.full, a.with & b.with} }

// maskNot is ^a, which covers what a lacks: a itself.
func maskNot(a mask) mask { return mask{pair: noMask, with: a.bit()} }

// maskXor is a^b. If a and b cover all lanes, (a^b)|b = a|b does.
func maskXor(a, b mask) (m mask) {
	m.pair = noMask
	if a.covers(b) {
		m.with = a.bit() | b.bit()
	}
	return m
}

// maskAndNot is a&^b. If a and b cover all lanes, (a&^b)|b = a|b does.
func maskAndNot(a, b mask) (m mask) {
	m.pair = noMask
	if a.covers(b) {
		m.with = b.bit()
	}
	return m
}

// maskOrNot is a|^b.
func maskOrNot(a, b mask) mask { return mask{noMask, a.full, a.with | b.bit()} }

// maskNand is ^(a&b).
func maskNand(a, b mask) mask { return mask{pair: noMask, with: a.bit() | b.bit()} }

// forget drops what is known of the pairs in the set.
func (c *covers) forget(pairs uint64) {
	c.full &^= pairs
	for p := range c.with {
		if pairs>>p&1 != 0 {
			c.with[p] = 0
		} else {
			c.with[p] &^= pairs
		}
	}
}

// set gives a pair a value worked out before; old names the pairs that have
// changed since.
func (c *covers) set(p maskPair, m mask, old uint64) {
	m.with &^= old | 1<<p
	if m.full {
		c.full |= 1 << p
	}
	c.with[p] |= m.with
	for q := range c.with {
		if m.with>>q&1 != 0 {
			c.with[q] |= 1 << p
		}
	}
}

// meet keeps what both know and reports whether c lost something.
func (c *covers) meet(o *covers) (lost bool) {
	full := c.full & o.full
	var with [numMasks]uint64
	for p := range with {
		// A full mask covers every other.
		a, b := c.with[p]|c.full, o.with[p]|o.full
		if c.full>>p&1 != 0 {
			a = ^uint64(0)
		}
		if o.full>>p&1 != 0 {
			b = ^uint64(0)
		}
		with[p] = a & b
		if a != with[p] {
			lost = true
		}
	}
	lost = lost || full != c.full
	c.full, c.with = full, with
	return lost
}

// step moves over one instruction that writes the registers w.
func (c *covers) step(in *Inst, w *RegSet) {
	if w[0] == 0 && w[1] == 0 {
		return
	}
	var pairs uint64
	for r := Reg(0); r < Const0; r += 2 {
		if w.Has(r, 2) {
			pairs |= 1 << (r / 2)
		}
	}
	dst := c.get(in, in.Dst).pair
	if in.Enc != SOP1 && in.Enc != SOP2 {
		c.forget(pairs)
		return
	}
	if isSaveExec(in.Op) {
		e := c.get(in, Operand{Reg: ExecLo, N: 2})
		now, ok := logic(saved(in.Op), c.get(in, in.Src[0]), e)
		c.forget(pairs)
		if ok {
			c.set(execMask, now, pairs)
		}
		if dst == noMask || dst == execMask || isWrExec(in.Op) {
			return
		}
		c.set(dst, e, pairs)
		if ok && now.with>>execMask&1 != 0 { // that is the EXEC which dst holds now
			c.with[dst] |= 1 << execMask
			c.with[execMask] |= 1 << dst
		}
		return
	}
	v, ok := logic(in.Op, c.get(in, in.Src[0]), c.get(in, in.Src[1]))
	c.forget(pairs)
	if ok && dst != noMask {
		c.set(dst, v, pairs)
	}
}

// logic is what is known of the result of a 64-bit scalar operation.
func logic(op Op, a, b mask) (m mask, ok bool) {
	switch op {
	case S_MOV_B64:
		return mask{noMask, a.full, a.with}, true
	case S_OR_B64:
		return maskOr(a, b), true
	case S_AND_B64:
		return maskAnd(a, b), true
	case S_XOR_B64:
		return maskXor(a, b), true
	case S_ANDN2_B64:
		return maskAndNot(a, b), true
	case S_ORN2_B64:
		return maskOrNot(a, b), true
	case S_NOT_B64:
		return maskNot(a), true
	case S_NAND_B64:
		return maskNand(a, b), true
	}
	return mask{pair: noMask}, false
}

// saved is the operation between the source and EXEC of an s_*_saveexec whose
// operands are in that order.
func saved(op Op) Op {
	switch op {
	case S_AND_SAVEEXEC_B64:
		return S_AND_B64
	case S_OR_SAVEEXEC_B64:
		return S_OR_B64
	case S_XOR_SAVEEXEC_B64:
		return S_XOR_B64
	case S_ANDN2_SAVEEXEC_B64:
		return S_ANDN2_B64
	case S_ORN2_SAVEEXEC_B64:
		return S_ORN2_B64
	case S_NAND_SAVEEXEC_B64:
		return S_NAND_B64
	}
	return S_NOP
}

// fullExec tells for every instruction whether EXEC is all ones there, whatever
// the values: by forward data flow from full waves.
func fullExec(k *Kernel) []bool {
	n := len(k.Insts)
	full := make([]bool, n)
	if k.WorkgroupSize()%Lanes != 0 || n == 0 {
		return full
	}
	writes := make([]RegSet, n)
	steady := true
	for i := range k.Insts {
		e := EffectsOf(k.CPU, &k.Insts[i], false)
		writes[i] = e.Writes
		steady = steady && !e.Writes.Has(ExecLo, 2)
	}
	if steady {
		for i := range full {
			full[i] = true
		}
		return full
	}
	at := make([]*covers, n) // nil: not reached
	var work []int
	reach := func(i int, c *covers) {
		switch {
		case i >= n:
		case at[i] == nil:
			at[i] = new(covers)
			*at[i] = *c
			work = append(work, i)
		case at[i].meet(c):
			work = append(work, i)
		}
	}
	reach(k.Entry, &covers{full: 1 << execMask})
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		in, c := &k.Insts[i], *at[i]
		c.step(in, &writes[i])
		if !endsFlow(in.Op) {
			reach(i+1, &c)
		}
		if in.Target >= 0 {
			reach(int(in.Target), &c)
		}
	}
	for i, c := range at {
		full[i] = c != nil && c.full>>execMask&1 != 0
	}
	return full
}
