package workloads

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/lds"
)

// The tests of the micro kernel: each measures one unit of a CU, or the
// dispatcher. What an operation takes is the slope of cycles over trips.
const (
	MicroLDSProbe = "lds-probe" // one LDS instruction of two lanes, for the phase and bank solvers
	MicroLDS      = "lds"       // LDS instructions back to back, by conflict degree and waves
	MicroFill     = "lds-fill"  // direct-to-LDS loads that hit the vector L1
	MicroMFMA     = "mfma"      // matrix instructions, dependent or not
	MicroCoissue  = "coissue"   // vector instructions between matrix instructions
	MicroVALU     = "valu"      // vector instructions, dependent or not
	MicroBarrier  = "barrier"   // s_barrier alone
	MicroLaunch   = "launch"    // workgroups that end at once
	MicroXCDMap   = "xcd-map"   // the XCD of every workgroup
	MicroBranch   = "branch"    // a loop of nothing but its own counting
	MicroSetprio  = "setprio"   // two waves a SIMD that contend for the VALU, the younger one with a priority
)

// MicroTests are the tests by name.
var MicroTests = []string{MicroLDS, MicroLDSProbe, MicroFill, MicroMFMA, MicroCoissue, MicroVALU, MicroBarrier, MicroBranch, MicroLaunch, MicroXCDMap, MicroSetprio}

// MicroSpec says what to measure.
type MicroSpec struct {
	Test       string
	Op         string // instruction under test
	Waves      int    // of the workgroup
	Degree     int    // lds: lanes of a phase in one bank; 1 is without conflicts
	Stride     int    // lds: bytes from lane to lane; 0: as Degree says
	Lanes      [2]int // lds-probe: the active lanes
	Offset     int    // lds-probe: dwords from the first lane's address to the second's; -1: a row of 256 B each lane
	Dependent  bool   // mfma, valu, and lds reads as an address: each takes the result of the one before
	Fill       int    // coissue: vector instructions after each matrix instruction; dependent lds: 1 for one that makes the address
	Trips      int    // of the loop
	Workgroups int    // launch, xcd-map
	Priority   int    // setprio: of the younger waves
}

// MicroUnroll is how many operations a trip of a test has: enough to hide the
// loop's own instructions, few enough to stay in the instruction cache.
func MicroUnroll(test string) int {
	switch test {
	case MicroVALU:
		return 256
	case MicroBranch:
		return 1
	}
	return 64
}

// LDS instructions that can be tested, with the kind of their access.
var ldsTests = []struct {
	name string
	op   isa.Op
	kind lds.Kind
}{
	{"ds_read_b32", isa.DS_READ_B32, lds.ReadB32}, {"ds_read_b64", isa.DS_READ_B64, lds.ReadB64}, {"ds_read_b96", isa.DS_READ_B96, lds.ReadB96},
	{"ds_read_b128", isa.DS_READ_B128, lds.ReadB128}, {"ds_read_b64_tr_b16", isa.DS_READ_B64_TR_B16, lds.ReadB64Tr},
	{"ds_write_b32", isa.DS_WRITE_B32, lds.WriteB32}, {"ds_write_b64", isa.DS_WRITE_B64, lds.WriteB64}, {"ds_write_b96", isa.DS_WRITE_B96, lds.WriteB96},
	{"ds_write_b128", isa.DS_WRITE_B128, lds.WriteB128},
}

// LDSOps are the LDS instructions that the micro kernel can test on a CPU.
func LDSOps(cpu isa.CPU) []string {
	var out []string
	for _, t := range ldsTests {
		if isa.Supports(cpu, t.op) {
			out = append(out, t.name)
		}
	}
	return out
}

var mfmaName = regexp.MustCompile(`^v_mfma_(f32|f64|i32)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_`)

// MFMAOps are the dense matrix instructions of a CPU; those of F8F6F4 stand there
// once a format, as in v_mfma_f32_16x16x128_f8f6f4:fp4.
func MFMAOps(cpu isa.CPU) []string {
	var out []string
	for op := isa.Op(1); op < 1<<13; op++ {
		name := op.String()
		if !isa.Supports(cpu, op) || !mfmaName.MatchString(name) {
			continue
		}
		if !strings.HasSuffix(name, "f8f6f4") {
			out = append(out, name)
			continue
		}
		for _, f := range f8f6f4Formats {
			out = append(out, name+":"+f.name)
		}
	}
	slices.Sort(out)
	return out
}

