package isa

import (
	"encoding/csv"
	"fmt"
	"math/rand"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// testdata/mfma_layouts.csv says where every matrix opcode keeps A[i][k],
// B[k][j] and C/D[i][j], in formulas that AMD's matrix calculator was compared
// with. The tests evaluate the formulas as they stand.

// formula evaluates integer expressions of + * / % floor() and variables.
type formula struct {
	s    string
	vars map[byte]int
}

func (f *formula) eval(s string) int {
	f.s = strings.ReplaceAll(s, " ", "")
	v := f.sum()
	if f.s != "" {
		panic("trailing " + f.s)
	}
	return v
}

func (f *formula) take(c byte) bool {
	if f.s != "" && f.s[0] == c {
		f.s = f.s[1:]
		return true
	}
	return false
}

func (f *formula) sum() int {
	v := f.product()
	for f.take('+') {
		v += f.product()
	}
	return v
}

func (f *formula) product() int {
	v := f.atom()
	for {
		switch {
		case f.take('*'):
			v *= f.atom()
		case f.take('/'):
			v /= f.atom() // only under floor, of non-negative numbers
		case f.take('%'):
			v %= f.atom()
		default:
			return v
		}
	}
}

func (f *formula) atom() int {
	f.s = strings.TrimPrefix(f.s, "floor")
	if f.take('(') {
		v := f.sum()
		f.take(')')
		return v
	}
	n := 0
	for n < len(f.s) && f.s[n] >= '0' && f.s[n] <= '9' {
		n++
	}
	if n > 0 {
		v, _ := strconv.Atoi(f.s[:n])
		f.s = f.s[n:]
		return v
	}
	v, ok := f.vars[f.s[0]]
	if !ok {
		panic("unknown variable in " + f.s)
	}
	f.s = f.s[1:]
	return v
}

var (
	laneRE = regexp.MustCompile(`lane=([^;,]+?)(?:;|,| in |$)`)
	elemRE = regexp.MustCompile(`elem e=([^:]+):`)
	bitsRE = regexp.MustCompile(`bits \[(.+?) ?\+: ?(\d+)\]`)
	regRE  = regexp.MustCompile(`v\[?([^\]:]+(?:\([^)]*\))?[^\]:]*?)\]? bits|v\[([^\]]+)\]|v(\d+)`)
)

// slotOf evaluates where an element lives: lane and bit position in the
// operand's registers.
func slotOf(text string, vars map[byte]int) (lane, bit int) {
	f := &formula{vars: vars}
	lane = f.eval(laneRE.FindStringSubmatch(text)[1])
	if m := elemRE.FindStringSubmatch(text); m != nil {
		vars['e'] = f.eval(m[1])
	}
	if m := bitsRE.FindStringSubmatch(text); m != nil && strings.Contains(text, "elem") {
		reg := regRE.FindStringSubmatch(text)
		return lane, 32*f.eval(reg[1]) + f.eval(m[1])
	}
	m := regRE.FindStringSubmatch(text)
	reg := m[2] + m[3]
	if _, lo, ok := strings.Cut(reg, ":"); ok { // v[hi:lo]
		reg = lo
	}
	return lane, 32 * f.eval(reg)
}

// f8f6f4Part picks the section of an f8f6f4 formula for a format and returns
// slotOf its element.
func f8f6f4Slot(text string, w int, vars map[byte]int) (lane, bit int) {
	parts := strings.Split(text, "; ")
	part := parts[map[int]int{8: 0, 6: 1, 4: 2}[w]]
	f := &formula{vars: vars}
	lane = f.eval(laneRE.FindStringSubmatch(part)[1])
	if w == 8 {
		m := regexp.MustCompile(`byte e=(.+) of`).FindStringSubmatch(part)
		return lane, 8 * f.eval(m[1])
	}
	return lane, f.eval(bitsRE.FindStringSubmatch(part)[1])
}

// codeOf is the bits of a small integer in an element type.
func codeOf(cpu CPU, t elem, v int) uint64 {
	switch t {
	case elemF32, elemXF32:
		return uint64(fbits(float32(v)))
	case elemF64:
		return dbits(float64(v))
	case elemF16:
		return uint64(f32ToF16(float32(v)))
	case elemBF16:
		return uint64(f32ToBF16(fbits(float32(v))))
	case elemI8:
		return uint64(uint8(int8(v)))
	}
	return uint64(smallElem(cpu, t).encode(float64(v), false, false))
}

// poke writes w bits at a bit position of a lane's registers.
func poke(regs []VReg, lane, bit, w int, v uint64) {
	for i := range w {
		r := &regs[(bit+i)/32][lane]
		*r = *r&^(1<<((bit+i)%32)) | uint32(v>>i&1)<<((bit+i)%32)
	}
}

func peek(regs []VReg, lane, bit, w int) uint64 {
	v := uint64(regs[bit/32][lane])
	if w == 64 {
		v |= uint64(regs[bit/32+1][lane]) << 32
	}
	return v
}

// matrixCase is one layout row being run.
type matrixCase struct {
	row     map[string]string
	cpu     CPU
	op      Op
	mo      *matrixOp
	in      Inst
	s       *State
	k       *Kernel
	r       *rand.Rand
	a, b, c [][]int // [block*M+i][k], [block*M+j][k], [block*M+i][j]
}

// Registers of the test: A, B, C and D, index, scales.
const (
	regA, regB, regC, regIdx, regScaleA, regScaleB = 0, 16, 32, 80, 81, 82
)

func newMatrixCase(t *testing.T, row map[string]string, a, b elem) *matrixCase {
	t.Helper()
	m := &matrixCase{row: row, r: rand.New(rand.NewSource(3))}
	if row["cpu"] == "gfx950" {
		m.cpu = GFX950
	}
	for op := range numOps {
		if op.String() == row["mnemonic"] {
			m.op = op
		}
	}
	rest := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(row["mnemonic"], "v_mfma_"), "v_smfmac_"), "scale_")
	var ok bool
	if m.mo, ok = parseMatrix(rest); !ok || m.op == OpInvalid {
		t.Fatalf("%s does not parse", row["mnemonic"])
	}
	if m.mo.f8f6f4 {
		m.mo.a, m.mo.b = a, b
	}
	m.k, m.s = newTestState(m.cpu)
	wide := 1
	if m.mo.d == elemF64 {
		wide = 2
	}
	d := Operand{Reg: V(regC), N: uint8(wide * m.mo.m * m.mo.m * m.mo.blocks / 64)}
	m.in = Inst{Op: m.op, Enc: MAI, Dst: d, Src: [4]Operand{{Reg: V(regA), N: 1}, {Reg: V(regB), N: 1}, d}}
	m.fill()
	return m
}

