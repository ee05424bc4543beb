package isa

import "fmt"

// Kernel is decoded code with what a launch needs to know about it. It comes
// from the tile builder, a code object or a trace; after that the simulator
// does not know which.
type Kernel struct {
	Name  string
	CPU   CPU
	Insts []Inst // in address order; branch targets are resolved in Inst.Target
	Entry int    // index of the first instruction that runs: past the prologue of code whose arguments are preloaded

	VGPRs, AGPRs int // architectural and accumulation registers per lane, before the allocation granule
	SGPRs        int
	LDSBytes     int // static and dynamic LDS of a workgroup, before the allocation granule
	ScratchBytes int // per lane
	KernargBytes int // size of the kernel argument segment, for the exported descriptor
	Workgroup    [3]int

	// Args are the arguments in the order of their offsets, for the exported
	// metadata; nil describes every 8 bytes as a value.
	Args []KernelArg

	ABI ABI

	// Image is the code object that the code reaches relative to the program
	// counter, nil for code that never asks for it; CodeBase is then the address of
	// pc 0 in it, and 0 otherwise.
	Image    *Image
	CodeBase uint64

	// Of kernels that move registers between their waves (x_set_registers): the
	// registers that every wave starts with, and by wave of a workgroup the most
	// that it holds afterwards. 0 and nil: every wave holds VGPRs and AGPRs.
	StartRegisters int
	WaveRegisters  []int
}

// KernelArg is one argument of a kernel.
type KernelArg struct {
	Name         string
	Offset, Size int  // bytes
	Pointer      bool // the address of a buffer in global memory
}

// Arguments are Args, or every 8 bytes of the segment as a value.
func (k *Kernel) Arguments() []KernelArg {
	if k.Args != nil {
		return k.Args
	}
	var args []KernelArg
	for off := 0; off < k.KernargBytes; off += 8 {
		args = append(args, KernelArg{Offset: off, Size: min(8, k.KernargBytes-off)})
	}
	return args
}

// ABI says which initial registers the command processor fills
// (semantics: code object V5, LLVM AMDGPUUsage "Initial Kernel Execution State").
type ABI struct {
	DispatchPtr, QueuePtr, KernargPtr, DispatchID bool
	PreloadDwords, PreloadOffset                  int // kernel arguments preloaded into SGPRs
	PrivateSegmentSize                            bool
	UserSGPRs                                     int // user SGPR count; 0 means as many as the enabled ones
	WorkgroupID                                   [3]bool
	WorkgroupInfo                                 bool
	WorkitemIDDims                                int // 0: x, 1: x and y, 2: x, y and z

	// Mode is the MODE register that a wave starts with; 0 means DefaultMode.
	Mode uint32
}

// Launch is one dispatch of a kernel.
type Launch struct {
	Kernel     *Kernel
	Workgroups [3]int // grid in workgroups
	Kernarg    []byte
	Memory     *Memory

	DispatchPacket uint64 // address of the AQL packet, for kernels that read it; 0: none
}

// NumWorkgroups is the number of workgroups in the grid.
func (l *Launch) NumWorkgroups() int { return l.Workgroups[0] * l.Workgroups[1] * l.Workgroups[2] }

// kernargLine is what the segment of a launch's arguments is rounded up to.
// Compilers read arguments in wide scalar loads that end behind the last of them:
// clang 22 reads eight dwords at 0x20 of a segment of 60 bytes.
const kernargLine = 64

// PlaceKernarg puts the arguments into memory and returns their address.
func (l *Launch) PlaceKernarg() uint64 {
	size := (max(len(l.Kernarg), 1) + kernargLine - 1) / kernargLine * kernargLine
	at := l.Memory.Alloc("kernarg", uint64(size))
	l.Memory.Write(at, l.Kernarg)
	return at
}

// WorkgroupID splits the linear dispatch index into x, y, z.
func (l *Launch) WorkgroupID(i int) [3]int {
	x, y := l.Workgroups[0], l.Workgroups[1]
	return [3]int{i % x, i / x % y, i / (x * y)}
}

// WorkgroupSize is the number of work-items of a workgroup.
func (k *Kernel) WorkgroupSize() int { return k.Workgroup[0] * k.Workgroup[1] * k.Workgroup[2] }

// Waves is the number of 64-lane waves of a workgroup.
func (k *Kernel) Waves() int { return (k.WorkgroupSize() + 63) / 64 }

// At returns the instruction index of a pc, a byte offset from the first code:
// the kernel's entry, or the functions in front of it that it calls.
func (k *Kernel) At(pc uint32) (int, error) {
	lo, hi := 0, len(k.Insts)
	for lo < hi {
		m := (lo + hi) / 2
		if k.Insts[m].PC < pc {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(k.Insts) && k.Insts[lo].PC == pc {
		return lo, nil
	}
	return 0, fmt.Errorf("isa: kernel %s: %w at pc %#x", k.Name, ErrOutside, pc)
}