// f8f6f4Formats are the formats of F8F6F4 by CBSZ and BLGP, with the registers of
// 32 elements.
var f8f6f4Formats = []struct {
	name string
	code uint8
	regs int
}{{"fp8", 0, 8}, {"fp6", 2, 6}, {"fp4", 4, 4}}

// micro is a micro kernel under construction.
type micro struct {
	*vectorKernel
	s    MicroSpec
	addr Val // VGPR: an LDS address a lane
	n    Val // SGPR: trips left
	lds  int // bytes
}

// Micro builds the kernel for cpu.
func Micro(cpu isa.CPU, s MicroSpec) (*Built, error) {
	if err := s.check(cpu); err != nil {
		return nil, err
	}
	m := &micro{vectorKernel: newVectorKernel(cpu, 2, 2), s: s}
	m.states.on = true
	m.n = m.SGPR(1)
	var addrs [isa.Lanes]uint32
	exec := ^uint64(0)
	switch s.Test {
	case MicroLDSProbe:
		addrs = s.probe()
		exec = 1<<s.Lanes[0] | 1<<s.Lanes[1]
		m.probeLDS()
	case MicroLDS:
		addrs = s.addresses(cpu)
		if s.Dependent {
			m.chaseLDS()
		} else {
			m.streamLDS()
		}
	case MicroFill:
		m.fillLDS()
	case MicroMFMA:
		m.matrix()
	case MicroCoissue:
		m.coissue()
	case MicroVALU:
		m.vector()
	case MicroBarrier:
		m.loop(m.Barrier)
	case MicroBranch:
		m.loop(func() {})
	case MicroXCDMap:
		m.place()
	case MicroSetprio:
		m.setprio()
	}
	return m.finish(addrs, exec)
}

func (s *MicroSpec) check(cpu isa.CPU) error {
	oneOf := func(what string, valid []string) error {
		if slices.Contains(valid, s.Op) {
			return nil
		}
		return fmt.Errorf("micro: %s is no %s of %s; there are %s", s.Op, what, cpu, strings.Join(valid, ", "))
	}
	switch {
	case s.Waves < 1 || s.Waves > 16:
		return fmt.Errorf("micro: %d waves; a workgroup has 1 to 16", s.Waves)
	case s.Trips < 1 || s.Trips > 1<<20:
		return fmt.Errorf("micro: %d trips; 1 to %d are possible", s.Trips, 1<<20)
	case s.Workgroups < 1 || s.Workgroups > 1<<20:
		return fmt.Errorf("micro: %d workgroups; 1 to %d are possible", s.Workgroups, 1<<20)
	case s.Priority < 0 || s.Priority > 3:
		return fmt.Errorf("micro: priority %d; there are 0 to 3", s.Priority)
	case s.Fill < 0 || s.Fill > 32:
		return fmt.Errorf("micro: %d vector instructions after each matrix instruction; 0 to 32 are possible", s.Fill)
	}
	switch s.Test {
	case MicroLDS, MicroLDSProbe:
		if err := oneOf("LDS instruction that can be tested", LDSOps(cpu)); err != nil {
			return err
		}
		if s.Test == MicroLDSProbe {
			for _, l := range s.Lanes {
				if l < 0 || l >= isa.Lanes {
					return fmt.Errorf("micro: lane %d; a wave has lanes 0 to 63", l)
				}
			}
			if s.Lanes[0] == s.Lanes[1] || s.Offset > 2048 {
				return fmt.Errorf("micro: a probe takes two lanes and an offset of at most 2048 dwords")
			}
			return nil
		}
		if _, kind := ldsTest(s.Op); s.Dependent && kind.Write() {
			return fmt.Errorf("micro: %s returns nothing that the next could depend on", s.Op)
		}
		if s.Stride < 0 || s.Stride > maxMicroStride || s.Stride%4 != 0 {
			return fmt.Errorf("micro: a stride of %d bytes; multiples of 4 up to %d are possible", s.Stride, maxMicroStride)
		}
		if s.Dependent {
			if s.Degree < 1 || s.Degree > 8 {
				return fmt.Errorf("micro: a conflict degree of %d; 1 to 8 are possible where reads depend on each other", s.Degree)
			}
			return nil
		}
		if n := lds.Lanes / phasesOf(cpu, s.Op); s.Degree < 1 || s.Degree > n || n%s.Degree != 0 {
			return fmt.Errorf("micro: a conflict degree of %d; a phase of %s has %d lanes, and it must divide that", s.Degree, s.Op, n)
		}
	case MicroMFMA, MicroCoissue:
		return oneOf("matrix instruction that can be tested", MFMAOps(cpu))
	case MicroVALU:
		return oneOf("vector instruction that can be tested", ValuOps)
	case MicroFill:
		return oneOf("direct-to-LDS load", fillOps(cpu))
	case MicroBarrier, MicroBranch, MicroLaunch, MicroXCDMap, MicroSetprio:
	default:
		return fmt.Errorf("micro: unknown --test %q; there are %s", s.Test, strings.Join(MicroTests, ", "))
	}
	return nil
}