func (m *matrixCase) fill() {
	random := func(n, w int) [][]int {
		v := make([][]int, n)
		for i := range v {
			v[i] = make([]int, w)
			for j := range v[i] {
				v[i][j] = m.r.Intn(5) - 2
			}
		}
		return v
	}
	n := m.mo.m * m.mo.blocks
	m.a, m.b, m.c = random(n, m.mo.k), random(n, m.mo.k), random(n, m.mo.m)
}

func (m *matrixCase) each(cols int, f func(blk, i, x int)) {
	for blk := range m.mo.blocks {
		for i := range m.mo.m {
			for x := range cols {
				f(blk, i, x)
			}
		}
	}
}

// cellAt is where an element lives: a lane and a bit of its registers.
type cellAt struct{ lane, bit int }

// slotKey names a table of places: a formula and what it is evaluated for.
type slotKey struct {
	text               string
	m, blocks, cols, w int
	row, column        byte
	byFormat           bool
}

var slotTables = map[slotKey][]cellAt{}

// slots evaluates a formula for every [block*M+row][column].
func (m *matrixCase) slots(text string, cols, w int, row, column byte) []cellAt {
	byFormat := m.mo.f8f6f4 && column == 'k'
	key := slotKey{text, m.mo.m, m.mo.blocks, cols, w, row, column, byFormat}
	if v, ok := slotTables[key]; ok {
		return v
	}
	var v []cellAt
	m.each(cols, func(blk, i, x int) {
		vars := map[byte]int{row: i, column: x, 'b': blk}
		var at cellAt
		if byFormat {
			at.lane, at.bit = f8f6f4Slot(text, w, vars)
		} else {
			at.lane, at.bit = slotOf(text, vars)
		}
		v = append(v, at)
	})
	slotTables[key] = v
	return v
}

// load places A, B and C in registers by the row's formulas.
func (m *matrixCase) load() {
	mo, s := m.mo, m.s
	place := func(text string, base int, t elem, v [][]int, index byte) {
		w := elemBits[t]
		slots := m.slots(text, mo.k, w, index, 'k')
		m.each(mo.k, func(blk, i, k int) {
			at := slots[(blk*mo.m+i)*mo.k+k]
			poke(s.VGPR[base:], at.lane, at.bit, w, codeOf(m.cpu, t, v[blk*mo.m+i][k]))
		})
	}
	if !strings.HasPrefix(m.row["A_formula"], "compressed") {
		place(m.row["A_formula"], regA, mo.a, m.a, 'i')
	}
	place(m.row["B_formula"], regB, mo.b, m.b, 'j')
	slots := m.slots(m.row["CD_formula"], mo.m, 32, 'i', 'j')
	m.each(mo.m, func(blk, i, j int) {
		at := slots[(blk*mo.m+i)*mo.m+j]
		w, v := 32, uint64(fbits(float32(m.c[blk*mo.m+i][j])))
		switch mo.d {
		case elemF64:
			w, v = 64, dbits(float64(m.c[blk*mo.m+i][j]))
		case elemI8:
			v = uint64(uint32(m.c[blk*mo.m+i][j]))
		}
		poke(s.VGPR[regC:], at.lane, at.bit, w, v)
	})
}

