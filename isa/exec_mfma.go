package isa

import (
	"fmt"
	"math"
	"strings"
	"sync"
)

// Matrix instructions: D = C + A*B for every block, by the closed form of the
// register layouts (semantics 5; checked against AMD's matrix calculator).
// EXEC is ignored: all lanes take part.
//
// Arithmetic: f32 and f64 are a chain of fused multiply-adds over k, as on
// CDNA3. Narrower inputs are exact products summed in f64 over groups of
// consecutive k (f16 and bf16 8, fp8 16, xf32 4, scaled formats all of K), one
// rounding to f32 a group. CDNA3's pipe truncates within a group, so the last
// bit or two may differ from the hardware.

// elem is the type of a matrix source.
type elem uint8

const (
	elemF32 elem = iota
	elemF16
	elemBF16
	elemXF32
	elemF64
	elemI8
	elemFP8
	elemBF8
	elemFP6
	elemBF6
	elemFP4
)

var (
	elemBits  = [...]int{32, 16, 16, 32, 64, 8, 8, 8, 6, 6, 4}
	elemGroup = [...]int{1, 8, 8, 4, 1, 1 << 10, 16, 16, 1 << 10, 1 << 10, 1 << 10}
	elemNames = map[string]elem{
		"f32": elemF32, "f16": elemF16, "bf16": elemBF16, "xf32": elemXF32, "f64": elemF64,
		"i8": elemI8, "fp8": elemFP8, "bf8": elemBF8,
	}
)

// f8f6f4Elems are the formats that cbsz and blgp name.
var f8f6f4Elems = [8]elem{elemFP8, elemBF8, elemFP6, elemBF6, elemFP4}

// matrixOp is the shape of a matrix opcode.
type matrixOp struct {
	m, k, blocks int // N equals M in every shape
	a, b         elem
	d            elem // elemF32, elemF64, or elemI8 for i32
	sparse       bool
	f8f6f4       bool
}

// matrixBuf holds decoded operands: a by [block][i][k], b by [block][j][k].
type matrixBuf struct {
	a, b [2048]float64
	c    [32]VReg
}

var matrixBufs = sync.Pool{New: func() any { return new(matrixBuf) }}

func registerMatrix() {
	for op := range numOps {
		name := op.String()
		rest, sparse := strings.CutPrefix(name, "v_smfmac_")
		if !sparse {
			var ok bool
			if rest, ok = strings.CutPrefix(name, "v_mfma_"); !ok {
				continue
			}
			rest = strings.TrimPrefix(rest, "scale_")
		}
		if mo, ok := parseMatrix(rest); ok {
			mo.sparse = sparse
			execTable[op] = mo.exec
		}
	}
}

// parseMatrix reads "f32_16x16x4_4b_f16" and its kin.
func parseMatrix(s string) (*matrixOp, bool) {
	mo := &matrixOp{blocks: 1}
	parts := strings.Split(s, "_")
	if len(parts) < 3 {
		return nil, false
	}
	switch parts[0] {
	case "f64":
		mo.d = elemF64
	case "i32":
		mo.d = elemI8
	}
	var n int
	if c, _ := fmt.Sscanf(parts[1], "%dx%dx%d", &mo.m, &n, &mo.k); c != 3 {
		return nil, false
	}
	parts = parts[2:]
	if c, _ := fmt.Sscanf(parts[0], "%db", &mo.blocks); c == 1 && strings.HasSuffix(parts[0], "b") {
		parts = parts[1:]
	}
	if parts[0] == "f8f6f4" {
		mo.f8f6f4 = true
		return mo, true
	}
	mo.a = elemNames[parts[0]]
	mo.b = elemNames[parts[len(parts)-1]]
	return mo, true
}