func fillOps(cpu isa.CPU) []string {
	if cpu == isa.GFX950 {
		return []string{"buffer_load_dword", "buffer_load_dwordx4"}
	}
	return []string{"buffer_load_dword"}
}

// ldsTable is the phases of a CPU.
func ldsTable(cpu isa.CPU) *lds.Table {
	t, err := lds.NewTable(cpu.String())
	if err != nil {
		panic(err) // both CPUs have one
	}
	return t
}

func ldsTest(name string) (isa.Op, lds.Kind) {
	for _, t := range ldsTests {
		if t.name == name {
			return t.op, t.kind
		}
	}
	return 0, 0
}

func phasesOf(cpu isa.CPU, op string) int {
	_, k := ldsTest(op)
	return len(ldsTable(cpu).Phases(k))
}

// probe is the addresses of a probe: every lane at bank 0 of a row of its own, or
// the second lane some dwords after the first.
func (s *MicroSpec) probe() (a [isa.Lanes]uint32) {
	for l := range a {
		if s.Offset < 0 {
			a[l] = uint32(256 * l)
		}
	}
	if s.Offset >= 0 {
		a[s.Lanes[1]] = uint32(4 * s.Offset)
	}
	return a
}

// maxMicroStride keeps the lanes of a strided access within the LDS that is
// allocated.
const maxMicroStride = 512

// addresses is the lanes' addresses of a test of LDS instructions.
func (s *MicroSpec) addresses(cpu isa.CPU) (a [isa.Lanes]uint32) {
	switch {
	case s.Stride == 0 && s.Dependent: // the first lanes in bank 0, in rows of their own
		for l := range a {
			if a[l] = uint32(4 * l); l < s.Degree {
				a[l] = uint32(256 * l)
			}
		}
		return a
	case s.Stride == 0:
		return conflicting(cpu, s.Op, s.Degree)
	}
	for l := range a {
		a[l] = uint32(s.Stride * l)
	}
	return a
}

// conflicting is addresses of which degree lanes of every phase lie in one bank, in
// rows of their own, and the others side by side.
func conflicting(cpu isa.CPU, op string, degree int) (a [isa.Lanes]uint32) {
	_, kind := ldsTest(op)
	t := ldsTable(cpu)
	row, width := uint32(4*t.Banks(kind)), uint32(kind.Bytes())
	if width == 12 {
		width = 16 // a 96-bit access takes a 16-byte unit
	}
	for _, phase := range t.Phases(kind) {
		for i := 0; phase != 0; i++ {
			lane := bits.TrailingZeros64(phase)
			phase &= phase - 1
			a[lane] = uint32(i%degree)*row + uint32(i/degree)*width
		}
	}
	return a
}

// loop emits trips of a body that is repeated.
func (m *micro) loop(body func()) { m.loopOf(func(int) { body() }) }

func (m *micro) loopOf(body func(i int)) {
	m.Cluster("test", "other")
	m.SMov(m.n, Imm(m.s.Trips))
	top := m.Label()
	m.Place(top)
	m.built.LoopStart = len(m.insts)
	for i := range MicroUnroll(m.s.Test) {
		body(i)
	}
	m.SOP2(isa.S_SUB_U32, m.n, m.n, Imm(1))
	m.SOPC(isa.S_CMP_LG_U32, m.n, Imm(0))
	m.Branch(isa.S_CBRANCH_SCC1, top)
	m.built.LoopEnd = len(m.insts)
	m.built.LoopTrips = m.s.Trips
}

