package workloads

import (
	"fmt"
	"slices"

	"github.com/whisker-sim/whisker/isa"
)

// What a compiler does with a kernel of virtual registers that a wave with more
// than 256 of them runs. The rule is LLVM's for results in accumulation
// registers, as clang 22 shows on source of the same data flow (MODEL.md):
//
//  1. C and D of every matrix instruction are accumulation registers, A and B
//     and the operands of everything else VGPRs, 256 of each.
//  2. A result that anything but a matrix instruction's C uses is copied to
//     VGPRs (v_accvgpr_read), all of it, in front of the first such use.
//  3. Where the accumulation registers run out, the value with the furthest next
//     use gives up its place: it is copied to VGPRs, and back in front of the
//     matrix instruction that needs it. Around a loop the next use may lie in
//     the next iteration; at the loop's end every value is moved to where it was
//     at its start.
//  4. Where the VGPRs run out, the value of least spill weight lives in scratch
//     memory: copied ones are stored and loaded as accumulation registers,
//     others are stored behind every write and loaded in front of every use, 16
//     bytes an instruction, with the waits that these need and no more
//     (greedy.go, spillwaits.go).
//  5. Permuting only: where rule 3 moved anything within a loop, every value that
//     the loop carries in accumulation registers leaves them at the loop's end
//     through VGPRs to scratch, and comes back from there. LLVM gives each piece
//     of a value that it split registers of its own, and where the file is full
//     no register is free to exchange them through. Here a value comes back to
//     the registers that it left, which costs the same.

// Registers of each kind.
const fileRegs = 256

// maxSpills bounds rule 4's rounds for kernels that no amount of spilling fits.
const maxSpills = 64

// compile applies the rule to the code, of which [loopStart, loopEnd) is the
// loop, its branch last. at maps old instruction indices to new ones.
func (b *Builder) compile(loopStart, loopEnd int, model string) (at []int, err error) {
	b.EndCluster()
	total := make([]int, len(b.insts)+1)
	for i := range total {
		total[i] = i
	}
	then := func(next []int) {
		for i := range total {
			total[i] = next[total[i]]
		}
	}
	nb, at, err := b.copyResults()
	if err != nil {
		return nil, err
	}
	then(at)
	f := newAccFile(nb, at[loopStart], at[loopEnd])
	f.permutes = model == Permuting
	nb, at = f.run()
	if f.err != nil {
		return nil, f.err
	}
	then(at)
	kept := map[int]bool{} // what spilling made
	for range maxSpills {
		g := &greedy{budget: fileRegs, free: nb.nextV}
		all := nb.liveRanges(total[loopStart], total[loopEnd], kept)
		g.place(all)
		if len(g.spills) == 0 {
			then(nb.settle(all))
			*b = *nb
			return total, nil
		}
		for _, v := range g.spills {
			if kept[v.index] {
				return nil, fmt.Errorf("workloads: the kernel does not fit %d VGPRs: one instruction's operands find no room", fileRegs)
			}
			had := len(nb.tuples)
			nb, at = nb.toScratch(v.tuple)
			for i := had; i < len(nb.tuples); i++ {
				kept[i] = true
			}
			then(at)
		}
	}
	return nil, fmt.Errorf("workloads: the kernel does not fit %d VGPRs after %d rounds of spilling", fileRegs, maxSpills)
}

// tupleIndex gives the tuple of each virtual register.
func (b *Builder) tupleIndex() []int {
	var of []int
	for i, t := range b.tuples {
		for range t.n {
			of = append(of, i)
		}
	}
	return of
}

func (t tuple) val() Val { return reg(t.first, t.n) }

// isVirtual reports a present virtual operand.
func isVirtual(o isa.Operand) bool { return o.Present() && o.Reg >= virtual0 }

// isMatrix reports matrix instructions.
func (b *Builder) isMatrix(in *isa.Inst) bool { return isa.Classify(b.cpu, in).Unit == isa.UnitMFMA }

// results marks the tuples that matrix instructions write.
func (b *Builder) results() []bool {
	of, acc := b.tupleIndex(), make([]bool, len(b.tuples))
	for i := range b.insts {
		if in := &b.insts[i]; b.isMatrix(in) && isVirtual(in.Dst) {
			acc[of[in.Dst.Reg-virtual0]] = true
		}
	}
	return acc
}