func (mo *matrixOp) exec(k *Kernel, in *Inst, s *State) error {
	buf := matrixBufs.Get().(*matrixBuf)
	defer matrixBufs.Put(buf)
	op := *mo
	switch {
	case op.f8f6f4:
		op.a, op.b = f8f6f4Elems[in.CBSZ&7], f8f6f4Elems[in.BLGP&7]
		op.decodeScaled(s, in, 0, op.a, buf.a[:])
		op.decodeScaled(s, in, 1, op.b, buf.b[:])
	case op.sparse:
		op.decodeSparse(s, in, buf.a[:])
		op.decodeDense(s, in, 1, op.b, 0, buf.b[:])
	default:
		op.decodeDense(s, in, 0, op.a, 0, buf.a[:])
		op.decodeDense(s, in, 1, op.b, in.BLGP, buf.b[:])
		if in.CBSZ != 0 && op.blocks > 1 {
			op.broadcastA(buf, in)
		}
	}
	switch op.d {
	case elemF64:
		op.multiplyF64(s, in, buf)
	case elemI8:
		op.multiplyI32(s, in, buf)
	default:
		op.multiplyF32(s, in, buf)
	}
	return nil
}

// cell is the register and lane of D[i][j] of a block, 32-bit results.
func (mo *matrixOp) cell(b, i, j int) (reg, lane int) {
	switch mo.m {
	case 32:
		return 16*b + i/8*4 + i%4, i/4%2*32 + j
	case 16:
		return 4*b + i%4, i/4*16 + j
	}
	return i, 4*b + j
}

// accumulators gives the registers of C and D. When they overlap without being
// equal C is copied, for all of it is read before D is written.
func (mo *matrixOp) accumulators(s *State, in *Inst, buf *matrixBuf, n int) (c, d []VReg) {
	d = s.vregs(in.Dst.Reg, n)
	co := in.Src[2]
	switch {
	case mo.sparse:
		return d, d
	case !co.Reg.IsVector():
		x := s.scalar32(in, co.Reg)
		for i := range n {
			fill(&buf.c[i], x)
		}
		return buf.c[:n], d
	case co.Reg == in.Dst.Reg:
		return d, d
	}
	copy(buf.c[:n], s.vregs(co.Reg, n))
	return buf.c[:n], d
}

func (mo *matrixOp) multiplyF32(s *State, in *Inst, buf *matrixBuf) {
	c, d := mo.accumulators(s, in, buf, mo.m*mo.m*mo.blocks/Lanes)
	k := mo.k
	group := min(elemGroup[mo.a], k)
	if mo.f8f6f4 {
		group = k
	}
	for b := range mo.blocks {
		for i := range mo.m {
			row := (b*mo.m + i) * k
			a := buf.a[row : row+k]
			for j := 0; j < mo.m; j += 4 {
				col := (b*mo.m + j) * k
				cols := buf.b[col : col+4*k]
				reg, lane := mo.cell(b, i, j)
				cc, dd := c[reg][lane:lane+4], d[reg][lane:lane+4]
				if group == 1 {
					for n := range 4 {
						dd[n] = fmaChain(cc[n], a, cols[n*k:(n+1)*k])
					}
					continue
				}
				dotColumns((*[4]uint32)(cc), (*[4]uint32)(dd), a, cols, group)
			}
		}
	}
}

// fmaChain is acc + a[0]*b[0] + a[1]*b[1] + ..., each step fused and rounded.
func fmaChain(acc uint32, a, b []float64) uint32 {
	v := ffrom(acc)
	for k := range a {
		v = float32(fmaOdd(a[k], b[k], float64(v)))
	}
	return matrixNaN(v)
}

