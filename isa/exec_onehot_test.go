package isa

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// matrixVariant is a layout row with the formats, and the scales or the index
// offset, that it is run with.
type matrixVariant struct {
	*matrixCase
	sparse *sparseLayout
	scaled bool
}

// sparseLayout is where a sparse A keeps its groups of four.
type sparseLayout struct {
	width int
	group []int // by [i*K+k]
	lane  []int
}

// matrixVariants are all rows: the f8f6f4 ones, with scales and without, with all
// 25 pairs of formats.
func matrixVariants(t *testing.T) []*matrixVariant {
	var v []*matrixVariant
	for _, row := range layoutRows(t) {
		f8f6f4 := strings.Contains(row["mnemonic"], "f8f6f4")
		scaled := strings.Contains(row["mnemonic"], "_scale_")
		pairs := 1
		if f8f6f4 {
			pairs = 25
		}
		for p := range pairs {
			a, b := uint8(p/5), uint8(p%5)
			m := newMatrixCase(t, row, f8f6f4Elems[a], f8f6f4Elems[b])
			x := &matrixVariant{matrixCase: m, scaled: scaled}
			if f8f6f4 {
				m.in.CBSZ, m.in.BLGP = a, b
			}
			if scaled {
				m.scales()
			}
			x.readSparse()
			v = append(v, x)
		}
	}
	return v
}

func (x *matrixVariant) readSparse() {
	re := sparseRE.FindStringSubmatch(x.row["A_formula"])
	if re == nil {
		return
	}
	x.in.Src[2] = Operand{Reg: V(regIdx), N: 1}
	x.sparse = &sparseLayout{}
	x.sparse.width, _ = strconv.Atoi(re[3])
	for i := range x.mo.m {
		for k := range x.mo.k {
			f := &formula{vars: map[byte]int{'i': i, 'k': k}}
			x.sparse.group = append(x.sparse.group, f.eval(re[1]))
			x.sparse.lane = append(x.sparse.lane, f.eval(re[2]))
		}
	}
}

// setA and setB store one element's code.
func (x *matrixVariant) setA(blk, i, k int, code uint64) {
	mo := x.mo
	w := elemBits[mo.a]
	if sp := x.sparse; sp != nil {
		// Position 3 is the second stored element's, the others the first one's.
		g, lane := sp.group[i*mo.k+k], sp.lane[i*mo.k+k]
		p := k % 4 / 3
		poke(x.s.VGPR[regA:], lane, (2*g+p)*w, w, code)
		poke(x.s.VGPR[regIdx:], lane, 4*g+2*p, 2, uint64(k%4))
		if p == 0 {
			poke(x.s.VGPR[regIdx:], lane, 4*g+2, 2, 3)
		}
		return
	}
	at := x.slots(x.row["A_formula"], mo.k, w, 'i', 'k')[(blk*mo.m+i)*mo.k+k]
	poke(x.s.VGPR[regA:], at.lane, at.bit, w, code)
}

func (x *matrixVariant) setB(blk, j, k int, code uint64) {
	mo := x.mo
	at := x.slots(x.row["B_formula"], mo.k, elemBits[mo.b], 'j', 'k')[(blk*mo.m+j)*mo.k+k]
	poke(x.s.VGPR[regB:], at.lane, at.bit, elemBits[mo.b], code)
}

// ones is D: how many of its elements are not zero, and D[i][j] of a block.
func (x *matrixVariant) ones(blk, i, j int) (n int, v float64) {
	wide := 1
	if x.mo.d == elemF64 {
		wide = 2
	}
	for r := 0; r < int(x.in.Dst.N); r += wide {
		for l := range Lanes {
			if x.s.VGPR[regC+r][l]|x.s.VGPR[regC+r+wide-1][l] != 0 {
				n++
			}
		}
	}
	return n, x.result(blk, i, j)
}

func (x *matrixVariant) clearD() {
	clear(x.s.VGPR[regC : regC+int(x.in.Dst.N)])
}

// scale is what the scales of scales() multiply A[i][k]*B[k][j] with.
func (x *matrixVariant) scale(i, j, k int) float64 {
	if !x.scaled {
		return 1
	}
	t := x.mo.m * (k / 32)
	return math.Ldexp(1, (i+t)%3-(j+t)%2)
}

// One-hot A and B for every matrix opcode: each element of A meets an element of
// B of the same k, which gives D a single one, and elements of another k or
// another block, which leave D zero. Each element of B has its turn too, for j
// runs with i. Of an f8f6f4 opcode's pairs of formats, those that are not equal
// take every third element, and with -short all take an eighth of them.
func TestMatrixOneHot(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 7))
	opcodes := map[Op]bool{}
	for _, x := range matrixVariants(t) {
		opcodes[x.op] = true
		shift, bad := rng.IntN(x.mo.m), 0
		x.each(x.mo.k, func(blk, i, k int) {
			if testing.Short() && (i+3*k)%8 != 0 || x.mo.f8f6f4 && x.in.CBSZ != x.in.BLGP && (i+k)%3 != 0 {
				return
			}
			if bad < 3 && !x.oneHot(t, blk, i, (i+shift)%x.mo.m, k) {
				bad++
			}
		})
	}
	for op := range numOps {
		name := op.String()
		if (strings.HasPrefix(name, "v_mfma_") || strings.HasPrefix(name, "v_smfmac_")) && HasSemantics(op) && op != V_MFMA_LD_SCALE_B32 && !opcodes[op] {
			t.Errorf("%s has no layout row", name)
		}
	}
}

