package trace

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
)

// Launch describes one launch of a kernel: what a machine must know beside the
// program and the waves.
type Launch struct {
	Kernel     string `json:"kernel"`      // name
	CPU        string `json:"cpu"`         // LLVM processor, such as gfx950
	Origin     string `json:"origin"`      // run, att or text: who says what the waves did
	Writer     string `json:"writer"`      // program and version
	Program    string `json:"program"`     // Program.Hash
	Entry      int    `json:"entry"`       // index of the first instruction
	Workgroups [3]int `json:"workgroups"`  // grid
	Workgroup  [3]int `json:"workgroup"`   // work-items
	VGPRs      int    `json:"vgprs"`       // a lane
	AGPRs      int    `json:"agprs"`       // a lane
	SGPRs      int    `json:"sgprs"`       //
	LDS        int    `json:"lds_bytes"`   // of a workgroup
	Scratch    int    `json:"scratch"`     // bytes a lane
	Kernarg    string `json:"kernarg_hex"` // kernel argument segment

	Machine  Machine `json:"machine"`
	ClockMHz float64 `json:"clock_mhz"` // simulated core clock

	Cold    bool     `json:"cold"`    // caches were empty at the start
	Warm    []Range  `json:"warm"`    // what the LLC held at the start, oldest first
	Regions []Region `json:"regions"` // memory that the kernel may access, in order of allocation

	// Dependence lists what makes the stream depend on time or place, so that
	// another machine would have executed another one.
	Dependence []Dependence `json:"dependence,omitempty"`
	// Notes are said with every result that is made from the trace.
	Notes []string `json:"notes,omitempty"`
	// Slice says how the trace was cut out of a larger one.
	Slice string `json:"slice,omitempty"`
	// Extra belongs to the program that wrote the trace; others pass it on.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// Machine is the machine that a launch was recorded on.
type Machine struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
	YAML string `json:"yaml"` // machine file, resolved
}

// Range is a piece of memory that the LLC held before the launch.
type Range struct {
	Base  uint64 `json:"base"`
	Bytes uint64 `json:"bytes"`
	Dirty bool   `json:"dirty"`
}

// Region is a memory allocation.
type Region struct {
	Name  string `json:"name"`
	Base  uint64 `json:"base"`
	Bytes uint64 `json:"bytes"`
}

// Dependence is an instruction by which the stream of a wave depends on when
// or where the wave ran.
type Dependence struct {
	Kind string `json:"kind"` // clock, spin, order or place
	PC   uint32 `json:"pc"`
	Text string `json:"text"` // of the instruction
}

// Result closes a launch.
type Result struct {
	Cycles       int64  `json:"cycles"`       // of the recorded run; 0 when there was none
	Instructions uint64 `json:"instructions"` // of all waves
	Waves        int    `json:"waves"`
}

// Inst is one instruction of a program.
type Inst struct {
	PC     uint32 // byte offset from the kernel's entry
	Target int32  // index of the instruction that a branch names, -1 for none
	Code   []byte // machine code
}

// Program is the code of a kernel in order of address.
type Program []Inst

// Hash identifies a program.
func (p Program) Hash() string {
	h := sha256.Sum256(p.encode())
	return hex.EncodeToString(h[:])
}

func (p Program) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(len(p)))
	pc := uint32(0)
	for i := range p {
		in := &p[i]
		b = binary.AppendUvarint(b, zigzag(int64(in.PC)-int64(pc)))
		b = binary.AppendUvarint(b, uint64(in.Target+1))
		b = binary.AppendUvarint(b, uint64(len(in.Code)))
		b = append(b, in.Code...)
		pc = in.PC + uint32(len(in.Code))
	}
	return b
}

func decodeProgram(b []byte) (Program, error) {
	d := decoder{b: b, what: "program"}
	p := make(Program, min(d.count(3, "the number of instructions"), maxInsts))
	pc := int64(0)
	for i := range p {
		pc += d.varint()
		target := d.upTo(len(p), "a branch target")
		code := d.bytes(d.upTo(64, "the length of an instruction"))
		if d.err == nil && (pc < 0 || pc > 1<<31) {
			d.fail("an instruction lies at %#x", pc)
		}
		if d.err != nil {
			return nil, d.err
		}
		p[i] = Inst{PC: uint32(pc), Target: int32(target) - 1, Code: code}
		pc += int64(len(code))
	}
	return p, d.end()
}