// address emits the loads of the lanes' LDS addresses.
func (m *micro) address() {
	m.addr = m.VGPR(1)
	srd, off := m.SGPR(4), m.VGPR(1)
	m.srd(srd, m.ptr[0], isa.Lanes*4)
	m.VShl(off, m.ln.lane, 2)
	m.BufferOp(isa.BUFFER_LOAD_DWORD, m.addr, off, srd, Imm(0), 0, false)
	m.WaitVM(0)
	m.lds = 64 << 10
}

// zeros emits registers that hold zero.
func (m *micro) zeros(n int) Val {
	v := m.VGPR(n)
	for i := range n {
		m.VOP1(isa.V_MOV_B32, v.At(i, 1), Imm(0))
	}
	return v
}

// access emits one LDS instruction.
func (m *micro) access(d Val) {
	op, kind := ldsTest(m.s.Op)
	if kind.Write() {
		m.DSWrite(op, m.addr, d, 0)
	} else {
		m.DSRead(op, d, m.addr, 0)
	}
}

func (m *micro) ldsRegs() int {
	_, kind := ldsTest(m.s.Op)
	return max(kind.Bytes()/4, 1)
}

// probeLDS emits one instruction of the lanes that the arguments name.
func (m *micro) probeLDS() {
	m.address()
	d := m.zeros(m.ldsRegs())
	m.Nop(4)
	m.SMov(reg(isa.ExecLo, 1), m.args[0])
	m.SMov(reg(isa.ExecLo+1, 1), m.args[1])
	m.Nop(4)
	m.access(d)
	m.WaitLGKM(0)
}

// streamLDS emits instructions back to back; reads go to eight registers in turn.
func (m *micro) streamLDS() {
	m.address()
	var d []Val
	for range 8 {
		d = append(d, m.zeros(m.ldsRegs()))
	}
	m.Barrier()
	m.loopOf(func(i int) { m.access(d[i%len(d)]) })
	m.WaitLGKM(0)
}

// chaseLDS emits reads each of which takes its address from the one before: every
// lane's own, or as an index of dwords, which is stored there first.
func (m *micro) chaseLDS() {
	m.address()
	d := m.zeros(m.ldsRegs())
	own := m.addr
	if m.s.Fill > 0 {
		own = d.At(0, 1)
		m.VOP2(isa.V_LSHRREV_B32, own, Imm(2), m.addr)
	}
	m.DSWrite(isa.DS_WRITE_B32, m.addr, own, 0)
	m.WaitLGKM(0)
	m.Barrier()
	op, _ := ldsTest(m.s.Op)
	m.DSRead(op, d, m.addr, 0)
	m.WaitLGKM(0)
	at := d.At(0, 1)
	m.loop(func() {
		if m.s.Fill > 0 { // what is read is an index, which a shift makes an address
			at = m.addr
			m.VShl(at, d.At(0, 1), 2)
		}
		m.DSRead(op, d, at, 0)
		m.WaitLGKM(0)
	})
}

// fillLDS emits direct-to-LDS loads of the same bytes, which the L1 holds.
func (m *micro) fillLDS() {
	srd, off := m.SGPR(4), m.VGPR(1)
	m.srd(srd, m.ptr[0], isa.Lanes*16)
	wide := m.s.Op == "buffer_load_dwordx4"
	shift := 2
	if wide {
		shift = 4
	}
	m.VShl(off, m.ln.lane, shift)
	base := m.SGPR(1)
	m.SOP2(isa.S_LSHL_B32, base, m.ln.wave, Imm(10))
	m.SetM0(base)
	m.Nop(1)
	m.lds = 64 << 10
	one := func() {
		if wide {
			m.BufferLoadLDS(off, srd, Imm(0))
		} else {
			m.BufferDwordLDS(off, srd, Imm(0))
		}
	}
	one()
	m.WaitVM(0)
	m.Barrier()
	m.loop(one)
	m.WaitVM(0)
}

// mfma is a matrix instruction with registers of its own.
type mfmaTest struct {
	op   isa.Op
	code uint8
	a, b Val
	d    []Val
	f8   bool
}