func (x *matrixVariant) oneHot(t *testing.T, blk, i, j, k int) bool {
	t.Helper()
	mo := x.mo
	a, b := codeOf(x.cpu, mo.a, 1), codeOf(x.cpu, mo.b, 1)
	run := func(blkB, kB, count int, value float64) bool {
		x.clearD()
		x.setB(blkB, j, kB, b)
		if err := Exec(x.k, &x.in, x.s); err != nil {
			t.Error(err)
			return false
		}
		x.setB(blkB, j, kB, 0)
		n, v := x.ones(blk, i, j)
		if n != count || v != value {
			t.Errorf("%v %v %v*%v: A[%d][%d] of block %d and B[%d][%d] of block %d are 1: D has %d elements, D[%d][%d] is %g, want %d, %g",
				x.cpu, x.op, mo.a, mo.b, i, k, blk, kB, j, blkB, n, i, j, v, count, value)
			return false
		}
		return true
	}
	x.setA(blk, i, k, a)
	ok := run(blk, k, 1, x.scale(i, j, k))
	if (i+k)%7 == 0 {
		if mo.k > 1 {
			ok = ok && run(blk, (k+1+i)%mo.k, bitInt((1+i)%mo.k == 0), x.scale(i, j, k)*float64(bitInt((1+i)%mo.k == 0)))
		}
		if mo.blocks > 1 {
			ok = ok && run((blk+1)%mo.blocks, k, 0, 0)
		}
	}
	x.setA(blk, i, k, 0)
	return ok
}

func bitInt(b bool) int { return int(bit32(b)) }

// randomElem is a code of a source type and its value: normal numbers of
// moderate exponent, and for small formats every finite code.
func randomElem(r *rand.Rand, cpu CPU, t elem) (uint64, float64) {
	f := ffrom(r.Uint32()&0x807fffff | uint32(117+r.IntN(20))<<23)
	switch t {
	case elemF32:
		return uint64(fbits(f)), float64(f)
	case elemXF32:
		b := fbits(f)
		return uint64(b), float64(ffrom(b &^ 0x1fff))
	case elemF64:
		v := math.Ldexp(r.Float64()-0.5, r.IntN(20)-10)
		return dbits(v), v
	case elemF16:
		h := f32ToF16(f)
		return uint64(h), float64(f16ToF32(h))
	case elemBF16:
		b := fbits(f) >> 16
		return uint64(b), float64(bf16ToF32(uint16(b)))
	case elemI8:
		b := r.Uint32() & 0xff
		return uint64(b), float64(int8(b))
	}
	s := smallElem(cpu, t)
	for {
		c := r.Uint32() & (1<<s.width() - 1)
		if v := float64(s.decode[c]); v == v && !math.IsInf(v, 0) {
			return uint64(c), v
		}
	}
}

// Random numbers for every matrix opcode against a product in float64, to the
// rounding of the result: K roundings of the sum of magnitudes. Integers are
// exact.
func TestMatrixAgainstFloat64(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, x := range matrixVariants(t) {
		mo := x.mo
		n := mo.m * mo.blocks * mo.k
		a, b := make([]float64, n), make([]float64, n)
		x.each(mo.k, func(blk, i, k int) {
			at := (blk*mo.m+i)*mo.k + k
			var code uint64
			code, b[at] = randomElem(rng, x.cpu, mo.b)
			x.setB(blk, i, k, code)
			if x.sparse != nil && k%4 != (i+k/4)%3 && k%4 != 3 {
				return // one of the first three of four, and the last
			}
			code, a[at] = randomElem(rng, x.cpu, mo.a)
			x.setA(blk, i, k, code)
		})
		x.clearD()
		if err := Exec(x.k, &x.in, x.s); err != nil {
			t.Fatal(err)
		}
		eps := map[elem]float64{elemF64: 0x1p-52, elemI8: 0}[mo.d]
		if mo.d == elemF32 {
			eps = 0x1p-23
		}
		bad := 0
		x.each(mo.m, func(blk, i, j int) {
			var want, size float64
			for k := range mo.k {
				p := a[(blk*mo.m+i)*mo.k+k] * b[(blk*mo.m+j)*mo.k+k] * x.scale(i, j, k)
				want += p
				size += math.Abs(p)
			}
			got := x.result(blk, i, j)
			if !(math.Abs(got-want) <= eps*float64(mo.k)*size) && bad < 3 {
				bad++
				t.Errorf("%v %v: D[%d][%d] of block %d is %g, want %g", x.cpu, x.op, i, j, blk, got, want)
			}
		})
	}
}