// result is D[i][j] of a block after the instruction.
func (m *matrixCase) result(blk, i, j int) float64 {
	at := m.slots(m.row["CD_formula"], m.mo.m, 32, 'i', 'j')[(blk*m.mo.m+i)*m.mo.m+j]
	switch m.mo.d {
	case elemF64:
		return dfrom(peek(m.s.VGPR[regC:], at.lane, at.bit, 64))
	case elemI8:
		return float64(int32(peek(m.s.VGPR[regC:], at.lane, at.bit, 32)))
	}
	return float64(ffrom(uint32(peek(m.s.VGPR[regC:], at.lane, at.bit, 32))))
}

// verify compares D with the product; f gives A's value, scaled or not.
func (m *matrixCase) verify(t *testing.T, product func(blk, i, j int) float64) {
	t.Helper()
	if err := Exec(m.k, &m.in, m.s); err != nil {
		t.Fatal(err)
	}
	bad := 0
	m.each(m.mo.m, func(blk, i, j int) {
		got := m.result(blk, i, j)
		if want := float64(m.c[blk*m.mo.m+i][j]) + product(blk, i, j); got != want {
			if bad++; bad < 4 {
				t.Errorf("%s %s: D[%d][%d] of block %d is %g, want %g", m.row["cpu"], m.row["mnemonic"], i, j, blk, got, want)
			}
		}
	})
}

func (m *matrixCase) product(blk, i, j int) float64 {
	var v int
	for k := range m.mo.k {
		v += m.a[blk*m.mo.m+i][k] * m.b[blk*m.mo.m+j][k]
	}
	return float64(v)
}