// copyResults is rule 2.
func (b *Builder) copyResults() (*Builder, []int, error) {
	of, acc := b.tupleIndex(), b.results()
	moved := map[int]Val{}
	var err error
	nb, at := b.replay(false, func(nb *Builder, i int, in isa.Inst) {
		matrix := b.isMatrix(&in)
		if in.Op == isa.V_MOV_B32 && isVirtual(in.Dst) && acc[of[in.Dst.Reg-virtual0]] {
			in.Op, in.Enc = isa.V_ACCVGPR_WRITE_B32, isa.MAI
		}
		if matrix && in.Src[2] != in.Dst { // a new result
			delete(moved, of[in.Dst.Reg-virtual0])
		}
		fix := func(o *isa.Operand) {
			if !isVirtual(*o) || !acc[of[o.Reg-virtual0]] {
				return
			}
			t := of[o.Reg-virtual0]
			v, ok := moved[t]
			if !ok {
				v = nb.newVirtual(b.tuples[t].n)
				moved[t] = v
				for k := range b.tuples[t].n {
					nb.AccRead(v.At(k, 1), b.tuples[t].val().At(k, 1))
				}
			}
			o.Reg = v.Reg + o.Reg - b.tuples[t].first
		}
		for k := range in.Src {
			if in.Op == isa.V_ACCVGPR_READ_B32 {
				continue
			}
			if !matrix || k != 2 {
				fix(&in.Src[k])
			} else if isVirtual(in.Src[k]) {
				if _, ok := moved[of[in.Src[k].Reg-virtual0]]; ok {
					err = fmt.Errorf("workloads: instruction %d accumulates on a result that was used before", i)
				}
			}
		}
		if !matrix && in.Op != isa.V_ACCVGPR_WRITE_B32 {
			fix(&in.Dst)
		}
		nb.again(b, i, in)
	})
	return nb, at, err
}

// accFile is rule 3: it walks over the code and keeps what is where.
type accFile struct {
	b                  *Builder
	loopStart, loopEnd int
	of                 []int
	acc                []bool
	uses               [][]int // instructions that use a tuple, ascending
	reg                []int   // first register of a tuple, -1: not in one
	slot               []int   // tuple that holds the copy, -1: none
	owner              [fileRegs]int
	top                int
	atStart            *accFile // the state at the loop's start
	alias              map[int]int
	evicted            bool // something was, within the loop
	permutes           bool // rule 5
	err                error
}

func newAccFile(b *Builder, loopStart, loopEnd int) *accFile {
	f := &accFile{b: b, loopStart: loopStart, loopEnd: loopEnd, of: b.tupleIndex(), acc: b.results(), alias: map[int]int{}}
	n := len(b.tuples)
	f.uses, f.reg, f.slot = make([][]int, n), make([]int, n), make([]int, n)
	for i := range n {
		f.reg[i], f.slot[i] = -1, -1
	}
	for i := range f.owner {
		f.owner[i] = -1
	}
	for i := range b.insts {
		for _, t := range f.of4(&b.insts[i]) {
			if u := f.uses[t]; len(u) == 0 || u[len(u)-1] != i {
				f.uses[t] = append(u, i)
			}
		}
	}
	return f
}

// of4 lists the accumulator tuples of an instruction.
func (f *accFile) of4(in *isa.Inst) (out []int) {
	for _, o := range append([]isa.Operand{in.Dst}, in.Src[:]...) {
		if isVirtual(o) && int(o.Reg-virtual0) < len(f.of) && f.acc[f.of[o.Reg-virtual0]] {
			out = append(out, f.of[o.Reg-virtual0])
		}
	}
	return out
}

// never is later than any instruction.
const never = 1 << 30

// next is how far ahead of instruction i the next use of t lies, around the loop
// where i is in it.
func (f *accFile) next(t, i int) int {
	d := never
	for _, u := range f.uses[t] {
		switch {
		case u > i:
			d = min(d, u-i)
		case i >= f.loopStart && i < f.loopEnd && u >= f.loopStart && u < f.loopEnd:
			// After the branch the loop starts again. A result that is made anew in
			// each iteration is not needed around it.
			if f.b.liveAround(f, t) {
				d = min(d, f.loopEnd-i+u-f.loopStart)
			}
		}
	}
	return d
}

