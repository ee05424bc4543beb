package isa

// Lanes is the wavefront size of CDNA.
const Lanes = 64

// NumSGPRs covers every scalar operand code below the constants: s0..s101,
// FLAT_SCRATCH, XNACK_MASK, VCC, TTMP, M0 and EXEC.
const NumSGPRs = 128

// VReg is one vector register: a dword a lane.
type VReg [Lanes]uint32

// State is the architectural state of one wave. SGPR holds VCC, M0 and EXEC at
// their operand codes, so that scalar operands are plain indexing.
type State struct {
	CPU  CPU
	SGPR [NumSGPRs]uint32
	SCC  bool
	PC   int // index into Kernel.Insts of the next instruction
	Mode uint32

	VGPR []VReg // architectural registers
	AGPR []VReg // accumulation registers

	LDS  []byte // of the workgroup; shared by its waves
	Mem  *Memory
	Info WaveInfo

	Scratch [][Lanes]uint32 // private memory, one row a dword

	Ended bool

	Registers int // vector registers held, where x_set_registers changes that

	Access Access // filled by Exec for memory instructions

	tmp [3]VReg // sources of a vector instruction that are not plain registers
}

// WaveInfo is what hardware registers say about a wave's place.
type WaveInfo struct {
	Workgroup [3]int
	WaveInWG  int
	XCC       int
	HWID      uint32
	Clock     func() uint64 // s_memtime; nil reads as zero
}

// Exec returns the EXEC mask.
func (s *State) Exec() uint64 { return uint64(s.SGPR[ExecLo]) | uint64(s.SGPR[ExecHi])<<32 }

// SetExec sets the EXEC mask.
func (s *State) SetExec(v uint64) { s.SGPR[ExecLo], s.SGPR[ExecHi] = uint32(v), uint32(v>>32) }

// VCC returns the vector condition code.
func (s *State) VCC() uint64 { return uint64(s.SGPR[VCCLo]) | uint64(s.SGPR[VCCHi])<<32 }

// SetVCC sets the vector condition code.
func (s *State) SetVCC(v uint64) { s.SGPR[VCCLo], s.SGPR[VCCHi] = uint32(v), uint32(v>>32) }

// Access is the address side of a memory instruction: what the timing model
// needs of it whether or not data moves.
type Access struct {
	Lanes     uint64        // lanes that access memory (EXEC less those out of a buffer's range)
	Addr      [Lanes]uint64 // per lane: byte address in memory, or LDS byte address for DS
	Addr2     [Lanes]uint64 // second address of ds_read2/ds_write2
	Bytes     uint8         // bytes per lane and address
	LDS       uint32        // direct-to-LDS: byte address of lane 0's data in the workgroup's LDS
	LDSStride uint8         // direct-to-LDS: bytes between lanes
}