// matrixOperands allocates n accumulators of the instruction.
func (m *micro) matrixOperands(n int) *mfmaTest {
	name, format, f8 := strings.Cut(m.s.Op, ":")
	op, _ := isa.OpByName(name)
	t := &mfmaTest{op: op, f8: f8}
	c := isa.Classify(m.cpu, &isa.Inst{Op: op, Enc: isa.MAI})
	regs := max(int(c.ABBytes)/4, 1)
	for _, f := range f8f6f4Formats {
		if f.name == format {
			t.code, regs = f.code, f.regs
		}
	}
	x := mfmaName.FindStringSubmatch(name)
	num := func(s string) int { v, _ := strconv.Atoi(s); return max(v, 1) }
	size := num(x[2]) * num(x[3]) * num(x[5]) / isa.Lanes
	if x[1] == "f64" {
		size *= 2
	}
	t.a, t.b = m.zeros(regs), m.zeros(regs)
	for range n {
		t.d = append(t.d, m.zeros(size))
	}
	return t
}

func (t *mfmaTest) emit(m *micro, i int) {
	d := t.d[i%len(t.d)]
	if t.f8 {
		m.MFMASmall(t.op, t.code, d, t.a, t.b)
	} else {
		m.MFMA(t.op, d, t.a, t.b)
	}
}

// accumulators is how many of an instruction's results fit beside each other.
func (m *micro) accumulators() int {
	if strings.Contains(m.s.Op, "_32x32x1_2b") || strings.Contains(m.s.Op, "_32x32x") {
		return 3
	}
	return 4
}

func (m *micro) matrix() {
	n := m.accumulators()
	if m.s.Dependent {
		n = 1
	}
	t := m.matrixOperands(n)
	m.Nop(8)
	m.Barrier()
	m.loopOf(func(i int) { t.emit(m, i) })
	m.Nop(20)
}

// coissue emits vector instructions after each matrix instruction, which do not
// depend on it or on each other.
func (m *micro) coissue() {
	t := m.matrixOperands(m.accumulators())
	v := m.zeros(8)
	m.Nop(8)
	m.Barrier()
	m.loopOf(func(i int) {
		t.emit(m, i)
		for j := range m.s.Fill {
			x := v.At(j%8, 1)
			m.VOP2(isa.V_ADD_F32, x, x, x)
		}
	})
	m.Nop(20)
}

// ValuOps are the vector instructions that the micro kernel can test.
var ValuOps = []string{"v_add_f32", "v_fma_f32", "v_exp_f32", "v_rcp_f32", "v_pk_fma_f32", "v_mov_b32", "v_fma_f64"}

func (m *micro) vector() {
	const n = 8
	v := m.zeros(2 * n)
	m.Barrier()
	m.loopOf(func(i int) {
		if m.s.Dependent {
			i = 0
		}
		x := v.At(2*(i%n), 1)
		switch m.s.Op {
		case "v_add_f32":
			m.VOP2(isa.V_ADD_F32, x, x, x)
		case "v_fma_f32":
			m.VOP3(isa.V_FMA_F32, x, x, x, x)
		case "v_exp_f32":
			m.VOP1(isa.V_EXP_F32, x, x)
		case "v_rcp_f32":
			m.VOP1(isa.V_RCP_F32, x, x)
		case "v_mov_b32":
			m.VOP1(isa.V_MOV_B32, x, x)
		case "v_fma_f64":
			p := v.At(2*(i%n), 2)
			m.VOP3(isa.V_FMA_F64, p, p, p, p)
		case "v_pk_fma_f32":
			p := v.At(2*(i%n), 2)
			m.Emit(isa.Inst{Op: isa.V_PK_FMA_F32, Enc: isa.VOP3P, Dst: p.Operand, Src: [4]isa.Operand{p.Operand, p.Operand, p.Operand}, OpSelHi: 7})
		}
	})
}

// place emits the store of the XCD's number.
func (m *micro) place() {
	out := m.SGPR(4)
	m.srd(out, m.ptr[1], 4*m.s.Workgroups)
	id, off := m.SGPR(1), m.SGPR(1)
	const xccID = 20 | 31<<11 - 1<<16 // all 32 bits of HW_REG_XCC_ID, as a signed simm16
	m.Emit(isa.Inst{Op: isa.S_GETREG_B32, Enc: isa.SOPK, Dst: id.Operand, Offset: xccID})
	v, at := m.VGPR(1), m.VGPR(1)
	m.SOP2(isa.S_AND_B32, id, id, Imm(15))
	m.VOP1(isa.V_MOV_B32, v, id)
	m.SOP2(isa.S_LSHL_B32, off, m.wg[0], Imm(2))
	m.VOP1(isa.V_MOV_B32, at, off)
	m.Nop(4)
	m.SMov(reg(isa.ExecLo, 1), Imm(1))
	m.SMov(reg(isa.ExecLo+1, 1), Imm(0))
	m.Nop(4)
	m.BufferOp(isa.BUFFER_STORE_DWORD, v, at, out, Imm(0), 0, true)
}