func layoutRows(t *testing.T) []map[string]string {
	t.Helper()
	f, err := os.Open("testdata/mfma_layouts.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recs, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, r := range recs[1:] {
		row := map[string]string{}
		for i, name := range recs[0] {
			row[name] = r[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func TestMatrixLayouts(t *testing.T) {
	n := 0
	for _, row := range layoutRows(t) {
		if strings.HasPrefix(row["A_formula"], "compressed") || strings.Contains(row["mnemonic"], "f8f6f4") {
			continue
		}
		n++
		m := newMatrixCase(t, row, 0, 0)
		m.load()
		m.verify(t, m.product)
	}
	if n < 60 {
		t.Errorf("only %d dense rows", n)
	}
}

func TestMatrixF8F6F4(t *testing.T) {
	for _, row := range layoutRows(t) {
		if !strings.Contains(row["mnemonic"], "f8f6f4") {
			continue
		}
		scaled := strings.Contains(row["mnemonic"], "_scale_")
		for a := range uint8(5) {
			for _, b := range []uint8{0, 2, 4} {
				m := newMatrixCase(t, row, f8f6f4Elems[a], f8f6f4Elems[b])
				m.in.CBSZ, m.in.BLGP = a, b
				m.load()
				if !scaled {
					m.verify(t, m.product)
					continue
				}
				m.scales()
				m.verify(t, m.scaledProduct)
			}
		}
	}
}

// scales sets scale bytes 2^(lane%3) for A in byte 1 and 2^-(lane%2) for B in byte 2.
func (m *matrixCase) scales() {
	for l := range Lanes {
		m.s.VGPR[regScaleA][l] = uint32(127+l%3) << 8
		m.s.VGPR[regScaleB][l] = uint32(127-l%2) << 16
	}
	m.in.Flags |= ScalePrefix
	m.in.Scale = [2]Operand{{Reg: V(regScaleA), N: 1}, {Reg: V(regScaleB), N: 1}}
	m.in.OpSel, m.in.OpSelHi = 1, 2
}

func (m *matrixCase) scaledProduct(blk, i, j int) float64 {
	var v float64
	for k := range m.mo.k {
		t := k / 32
		sa, sb := float64(int(1)<<((i+m.mo.m*t)%3)), 1/float64(int(1)<<((j+m.mo.m*t)%2))
		v += float64(m.a[i][k]*m.b[j][k]) * sa * sb
	}
	return v
}

var sparseRE = regexp.MustCompile(`group g=(.+) in lane=(.+?); .*\((\d+)-bit\)`)

func TestMatrixSparse(t *testing.T) {
	n := 0
	for _, row := range layoutRows(t) {
		re := sparseRE.FindStringSubmatch(row["A_formula"])
		if re == nil {
			continue
		}
		n++
		w, _ := strconv.Atoi(re[3])
		for _, abid := range []uint8{0, 1} {
			m := newMatrixCase(t, row, 0, 0)
			m.in.Src[2] = Operand{Reg: V(regIdx), N: 1}
			m.in.ABID = abid
			o := 0
			switch mod := row["modifiers"]; {
			case strings.HasPrefix(mod, "o=8*"):
				o = 8 * int(abid)
			case strings.HasPrefix(mod, "o=16*"):
				o = 16 * int(abid)
			}
			for i := range m.a {
				for k := 0; k < m.mo.k; k += 4 {
					m.sparsify(re, i, k, w, o)
				}
			}
			m.load()
			m.verify(t, m.product)
		}
	}
	if n < 20 {
		t.Errorf("only %d sparse rows", n)
	}
}

// sparsify keeps two of four values of A and stores them with their positions.
func (m *matrixCase) sparsify(re []string, i, k, w, o int) {
	f := &formula{vars: map[byte]int{'i': i, 'k': k}}
	g, lane := f.eval(re[1]), f.eval(re[2])
	p0 := m.r.Intn(3)
	p1 := p0 + 1 + m.r.Intn(3-p0)
	for x := range 4 {
		if x != p0 && x != p1 {
			m.a[i][k+x] = 0
		}
	}
	for p, pos := range []int{p0, p1} {
		poke(m.s.VGPR[regA:], lane, (2*g+p)*w, w, codeOf(m.cpu, m.mo.a, m.a[i][k+pos]))
		poke(m.s.VGPR[regIdx:], lane, o+4*g+2*p, 2, uint64(pos))
	}
}

func TestMatrixModifiers(t *testing.T) {
	rows := map[string]map[string]string{}
	for _, row := range layoutRows(t) {
		rows[row["cpu"]+row["mnemonic"]] = row
	}
	// A broadcast: with cbsz 1 and abid 1 each pair of blocks uses its odd block's A.
	m := newMatrixCase(t, rows["gfx942v_mfma_f32_4x4x4_16b_f16"], 0, 0)
	m.in.CBSZ, m.in.ABID = 1, 1
	m.load()
	m.verify(t, func(blk, i, j int) float64 {
		var v int
		for k := range m.mo.k {
			v += m.a[(blk|1)*4+i][k] * m.b[blk*4+j][k]
		}
		return float64(v)
	})
	// f64 negation of A and C.
	m = newMatrixCase(t, rows["gfx942v_mfma_f64_16x16x4_f64"], 0, 0)
	m.in.BLGP = 5
	m.load()
	m.verify(t, func(blk, i, j int) float64 { return -m.product(blk, i, j) - 2*float64(m.c[i][j]) })
	// An inline constant C and D over A's registers.
	m = newMatrixCase(t, rows["gfx942v_mfma_f32_16x16x16_bf16"], 0, 0)
	m.load()
	m.in.Src[2] = Operand{Reg: ConstHalf + 2, N: 1}
	m.verify(t, func(blk, i, j int) float64 { return 1 + m.product(blk, i, j) - float64(m.c[i][j]) })
}

// EXEC does not matter to matrix instructions, and accumulation registers do.
func TestMatrixAGPR(t *testing.T) {
	k, s := newTestState(GFX942)
	s.SetExec(0)
	in, err := Parse(GFX942, "v_mfma_f32_32x32x2_f32 a[0:15], v0, v1, a[0:15]")
	if err != nil {
		t.Fatal(err)
	}
	fill(&s.VGPR[0], fbits(2))
	fill(&s.VGPR[1], fbits(3))
	for i := range 16 {
		fill(&s.AGPR[i], fbits(1))
	}
	if err := Exec(k, &in, s); err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		for l := range Lanes {
			if s.AGPR[i][l] != fbits(13) {
				t.Fatalf("a%d lane %d is %g", i, l, ffrom(s.AGPR[i][l]))
			}
		}
	}
}

func BenchmarkMFMA(b *testing.B) {
	for _, text := range []string{
		"v_mfma_f32_16x16x32_bf16 v[0:3], v[8:11], v[16:19], v[0:3]",
		"v_mfma_f32_32x32x8_f16 v[0:15], v[32:33], v[36:37], v[0:15]",
		"v_add_u32_e32 v0, v1, v2",
		"v_fma_f32 v0, v1, v2, v3",
		"s_add_u32 s0, s1, s2",
	} {
		b.Run(fmt.Sprint(strings.Fields(text)[0]), func(b *testing.B) {
			k, s := newTestState(GFX950)
			in, err := Parse(GFX950, text)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				s.PC = 0
				if err := Exec(k, &in, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
