package main

import (
	"fmt"
	"reflect"

	"github.com/whisker-sim/whisker/sim"
)

// kernelFlags are the options of the kernels that run by name. Which of them a
// kernel has, and what they may be, the kernel says.
type kernelFlags struct {
	Size *int `group:"Kernel" placeholder:"N" help:"gemm: set --m, --n and --k at once."`

	M        *int    `kernel:"m" group:"Kernel" placeholder:"N" help:"gemm: rows of C (default 8192)."`
	N        *int    `kernel:"n" group:"Kernel" placeholder:"N" help:"gemm: columns of C (default 8192)."`
	K        *int    `kernel:"k" group:"Kernel" placeholder:"N" help:"gemm: inner dimension (default 8192)."`
	Tile     *string `kernel:"tile" group:"Kernel" placeholder:"MxN" help:"gemm: workgroup tile, such as 256x256; HipKittens' own for the size unless given."`
	Schedule *string `kernel:"schedule" group:"Kernel" placeholder:"NAME" help:"Wave schedule, such as pingpong8, interleave4 or producer-consumer (whisker list kernels)."`
	MFMA     *string `name:"mfma" kernel:"mfma" group:"Kernel" placeholder:"MxNxK" help:"gemm: matrix instruction, such as 16x16x16 (gfx942), 16x16x32 or 32x32x16 (gfx950)."`
	Order    *string `kernel:"order" group:"Kernel" placeholder:"NAME" help:"Order of the blocks: remap (the default), full-range, contiguous, row-major, column-major, grouped or hilbert."`
	DType    *string `name:"dtype" kernel:"dtype" group:"Kernel" placeholder:"TYPE" help:"Input type, such as bf16 or fp8."`
	Variant  *string `kernel:"variant" group:"Kernel" placeholder:"NAME" help:"gemm: v1 or v2 of a form that has two; of fp6, dwordx3 or dwordx4."`
	Window   *int    `short:"W" kernel:"window" group:"Kernel" placeholder:"W" help:"Rows of tiles in a window of the block remap; 0: no windows."`
	Chunk    *int    `short:"C" kernel:"chunk" group:"Kernel" placeholder:"C" help:"Consecutive blocks that an XCD gets in the block remap; 0: no chunks."`

	Producers   *int    `kernel:"producers" group:"Kernel" placeholder:"N" help:"gemm producer-consumer: waves that load (4)."`
	Consumers   *int    `kernel:"consumers" group:"Kernel" placeholder:"N" help:"gemm producer-consumer: waves that compute, 8 or 12."`
	Stages      *int    `kernel:"stages" group:"Kernel" placeholder:"N" help:"gemm producer-consumer: LDS buffers, 2 or 3."`
	Handshake   *string `kernel:"handshake" group:"Kernel" placeholder:"NAME" help:"gemm producer-consumer: barrier or lds-atomic."`
	Descriptors *string `kernel:"descriptors" group:"Kernel" placeholder:"NAME" help:"gemm producer-consumer: where loads find their buffer descriptor, sgpr or vgpr (as clang compiles it)."`
	Features    *string `kernel:"features" group:"Kernel" placeholder:"A,B" help:"gemm producer-consumer: what-ifs to use on a machine that has them: dynamic_registers, mfma_lds_operands, tile_copy, mbarrier, or all."`

	Break *string `kernel:"break" group:"Kernel" placeholder:"WHAT" help:"gemm: a kernel that is wrong or slow on purpose: wait:N, swizzle or stagger."`

	Batch     *int     `kernel:"batch" group:"Kernel" placeholder:"N" help:"attention, layernorm, rotary: batches (default 16)."`
	Heads     *int     `kernel:"heads" group:"Kernel" placeholder:"N" help:"attention, rotary: heads (default 16)."`
	KVHeads   *int     `name:"kv-heads" kernel:"kv-heads" group:"Kernel" placeholder:"N" help:"attention: KV heads, fewer than --heads for GQA (default: as --heads)."`
	Seq       *int     `kernel:"seq" group:"Kernel" placeholder:"N" help:"attention, layernorm, rotary: tokens (default 4096)."`
	Dim       *int     `kernel:"dim" group:"Kernel" placeholder:"N" help:"attention, rotary: elements of a head (default 128); layernorm: of a row (default 2048)."`
	Causal    *bool    `kernel:"causal" group:"Kernel" help:"attention: hide later keys."`
	Rescale   *string  `kernel:"rescale" group:"Kernel" placeholder:"WHEN" help:"attention: rescale outputs lazily (lazy, the default) or for each KV block (always)."`
	Dropout   *float64 `kernel:"dropout" group:"Kernel" placeholder:"P" help:"layernorm: probability of an element to be dropped (default 0.01)."`
	Footprint *string  `kernel:"footprint" group:"Kernel" placeholder:"SIZE" help:"chase, stream: bytes to go over, such as 64MiB (the default)."`
	Hops      *int     `kernel:"hops" group:"Kernel" placeholder:"N" help:"chase: dependent loads (default 4096)."`
	Load      *string  `kernel:"load" group:"Kernel" placeholder:"KIND" help:"chase: scalar (the default) or vector."`
	Loads     *int     `kernel:"loads" group:"Kernel" placeholder:"N" help:"stream: loads in flight of a wave (default 8)."`
	Width     *int     `kernel:"width" group:"Kernel" placeholder:"BYTES" help:"stream: bytes of a lane and load (default 2)."`
	Waves     *int     `kernel:"waves" group:"Kernel" placeholder:"N" help:"stream: waves of a SIMD (default 1)."`
	Groups    *int     `name:"workgroups" kernel:"workgroups" group:"Kernel" placeholder:"N" help:"stream: workgroups for each wave of a SIMD; as many as there are CUs unless given."`
	Passes    *int     `kernel:"passes" group:"Kernel" placeholder:"N" help:"stream: passes over the footprint; 512 MiB in all unless given."`
	Layout    *string  `kernel:"layout" group:"Kernel" placeholder:"NAME" help:"stream: slices (each wave reads a part of its own) or together (neighbouring waves read neighbouring pieces)."`
	Test      *string  `kernel:"test" group:"Kernel" placeholder:"NAME" help:"micro: what to measure, such as lds, mfma or valu."`
	Op        *string  `kernel:"op" group:"Kernel" placeholder:"NAME" help:"micro: instruction under test."`
	Degree    *int     `kernel:"degree" group:"Kernel" placeholder:"N" help:"micro: lanes of an LDS phase in one bank."`
	Lanes     *string  `kernel:"lanes" group:"Kernel" placeholder:"A,B" help:"micro: the two lanes of an LDS probe."`
	Offset    *int     `kernel:"offset" group:"Kernel" placeholder:"DWORDS" help:"micro: distance of the two lanes' addresses in an LDS probe."`
	Dependent *bool    `kernel:"dependent" group:"Kernel" help:"micro: each operation takes the result of the one before."`
	Fill      *int     `kernel:"fill" group:"Kernel" placeholder:"N" help:"micro: vector instructions after each matrix instruction."`
	Priority  *int     `kernel:"priority" group:"Kernel" placeholder:"N" help:"micro: s_setprio of the matrix waves."`
	Trips     *int     `kernel:"trips" group:"Kernel" placeholder:"N" help:"micro: trips of the loop (default 4)."`
	Registers *string  `kernel:"registers" group:"Kernel" placeholder:"MODEL" help:"pinned: as the kernel states them; compiler: as a compiler that cannot feed AGPRs to matrix instructions, with its copies and spills; permuting: the same, and a loop that fills the AGPRs ends by permuting them through scratch, as seen of clang 22."`
}

// options are the flags that are given, by the names of the kernel's options.
func (f *kernelFlags) options(kernel string) (map[string]string, error) {
	out := map[string]string{}
	if f.Size != nil {
		if kernel != "gemm" {
			return nil, &sim.UsageError{Err: fmt.Errorf("--size sets the three sizes of a gemm; %s has none of them", kernel)}
		}
		for _, dim := range []string{"m", "n", "k"} {
			out[dim] = fmt.Sprint(*f.Size)
		}
	}
	v := reflect.ValueOf(*f)
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("kernel")
		if name != "" && !v.Field(i).IsNil() {
			out[name] = fmt.Sprint(v.Field(i).Elem().Interface())
		}
	}
	return out, nil
}