// setprio emits two kinds of waves, of each kind one a SIMD: the older half issues
// independent additions, which could take every slot of the VALU, the younger half
// dependent ones at a priority. Where the older waves win, the dependent ones take
// their time after them; where the younger win, in it.
func (m *micro) setprio() {
	v := m.zeros(8)
	younger, end := m.Label(), m.Label()
	m.Nop(8)
	m.Barrier()
	m.SOPC(isa.S_CMP_LT_U32, m.ln.wave, Imm(m.s.Waves/2))
	m.Branch(isa.S_CBRANCH_SCC0, younger)
	add := func(i int) {
		x := v.At(i%8, 1)
		m.VOP2(isa.V_ADD_F32, x, x, x)
	}
	m.loopOf(add)
	m.Branch(isa.S_BRANCH, end)
	m.Place(younger)
	m.SetPrio(m.s.Priority)
	m.SMov(m.n, Imm(m.s.Trips))
	top := m.Label()
	m.Place(top)
	for range MicroUnroll(m.s.Test) {
		add(0)
	}
	m.SOP2(isa.S_SUB_U32, m.n, m.n, Imm(1))
	m.SOPC(isa.S_CMP_LG_U32, m.n, Imm(0))
	m.Branch(isa.S_CBRANCH_SCC1, top)
	m.Place(end)
}

// finish lays out memory: the lanes' addresses, the output, and the EXEC mask of a
// probe among the arguments.
func (m *micro) finish(addrs [isa.Lanes]uint32, exec uint64) (*Built, error) {
	s := m.s
	in := []byte{}
	for _, a := range addrs {
		in = binary.LittleEndian.AppendUint32(in, a)
	}
	ts := []tensor{{name: "addresses", bytes: isa.Lanes * 16}, {name: "out", bytes: max(4*s.Workgroups, 4)}}
	name := "micro_" + strings.NewReplacer("-", "_", ":", "_").Replace(s.Test+"_"+s.Op)
	if s.Dependent {
		name += "_dependent"
	}
	if err := m.launch(strings.Trim(name, "_")+"_"+m.cpu.String(), [3]int{s.Workgroups, 1, 1}, s.Waves, ts, uint32(exec), uint32(exec>>32)); err != nil {
		return nil, err
	}
	b := m.built
	b.Launch.Kernel.LDSBytes = m.lds
	b.LDSUsed = m.lds
	b.LoopKTiles, b.KTile = 1, 1
	// The addresses steer LDS accesses, so they are there in timing mode too.
	b.Launch.Memory.Write(ts[0].addr, in)
	if s.Test == MicroLDS && s.Dependent {
		b.ValuesDecide = "each address is what the read before found in the LDS"
	}
	b.Outputs = []string{"out"}
	expect := references(func(func(Expected)) error { return nil })
	if s.Test == MicroXCDMap {
		expect = words(ts[1].addr, func() []uint32 { return nil })
	}
	b.data(func() {}, expect)
	return b, nil
}

func microOptions() []Option {
	return []Option{
		{"test", MicroLDS, strings.Join(MicroTests, ", "), "what to measure"},
		{"op", "the test's own", "", "instruction under test"},
		{"waves", "1", "1 to 16", "waves of the workgroup"},
		{"degree", "1", "divides the lanes of a phase", "lds: lanes of a phase in one bank"},
		{"stride", "as degree says", "multiple of 4, up to 512", "lds: bytes from lane to lane"},
		{"lanes", "0,1", "two lanes", "lds-probe: the lanes that are active"},
		{"offset", "a row each", "dwords", "lds-probe: from the first lane's address to the second's"},
		{"dependent", "false", "true, false", "mfma, valu, lds reads: each takes the result of the one before"},
		{"fill", "0", "0 to 32", "coissue: vector instructions after each matrix instruction; dependent lds: 1 for one that makes the address"},
		{"priority", "0", "0 to 3", "setprio: of the younger waves"},
		{"trips", "4", "", "trips of the loop, 64 operations each (valu: 256)"},
		{"workgroups", "1; xcd-map 64; launch 1024", "", "workgroups"},
	}
}

