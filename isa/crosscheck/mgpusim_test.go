package crosscheck

import (
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sarchlab/akita/v4/mem/vm"
	"github.com/sarchlab/mgpusim/v4/amd/emu"
	"github.com/sarchlab/mgpusim/v4/amd/emu/cdna3"
	"github.com/sarchlab/mgpusim/v4/amd/insts"

	"github.com/whisker-sim/whisker/isa"
)

// The comparison with MGPUSim's CDNA3 ALU: every encoding of an opcode that it
// decodes and runs goes through both from the same random states.

const (
	regs    = 256
	statesN = 24 // random states an encoding
	startPC = 0x1000
	target  = 3 // where branches go, an index
)

// mgpuState is MGPUSim's wavefront with an instruction put in from outside.
type mgpuState struct {
	*emu.Wavefront
	inst *insts.Inst
}

func (s *mgpuState) Inst() *insts.Inst { return s.inst }
func (s *mgpuState) PID() vm.PID       { return 1 }

// storage lets MGPUSim's ALU reach a memory of ours.
type storage struct{ mem *isa.Memory }

func (s storage) Read(_ vm.PID, addr, n uint64) []byte {
	b := make([]byte, n)
	s.mem.Read(addr, b)
	return b
}

func (s storage) Write(_ vm.PID, addr uint64, data []byte) { s.mem.Write(addr, data) }

// candidate is an encoding to compare.
type candidate struct {
	in    isa.Inst
	bytes []byte
	key   string // mnemonic, with _e64 where it has a short form too
}

