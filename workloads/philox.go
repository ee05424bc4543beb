package workloads

import "github.com/whisker-sim/whisker/isa"

// Constants of Philox-4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy
// as 1, 2, 3", SC 2011): multipliers, and what the two key words grow by.
const (
	philoxM0 = 0xd2511f53
	philoxM1 = 0xcd9e8d57
	philoxW0 = 0x9e3779b9
	philoxW1 = 0xbb67ae85

	philoxRounds = 10
)

// Philox is one block of Philox-4x32-10: four random words for a counter under
// a key.
func Philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	c, k := counter, key
	for range philoxRounds {
		p, q := uint64(philoxM0)*uint64(c[0]), uint64(philoxM1)*uint64(c[2])
		c = [4]uint32{uint32(q>>32) ^ c[1] ^ k[0], uint32(q), uint32(p>>32) ^ c[3] ^ k[1], uint32(p)}
		k[0] += philoxW0
		k[1] += philoxW1
	}
	return c
}

// philox emits Philox blocks.
type philox struct {
	m      [2]Val               // SGPR: multipliers
	key    [philoxRounds][2]Val // SGPR: the key of each round
	p, q   [2]Val               // VGPR pairs, alternating by round
	c0, c2 Val                  // VGPR
	zero   isa.Operand          // addend of the products
	carry  isa.Operand          // SGPR pair that takes the unused carry
}

// newPhilox emits the round keys from the key in two SGPRs.
func (v *vectorKernel) newPhilox(key0, key1 Val) *philox {
	g := &philox{zero: isa.Operand{Reg: isa.Int(0), N: 2}, carry: v.s.At(2, 2).Operand}
	g.m = [2]Val{v.SGPR(1), v.SGPR(1)}
	m0, m1, w0, w1 := uint32(philoxM0), uint32(philoxM1), uint32(philoxW0), uint32(philoxW1)
	v.SMov(g.m[0], Imm(int(int32(m0))))
	v.SMov(g.m[1], Imm(int(int32(m1))))
	g.key[0] = [2]Val{key0, key1}
	for r := 1; r < philoxRounds; r++ {
		g.key[r] = [2]Val{v.SGPR(1), v.SGPR(1)}
		v.SAdd(g.key[r][0], g.key[r-1][0], Imm(int(int32(w0))))
		v.SAdd(g.key[r][1], g.key[r-1][1], Imm(int(int32(w1))))
	}
	for i := range g.p {
		g.p[i], g.q[i] = v.VGPR(2), v.VGPR(2)
	}
	g.c0, g.c2 = v.VGPR(1), v.VGPR(1)
	return g
}

// block emits the block of counter (word0, 0, thread, 0), with word0 an
// immediate, and returns its four words.
func (g *philox) block(v *vectorKernel, word0 int, thread Val) [4]Val {
	v.VOP1(isa.V_MOV_B32, g.c0, Imm(word0))
	c2 := thread
	var c1, c3 Val // zero until the first round
	for r := range philoxRounds {
		p, q := g.p[r%2], g.q[r%2]
		g.product(v, p, g.c0, g.m[0])
		g.product(v, q, c2, g.m[1])
		if r == 0 {
			v.VXor(g.c0, g.key[r][0], q.At(1, 1))
			v.VXor(g.c2, g.key[r][1], p.At(1, 1))
		} else {
			v.VXor(g.c0, c1, q.At(1, 1))
			v.VXor(g.c2, c3, p.At(1, 1))
			v.VXor(g.c0, g.key[r][0], g.c0)
			v.VXor(g.c2, g.key[r][1], g.c2)
		}
		c1, c2, c3 = q.At(0, 1), g.c2, p.At(0, 1)
	}
	return [4]Val{g.c0, c1, g.c2, c3}
}

// product emits the 64-bit d = x * m.
func (g *philox) product(v *vectorKernel, d, x, m Val) {
	v.Emit(isa.Inst{Op: isa.V_MAD_U64_U32, Enc: isa.VOP3, Dst: d.Operand, SDst: g.carry,
		Src: [4]isa.Operand{x.Operand, m.Operand, g.zero}})
}