// dotColumns does four columns at once: b holds them one after the other.
func dotColumns(c, d *[4]uint32, a, b []float64, group int) {
	k := len(a)
	b0, b1, b2, b3 := b[:k], b[k:2*k], b[2*k:3*k], b[3*k:4*k]
	v0, v1, v2, v3 := ffrom(c[0]), ffrom(c[1]), ffrom(c[2]), ffrom(c[3])
	for g := 0; g < k; g += group {
		ag := a[g : g+group]
		p0, p1, p2, p3 := b0[g:g+group], b1[g:g+group], b2[g:g+group], b3[g:g+group]
		var s0, s1, s2, s3 float64
		if group == 8 {
			x := (*[8]float64)(ag)
			s0, s1 = dot8(x, (*[8]float64)(p0)), dot8(x, (*[8]float64)(p1))
			s2, s3 = dot8(x, (*[8]float64)(p2)), dot8(x, (*[8]float64)(p3))
		} else {
			for n, x := range ag {
				s0 += x * p0[n]
				s1 += x * p1[n]
				s2 += x * p2[n]
				s3 += x * p3[n]
			}
		}
		v0 = float32(float64(v0) + s0)
		v1 = float32(float64(v1) + s1)
		v2 = float32(float64(v2) + s2)
		v3 = float32(float64(v3) + s3)
	}
	d[0], d[1], d[2], d[3] = matrixNaN(v0), matrixNaN(v1), matrixNaN(v2), matrixNaN(v3)
}

// dot8 sums pairwise, which the processor overlaps.
func dot8(a, b *[8]float64) float64 {
	return ((a[0]*b[0] + a[1]*b[1]) + (a[2]*b[2] + a[3]*b[3])) +
		((a[4]*b[4] + a[5]*b[5]) + (a[6]*b[6] + a[7]*b[7]))
}

func matrixNaN(v float32) uint32 {
	if v != v {
		return defaultNaN32
	}
	return fbits(v)
}

func (mo *matrixOp) multiplyI32(s *State, in *Inst, buf *matrixBuf) {
	c, d := mo.accumulators(s, in, buf, mo.m*mo.m*mo.blocks/Lanes)
	k := mo.k
	for b := range mo.blocks {
		for i := range mo.m {
			a := buf.a[(b*mo.m+i)*k:][:k]
			for j := range mo.m {
				col := buf.b[(b*mo.m+j)*k:][:k]
				var sum int64
				for n := range a {
					sum += int64(a[n]) * int64(col[n])
				}
				reg, lane := mo.cell(b, i, j)
				if in.Flags&Clamp != 0 {
					d[reg][lane] = satI(i32(c[reg][lane])+sum, 32)
				} else {
					d[reg][lane] = c[reg][lane] + uint32(sum)
				}
			}
		}
	}
}

// multiplyF64 has its own result layout: register pair i/4 of lane 16*(i%4)+j,
// or for four blocks of 4x4 lane 16*i+4*b+j.
func (mo *matrixOp) multiplyF64(s *State, in *Inst, buf *matrixBuf) {
	c, d := mo.accumulatorsF64(s, in, buf, 2*mo.m*mo.m*mo.blocks/Lanes)
	k := mo.k
	for b := range mo.blocks {
		for i := range mo.m {
			a := buf.a[(b*mo.m+i)*k:][:k]
			for j := range mo.m {
				col := buf.b[(b*mo.m+j)*k:][:k]
				reg, lane := i/4*2, i%4*16+j
				if mo.m == 4 {
					reg, lane = 0, 16*i+4*b+j
				}
				v := dfrom(uint64(c[reg][lane]) | uint64(c[reg+1][lane])<<32)
				if in.BLGP&4 != 0 {
					v = -v
				}
				for n := range a {
					v = math.FMA(a[n], col[n], v)
				}
				u := dbits(v)
				if v != v {
					u = defaultNaN64
				}
				d[reg][lane], d[reg+1][lane] = uint32(u), uint32(u>>32)
			}
		}
	}
}

// accumulatorsF64 differs in an inline constant C, which is an f64.
func (mo *matrixOp) accumulatorsF64(s *State, in *Inst, buf *matrixBuf, n int) (c, d []VReg) {
	if co := in.Src[2]; !co.Reg.IsVector() {
		x := s.scalar64(in, co.Reg)
		for i := 0; i < n; i += 2 {
			fill(&buf.c[i], uint32(x))
			fill(&buf.c[i+1], uint32(x>>32))
		}
		return buf.c[:n], s.vregs(in.Dst.Reg, n)
	}
	return mo.accumulators(s, in, buf, n)
}