// candidates takes the instructions of the golden vectors, once an encoding of
// an opcode, with plain registers in place of their operands.
func candidates(t *testing.T) []candidate {
	t.Helper()
	f, err := os.Open("../testdata/vectors.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []candidate
	seen := map[string]bool{}
	for _, r := range rows[1:] {
		if r[0] != "gfx942" {
			continue
		}
		b, err := hex.DecodeString(r[2])
		if err != nil {
			t.Fatal(err)
		}
		in, err := isa.Decode(isa.GFX942, b)
		if err != nil || in.Sub == isa.SubDPP || in.Flags&isa.SegScratch != 0 || in.Op == isa.S_GETPC_B64 {
			continue // MGPUSim has no scratch segment; program counters count from other origins
		}
		plain(&in)
		if b, err = isa.Encode(isa.GFX942, &in); err != nil {
			continue
		}
		if in, err = isa.Decode(isa.GFX942, b); err != nil || seen[string(b)] {
			continue
		}
		seen[string(b)] = true
		in.Target = -1
		if isa.IsBranch(in.Op) {
			in.Target = target
		}
		key := in.Op.String()
		if in.E64 {
			key += "_e64"
		}
		if in.Sub == isa.SubSDWA {
			key += "_sdwa"
		}
		out = append(out, candidate{in, b, key})
	}
	return out
}

// plain replaces the operands by registers of their kind, an even number each,
// and takes modifiers off.
func plain(in *isa.Inst) {
	vector := slices.Contains([]isa.Enc{isa.VOP1, isa.VOP2, isa.VOPC, isa.VOP3, isa.VOP3P, isa.DS, isa.FLAT}, in.Enc)
	in.Flags &^= isa.Clamp
	in.Omod, in.OpSel = 0, 0
	if in.Enc == isa.VOP3P {
		in.OpSelHi = 7
	}
	if isa.IsBranch(in.Op) {
		in.Offset = 5
	}
	for i := range in.Src {
		o := &in.Src[i]
		if !o.Present() || o.Reg == isa.VCCLo {
			continue
		}
		o.Mod = 0
		if i == 2 && carryIn(in.Op) {
			o.Reg = isa.S(24)
		} else if vector && (o.Reg.IsVector() || i < 3 && in.Enc != isa.FLAT && o.N < 3) {
			o.Reg = isa.V(8 * (i + 1))
		} else if o.Reg.IsSGPR() || o.Reg.IsConst() {
			o.Reg = isa.S(8 * (i + 1))
		}
	}
	for i, o := range []*isa.Operand{&in.Dst, &in.SDst} {
		switch {
		case !o.Present() || o.Reg == isa.VCCLo:
		case o.Reg.IsVector():
			o.Reg = isa.V(40 + 8*i)
		default:
			o.Reg = isa.S(40 + 8*i)
		}
	}
	switch in.Enc {
	case isa.DS:
		in.Offset, in.Offset1 = 8, 0
		if strings.Contains(in.Op.String(), "2") && in.Offset1 == 0 && twoAddress(in.Op) {
			in.Offset, in.Offset1 = 1, 3
		}
	case isa.FLAT:
		in.Offset = 0
	}
}

// carryIn reports a lane mask as third source.
func carryIn(op isa.Op) bool {
	s := op.String()
	return strings.HasPrefix(s, "v_addc") || strings.HasPrefix(s, "v_subb") || strings.HasPrefix(s, "v_cndmask")
}

func twoAddress(op isa.Op) bool {
	s := op.String()
	return strings.HasPrefix(s, "ds_read2") || strings.HasPrefix(s, "ds_write2")
}

// pair is the two states of one comparison.
type pair struct {
	ours   isa.State
	k      isa.Kernel
	theirs mgpuState
	mem    [2]*isa.Memory
	base   uint64
}

func newPair() *pair {
	p := &pair{theirs: mgpuState{Wavefront: emu.NewWavefront(nil)}}
	p.k = isa.Kernel{Name: "crosscheck", CPU: isa.GFX942, VGPRs: regs, Insts: make([]isa.Inst, 4)}
	p.ours = isa.State{CPU: isa.GFX942, Mode: isa.DefaultMode, VGPR: make([]isa.VReg, regs), LDS: make([]byte, 4096)}
	p.theirs.Wavefront.LDS = make([]byte, 4096)
	for i := range p.mem {
		p.mem[i] = isa.NewMemory()
		p.base = p.mem[i].Alloc("data", 4096)
	}
	p.ours.Mem = p.mem[0]
	return p
}

// value is a register's random value: any bits, a small number, or a float of
// ordinary or special size.
func value(r *rand.Rand) uint32 {
	switch r.IntN(8) {
	case 0:
		return uint32(r.IntN(64))
	case 1:
		return -uint32(r.IntN(64))
	case 2, 3:
		return math.Float32bits(float32(r.NormFloat64()))
	case 4:
		return math.Float32bits(float32(r.IntN(2001) - 1000))
	case 5:
		return []uint32{0, 0x80000000, 0x3f800000, 0xbf800000, 0x7fffffff, 0xffffffff, 0x3c003c00, 0x00010001}[r.IntN(8)]
	}
	return r.Uint32()
}

// randomize gives both sides the same state. Doubles are made of pairs.
func (p *pair) randomize(r *rand.Rand, c *candidate) {
	o, w := &p.ours, p.theirs.Wavefront
	o.PC, o.SCC, o.Ended = 0, r.IntN(2) == 1, false
	for i := range 102 {
		o.SGPR[i] = value(r)
	}
	f64 := strings.Contains(c.in.Op.String(), "f64")
	for i := range 64 {
		for l := range isa.Lanes {
			if f64 && i%2 == 1 {
				v := math.Float64bits(r.NormFloat64() * 100)
				o.VGPR[i-1][l], o.VGPR[i][l] = uint32(v), uint32(v>>32)
			} else {
				o.VGPR[i][l] = value(r)
			}
		}
	}
	o.SetVCC(r.Uint64())
	o.SetExec(r.Uint64() | r.Uint64())
	o.SGPR[isa.M0] = 0xffffffff
	p.addresses(r, c)
	w.SetVCC(o.VCC())
	w.SetEXEC(o.Exec())
	w.SetPC(startPC)
	w.SetSCC(0)
	if o.SCC {
		w.SetSCC(1)
	}
	w.M0 = o.SGPR[isa.M0]
	for i := range 102 {
		binary.LittleEndian.PutUint32(w.SRegFile[4*i:], o.SGPR[i])
	}
	for i := range 64 {
		for l := range isa.Lanes {
			binary.LittleEndian.PutUint32(w.VRegFile[1024*l+4*i:], o.VGPR[i][l])
		}
	}
}

// addresses points memory instructions at the data, a place of its own for each
// lane: the order of lanes at one address is not compared.
func (p *pair) addresses(r *rand.Rand, c *candidate) {
	switch c.in.Enc {
	case isa.DS:
		for i := range p.ours.LDS {
			p.ours.LDS[i] = byte(r.Uint32())
		}
		copy(p.theirs.Wavefront.LDS, p.ours.LDS)
		for l, at := range r.Perm(isa.Lanes) {
			p.ours.VGPR[8][l] = uint32(32 * at)
		}
	case isa.SMEM:
		p.fillMemory(r)
		p.ours.SGPR[8], p.ours.SGPR[9] = uint32(p.base), uint32(p.base>>32)
		p.ours.SGPR[16] = uint32(r.IntN(256)) * 4
	case isa.FLAT:
		p.fillMemory(r)
		for l, at := range r.Perm(isa.Lanes) {
			addr := p.base + uint64(32*at)
			if c.in.Src[1].Present() {
				p.ours.VGPR[8][l] = uint32(32 * at)
				p.ours.SGPR[16], p.ours.SGPR[17] = uint32(p.base), uint32(p.base>>32)
			} else {
				p.ours.VGPR[8][l], p.ours.VGPR[9][l] = uint32(addr), uint32(addr>>32)
			}
		}
	}
}

func (p *pair) fillMemory(r *rand.Rand) {
	b := make([]byte, 4096)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	p.mem[0].Write(p.base, b)
	p.mem[1].Write(p.base, b)
}

// step runs the instruction on both sides. known is false where MGPUSim does
// not have it.
func (p *pair) step(c *candidate, alu *cdna3.ALU) (known bool, err error) {
	func() {
		defer func() { known = recover() == nil }()
		alu.SetLDS(p.theirs.Wavefront.LDS)
		alu.Run(&p.theirs)
	}()
	if !known {
		return false, nil
	}
	return true, isa.Exec(&p.k, &c.in, &p.ours)
}

// differ describes the first difference, empty if there is none.
func (p *pair) differ(c *candidate) string {
	o, w := &p.ours, p.theirs.Wavefront
	if isa.IsBranch(c.in.Op) && (o.PC == target) != (w.PC() != startPC) {
		return fmt.Sprintf("taken: ours goes to %d, MGPUSim to %#x", o.PC, w.PC())
	}
	if o.SCC != (w.SCC() != 0) {
		return fmt.Sprintf("SCC: ours %v, MGPUSim %d", o.SCC, w.SCC())
	}
	if o.VCC() != w.VCC() {
		return fmt.Sprintf("VCC: ours %#x, MGPUSim %#x", o.VCC(), w.VCC())
	}
	if o.Exec() != w.EXEC() {
		return fmt.Sprintf("EXEC: ours %#x, MGPUSim %#x", o.Exec(), w.EXEC())
	}
	for i := range 102 {
		if a, b := o.SGPR[i], w.SRegValue(i); a != b {
			return fmt.Sprintf("s%d: ours %#x, MGPUSim %#x", i, a, b)
		}
	}
	for i := range 64 {
		for l := range isa.Lanes {
			if a, b := o.VGPR[i][l], w.VRegValue(l, i); !c.same(p, i, l, a, b) {
				return fmt.Sprintf("v%d lane %d: ours %#x, MGPUSim %#x; sources %#x %#x %#x", i, l, a, b,
					o.VGPR[8][l], o.VGPR[16][l], o.VGPR[24][l])
			}
		}
	}
	if !slices.Equal(o.LDS, w.LDS) {
		return "LDS bytes"
	}
	var b [2][4096]byte
	for i := range b {
		p.mem[i].Read(p.base, b[i][:])
	}
	if b[0] != b[1] {
		return "memory bytes"
	}
	return ""
}

// approximate are the operations that the instruction set fixes to 1 ulp only.
var approximate = []string{"v_rcp_", "v_rsq_", "v_sqrt_", "v_exp_", "v_log_", "v_sin_", "v_cos_"}

// same compares a result: NaNs of a float result are alike, and approximate
// results may be 2 ulp apart, one on each side of the exact value.
func (c *candidate) same(p *pair, reg, lane int, a, b uint32) bool {
	if a == b {
		return true
	}
	name := c.in.Op.String()
	if reg < 40 || !strings.Contains(name, "_f") {
		return false
	}
	if strings.HasSuffix(name, "f64") {
		i := reg &^ 1
		wide := func(lo, hi uint32) float64 { return math.Float64frombits(uint64(hi)<<32 | uint64(lo)) }
		x := wide(p.ours.VGPR[i][lane], p.ours.VGPR[i+1][lane])
		y := wide(p.theirs.VRegValue(lane, i), p.theirs.VRegValue(lane, i+1))
		return x != x && y != y || c.approximate() && math.Abs(x-y) <= math.Abs(x)*1e-8
	}
	x, y := math.Float32frombits(a), math.Float32frombits(b)
	if x != x && y != y {
		return true
	}
	d := int64(int32(a)) - int64(int32(b))
	return c.approximate() && d >= -2 && d <= 2
}

func (c *candidate) approximate() bool {
	return slices.ContainsFunc(approximate, func(p string) bool { return strings.HasPrefix(c.in.Op.String(), p) })
}

func TestAgainstMGPUSim(t *testing.T) {
	log.SetOutput(io.Discard) // its panics log first
	defer log.SetOutput(os.Stderr)
	dis := insts.NewDisassembler()
	dis.IsCDNA3 = true
	p := newPair()
	alu := cdna3.NewALU(storage{p.mem[1]})
	opcodes, found := map[isa.Op]bool{}, map[string]bool{}
	for _, c := range candidates(t) {
		inst := decodeTheirs(dis, c.bytes)
		if inst == nil {
			continue
		}
		p.theirs.inst = inst
		r := rand.New(rand.NewPCG(1, uint64(c.in.Op)))
		for range statesN {
			p.randomize(r, &c)
			known, err := p.step(&c, alu)
			if !known {
				break
			}
			opcodes[c.in.Op] = true
			diff := ""
			if err != nil {
				diff = err.Error()
			} else {
				diff = p.differ(&c)
			}
			if diff == "" {
				continue
			}
			found[c.key] = true
			if _, listed := faults[c.key]; !listed {
				t.Errorf("%s (%s): %s", c.key, c.in.Text(isa.GFX942), diff)
			}
			break
		}
	}
	t.Logf("%d opcodes that both have, %d encodings differ for a listed reason", len(opcodes), len(found))
	if len(opcodes) < 220 {
		t.Errorf("only %d opcodes were compared", len(opcodes))
	}
	for key := range faults {
		if !found[key] {
			t.Errorf("%s is listed as a fault of MGPUSim, but nothing differs", key)
		}
	}
}

// decodeTheirs is MGPUSim's instruction, nil where it does not know the bytes.
func decodeTheirs(dis *insts.Disassembler, b []byte) (in *insts.Inst) {
	defer func() {
		if recover() != nil {
			in = nil
		}
	}()
	padded := append(slices.Clone(b), make([]byte, 8)...)
	in, err := dis.Decode(padded)
	if err != nil || in.ByteSize != len(b) {
		return nil
	}
	return in
}