// liveAround reports whether t's value passes the loop's back edge: its first
// use in the loop reads it.
func (b *Builder) liveAround(f *accFile, t int) bool {
	for _, u := range f.uses[t] {
		if u < f.loopStart || u >= f.loopEnd {
			continue
		}
		for _, o := range b.insts[u].Src {
			if isVirtual(o) && f.of[o.Reg-virtual0] == t {
				return true
			}
		}
		return false
	}
	return false
}

// run walks over the code.
func (f *accFile) run() (*Builder, []int) {
	b := f.b
	nb, at := b.replay(false, func(nb *Builder, i int, in isa.Inst) {
		if i == f.loopStart {
			c := *f
			c.reg, c.slot = slices.Clone(f.reg), slices.Clone(f.slot)
			f.atStart = &c
		}
		if i == f.loopEnd-1 {
			f.rejoin(nb, i)
		}
		for _, t := range f.of4(&in) {
			f.ensure(nb, t, i)
		}
		matrix := b.isMatrix(&in)
		for _, o := range []*isa.Operand{&in.Dst, &in.Src[0], &in.Src[1], &in.Src[2], &in.Src[3]} {
			if isVirtual(*o) && int(o.Reg-virtual0) < len(f.of) && f.acc[f.of[o.Reg-virtual0]] {
				t := f.of[o.Reg-virtual0]
				o.Reg = isa.A(f.reg[t]) + o.Reg - b.tuples[t].first
			}
		}
		if matrix {
			in.Flags |= isa.AccCD
		}
		nb.again(b, i, in)
		for t := range f.reg {
			if f.reg[t] >= 0 && f.next(t, i) == never {
				f.leave(t)
			}
		}
	})
	nb.nextA = f.top
	for i := range nb.insts { // one place for what stays out around the loop
		in := &nb.insts[i]
		f.rename(nb, &in.Dst)
		for k := range in.Src {
			f.rename(nb, &in.Src[k])
		}
	}
	return nb, at
}

func (f *accFile) rename(nb *Builder, o *isa.Operand) {
	if !isVirtual(*o) {
		return
	}
	for from, to := range f.alias {
		if t := nb.tuples[from]; o.Reg >= t.first && o.Reg < t.first+isa.Reg(t.n) {
			o.Reg = nb.tuples[to].first + o.Reg - t.first
			return
		}
	}
}

// leave takes t out of its registers.
func (f *accFile) leave(t int) {
	for k := range f.b.tuples[t].n {
		f.owner[f.reg[t]+k] = -1
	}
	f.reg[t] = -1
}

// enter gives t the registers from r on.
func (f *accFile) enter(t, r int) {
	for k := range f.b.tuples[t].n {
		f.owner[r+k] = t
	}
	f.reg[t] = r
	f.top = max(f.top, r+f.b.tuples[t].n)
}

// ensure gives t registers in front of instruction i, at the cost of what is
// needed last.
func (f *accFile) ensure(nb *Builder, t, i int) {
	if f.reg[t] >= 0 {
		return
	}
	n := f.b.tuples[t].n
	r := f.find(n)
	for ; r < 0; r = f.find(n) {
		victim, far := -1, -1
		for v := range f.reg {
			if f.reg[v] < 0 || slices.Contains(f.of4(&f.b.insts[i]), v) {
				continue
			}
			if d := f.next(v, i); d > far {
				victim, far = v, d
			}
		}
		if victim < 0 {
			f.err = fmt.Errorf("workloads: instruction %d needs more than %d accumulation registers", i, fileRegs)
			f.enter(t, 0)
			return
		}
		f.evict(nb, victim)
	}
	f.enter(t, r)
	if f.slot[t] >= 0 {
		f.restore(nb, t)
	}
}

// find is the first run of n free registers, aligned as far as four.
func (f *accFile) find(n int) int {
	for r := 0; r+n <= fileRegs; r += min(n, 4) {
		free := true
		for k := r; k < r+n && free; k++ {
			free = f.owner[k] < 0
		}
		if free {
			return r
		}
	}
	return -1
}