// defaultOp is what a test measures unless told.
func defaultOp(cpu isa.CPU, test string) string {
	switch test {
	case MicroLDS, MicroLDSProbe:
		return "ds_read_b128"
	case MicroMFMA, MicroCoissue:
		if cpu == isa.GFX942 {
			return "v_mfma_f32_16x16x16_bf16"
		}
		return "v_mfma_f32_16x16x32_bf16"
	case MicroVALU:
		return "v_fma_f32"
	case MicroFill:
		ops := fillOps(cpu)
		return ops[len(ops)-1]
	}
	return ""
}

func buildMicro(r Request) (*Job, error) {
	const name = "micro"
	s := MicroSpec{Offset: -1, Op: r.Options["op"]}
	var err error
	if s.Test, err = r.Choice(name, "test", MicroTests...); err != nil {
		return nil, err
	}
	if s.Op == "" {
		s.Op = defaultOp(r.CPU, s.Test)
	}
	wgs := map[string]int{MicroXCDMap: 64, MicroLaunch: 1024}[s.Test]
	waves := 1
	if s.Test == MicroSetprio {
		waves = 8
	}
	for _, o := range []struct {
		name string
		to   *int
		def  int
	}{{"waves", &s.Waves, waves}, {"degree", &s.Degree, 1}, {"stride", &s.Stride, 0}, {"offset", &s.Offset, -1}, {"fill", &s.Fill, 0}, {"priority", &s.Priority, 0}, {"trips", &s.Trips, 4},
		{"workgroups", &s.Workgroups, max(wgs, 1)}} {
		if *o.to, err = r.Int(name, o.name, o.def); err != nil {
			return nil, err
		}
	}
	s.Lanes = [2]int{0, 1}
	if v, ok := r.Options["lanes"]; ok {
		if n, err := fmt.Sscanf(v, "%d,%d", &s.Lanes[0], &s.Lanes[1]); err != nil || n != 2 {
			return nil, fmt.Errorf("micro: --lanes is %q; write two lanes as in 0,1", v)
		}
	}
	if s.Dependent, err = r.Bool(name, "dependent"); err != nil {
		return nil, err
	}
	b, err := Micro(r.CPU, s)
	if err != nil {
		return nil, err
	}
	return &Job{Kernel: name, DType: "idle", Kernels: []*Built{b},
		Settings: settings("test", s.Test, "op", s.Op, "waves", s.Waves, "degree", s.Degree, "stride", s.Stride, "lanes", fmt.Sprintf("%d,%d", s.Lanes[0], s.Lanes[1]), "offset", s.Offset,
			"dependent", s.Dependent, "fill", s.Fill, "priority", s.Priority, "trips", s.Trips, "workgroups", s.Workgroups),
		Notes:      []string{"what one operation takes is the slope of cycles over trips, 64 operations each and of valu 256 (whisker run --suite micro)"},
		FillInputs: b.FillInputs, Verify: b.Verify}, nil
}

func microForms() []Info {
	var all []Info
	for _, cpu := range []isa.CPU{isa.GFX950, isa.GFX942} {
		for _, test := range MicroTests {
			b := mustBuild(Micro(cpu, MicroSpec{Test: test, Op: defaultOp(cpu, test), Waves: 2, Degree: 1, Lanes: [2]int{0, 1}, Offset: -1, Trips: 1, Workgroups: 1}))
			i := b.form("micro", "one unit of a CU: "+test, test, "-", microOptions())
			i.Choose = []Setting{{"test", test}}
			all = append(all, i)
		}
	}
	return all
}

// LDSPhaseLanes is how many lanes a phase of an LDS instruction has.
func LDSPhaseLanes(cpu isa.CPU, op string) int { return isa.Lanes / phasesOf(cpu, op) }

// FillOps are the direct-to-LDS loads of a CPU that can be tested.
func FillOps(cpu isa.CPU) []string { return fillOps(cpu) }

// DefaultMicroOp is the instruction that a test measures unless told.
func DefaultMicroOp(cpu isa.CPU, test string) string { return defaultOp(cpu, test) }