// evict copies v to VGPRs.
func (f *accFile) evict(nb *Builder, v int) {
	n := f.b.tuples[v].n
	d := nb.newVirtual(n)
	f.slot[v] = len(nb.tuples) - 1
	for k := range n {
		nb.AccRead(d.At(k, 1), reg(isa.A(f.reg[v]+k), 1))
	}
	f.evicted = f.evicted || f.atStart != nil
	f.leave(v)
}

// restore copies t back.
func (f *accFile) restore(nb *Builder, t int) {
	s := nb.tuples[f.slot[t]].val()
	for k := range f.b.tuples[t].n {
		nb.AccWrite(reg(isa.A(f.reg[t]+k), 1), s.At(k, 1))
	}
	f.slot[t] = -1
}

// rejoin moves every value to where it is at the loop's start.
func (f *accFile) rejoin(nb *Builder, i int) {
	want := f.atStart
	for t := range want.reg { // out first, to make room
		if want.slot[t] < 0 || want.reg[t] >= 0 {
			continue
		}
		if f.reg[t] >= 0 {
			f.evict(nb, t)
		}
		if f.slot[t] >= 0 && f.slot[t] != want.slot[t] {
			f.alias[f.slot[t]] = want.slot[t]
		}
		f.slot[t] = want.slot[t]
	}
	for t := range want.reg {
		r := want.reg[t]
		if r < 0 || f.reg[t] == r || f.reg[t] < 0 && f.slot[t] < 0 {
			continue
		}
		n := f.b.tuples[t].n
		for k := range n {
			if o := f.owner[r+k]; o >= 0 && o != t {
				f.evict(nb, o)
			}
		}
		if from := f.reg[t]; from >= 0 {
			f.leave(t)
			f.enter(t, r)
			for k := range n {
				nb.Emit(isa.Inst{Op: isa.V_ACCVGPR_MOV_B32, Enc: isa.VOP1, Dst: reg(isa.A(r+k), 1).Operand, Src: [4]isa.Operand{reg(isa.A(from+k), 1).Operand}})
			}
			continue
		}
		f.enter(t, r)
		f.restore(nb, t)
	}
	if f.permutes && f.evicted {
		f.permute(nb)
	}
}

// permute is rule 5.
func (f *accFile) permute(nb *Builder) {
	var ts []int
	for t, r := range f.atStart.reg {
		if r >= 0 && f.reg[t] == r && f.b.liveAround(f, t) {
			ts = append(ts, t)
		}
	}
	if len(ts) < 2 {
		return
	}
	home := make([]int, len(ts))
	for i, t := range ts {
		v := nb.newVirtual(f.b.tuples[t].n)
		for k := range int(v.N) {
			nb.AccRead(v.At(k, 1), reg(isa.A(f.reg[t]+k), 1))
		}
		home[i] = nb.scratch
		nb.scratch += roundUp(4*int(v.N), 16)
		nb.scratchParts(v, home[i], true)
	}
	for i, t := range ts {
		nb.scratchParts(reg(isa.A(f.reg[t]), f.b.tuples[t].n), home[i], false)
	}
}

func touches(o isa.Operand, t tuple) bool {
	return isVirtual(o) && o.Reg < t.first+isa.Reg(t.n) && o.Reg+isa.Reg(o.N) > t.first
}

// toScratch moves a tuple to private memory.
func (b *Builder) toScratch(t tuple) (*Builder, []int) {
	home := b.scratch
	b.scratch += (4*t.n + 15) &^ 15
	return b.replay(false, func(nb *Builder, i int, in isa.Inst) {
		k := int(in.Dst.Reg - t.first)
		switch {
		case in.Op == isa.V_ACCVGPR_READ_B32 && touches(in.Dst, t):
			if k%4 == 0 {
				nb.scratchOp(reg(in.Src[0].Reg, min(4, t.n-k)), home+4*k, true)
			}
			return
		case in.Op == isa.V_ACCVGPR_WRITE_B32 && touches(in.Src[0], t):
			k = int(in.Src[0].Reg - t.first)
			if k%4 == 0 {
				nb.scratchOp(reg(in.Dst.Reg, min(4, t.n-k)), home+4*k, false)
			}
			return
		}
		reads := slices.ContainsFunc(in.Src[:], func(o isa.Operand) bool { return touches(o, t) })
		writes := touches(in.Dst, t)
		if !reads && !writes {
			nb.again(b, i, in)
			return
		}
		// A part is kept in a value of its own for this one instruction.
		lo, hi := span(&in, t)
		v := nb.newVirtual(hi - lo)
		move := func(o *isa.Operand) {
			if touches(*o, t) {
				o.Reg = v.Reg + o.Reg - t.first - isa.Reg(lo)
			}
		}
		if reads || isa.ReadsDst(&in) {
			nb.scratchParts(v, home+4*lo, false)
		}
		move(&in.Dst)
		for k := range in.Src {
			move(&in.Src[k])
		}
		nb.again(b, i, in)
		if writes || swaps(in.Op) {
			nb.scratchParts(v, home+4*lo, true)
		}
	})
}

// span is the part of t that an instruction names.
func span(in *isa.Inst, t tuple) (lo, hi int) {
	lo = t.n
	for _, o := range append([]isa.Operand{in.Dst}, in.Src[:]...) {
		if touches(o, t) {
			lo = min(lo, int(o.Reg-t.first))
			hi = max(hi, int(o.Reg-t.first)+int(o.N))
		}
	}
	return lo, hi
}

// scratchParts stores or loads v in pieces of 16 bytes and less.
func (b *Builder) scratchParts(v Val, at int, store bool) {
	for k := 0; k < int(v.N); {
		n := min(4, int(v.N)-k)
		b.scratchOp(v.At(k, n), at+4*k, store)
		k += n
	}
}

// scratchOp stores or loads up to four registers at a byte offset of the lane's
// private memory.
func (b *Builder) scratchOp(v Val, at int, store bool) {
	ops := [][2]isa.Op{{isa.SCRATCH_LOAD_DWORD, isa.SCRATCH_STORE_DWORD}, {isa.SCRATCH_LOAD_DWORDX2, isa.SCRATCH_STORE_DWORDX2},
		{isa.SCRATCH_LOAD_DWORDX3, isa.SCRATCH_STORE_DWORDX3}, {isa.SCRATCH_LOAD_DWORDX4, isa.SCRATCH_STORE_DWORDX4}}[v.N-1]
	in := isa.Inst{Op: ops[0], Enc: isa.FLAT, Flags: isa.SegScratch, Offset: int32(at), Dst: v.Operand}
	if store {
		in.Op, in.Dst, in.Src[3] = ops[1], isa.Operand{}, v.Operand
	}
	b.Emit(in)
}

// fitsCompiler reports whether a compiler could have chosen a kernel's
// registers: accumulation registers are only C and D of matrix instructions and
// sides of copies.
func fitsCompiler(k *isa.Kernel) bool {
	for i := range k.Insts {
		in := &k.Insts[i]
		if in.Flags&isa.SegScratch != 0 {
			continue // spilled from either file
		}
		matrix := isa.Classify(k.CPU, in).Unit == isa.UnitMFMA
		for s, o := range in.Src {
			if o.Present() && o.Reg.IsAGPR() && !(matrix && s == 2) && in.Op != isa.V_ACCVGPR_READ_B32 && in.Op != isa.V_ACCVGPR_MOV_B32 {
				return false
			}
		}
		if o := in.Dst; o.Present() && o.Reg.IsAGPR() && !matrix && in.Op != isa.V_ACCVGPR_WRITE_B32 && in.Op != isa.V_ACCVGPR_MOV_B32 {
			return false
		}
	}
	return true
}

// compilerRegisters gives a kernel the registers that a compiler would, if its
// own are not such, and reports whether it did.
func compilerRegisters(bt *Built, model string) (bool, error) {
	k := bt.Launch.Kernel
	if fitsCompiler(k) {
		return false, nil
	}
	b := lifted(k, bt.Clusters)
	at, err := b.compile(bt.LoopStart, bt.LoopEnd, model)
	if err != nil {
		return false, fmt.Errorf("%s: %w", k.Name, err)
	}
	if k.Insts, err = b.Finish(); err != nil {
		return false, fmt.Errorf("%s: %w", k.Name, err)
	}
	k.Name += "_" + model
	k.VGPRs, k.AGPRs, k.SGPRs, k.ScratchBytes = b.nextV, b.nextA, b.nextS, b.scratch
	bt.Clusters, bt.LoopStart, bt.LoopEnd = b.clusters, at[bt.LoopStart], at[bt.LoopEnd]
	return true, nil
}
