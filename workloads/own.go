package workloads

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/whisker-sim/whisker/isa"
)

// Own is a kernel of your own under construction: a Builder that keeps the wait
// states between instructions, with what the launch hands over. docs/lessons has
// one that is built with it.
type Own struct {
	*Builder
	Args  Val // SGPR pair: address of the arguments, the pointers of the tensors
	Group Val // SGPR: number of the workgroup
	Item  Val // VGPR: number of the work-item in its workgroup
}

// NewOwn starts a kernel for cpu.
func NewOwn(cpu isa.CPU) *Own {
	k := &Own{Builder: NewBuilder(cpu, 1, 3), Args: reg(isa.S(0), 2), Group: reg(isa.S(2), 1), Item: reg(isa.V(0), 1)}
	k.states.on = true
	return k
}

// GlobalLoad emits a load of d from the 64-bit saddr + voff + offset; offset is
// from -4096 to 4095.
func (b *Builder) GlobalLoad(op isa.Op, d, voff, saddr Val, offset int) {
	b.Emit(isa.Inst{Op: op, Enc: isa.FLAT, Flags: isa.SegGlobal, Offset: int32(offset), Dst: d.Operand,
		Src: [4]isa.Operand{voff.Operand, saddr.Operand}})
}

// Tensor is memory that a kernel of your own works on: an input has Fill, an
// output has Want, what it should hold afterwards. Type is BF16 or F32.
type Tensor struct {
	Name       string
	Type       ValueType
	Fill, Want []float64
}

func (t *Tensor) bytes() int { return t.Type.Bytes() * max(len(t.Fill), len(t.Want)) }

func (t *Tensor) check() error {
	switch {
	case t.Type != BF16 && t.Type != F32:
		return fmt.Errorf("workloads: tensor %s has type %q; there are %s and %s", t.Name, t.Type, BF16, F32)
	case t.Name == "", t.bytes() == 0:
		return fmt.Errorf("workloads: tensor %q needs a name and values, Fill of an input or Want of an output", t.Name)
	}
	return nil
}

// write puts the values of an input at addr.
func (t *Tensor) write(mem *isa.Memory, addr uint64) {
	var buf []byte
	for _, v := range t.Fill {
		if t.Type == BF16 {
			buf = binary.LittleEndian.AppendUint16(buf, bf16Bits(float32(v)))
		} else {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(float32(v)))
		}
	}
	mem.Write(addr, buf)
}

// Job ends the kernel and makes it a measurement: groups workgroups of waves
// waves, whose arguments are the addresses of the tensors in this order. flops is
// what it counts as, limit the largest relative error that passes.
func (k *Own) Job(name string, groups, waves int, flops, limit float64, tensors ...Tensor) (*Job, error) {
	if groups < 1 || waves < 1 || waves > 16 {
		return nil, fmt.Errorf("workloads: %s: %d workgroups of %d waves; there must be one workgroup and 1 to 16 waves", name, groups, waves)
	}
	k.SOPP(isa.S_ENDPGM, 0)
	k.EndCluster()
	insts, err := k.Finish()
	if err != nil {
		return nil, err
	}
	mem := isa.NewMemory()
	l := &isa.Launch{Workgroups: [3]int{groups, 1, 1}, Memory: mem}
	addrs, types := make([]uint64, len(tensors)), ValueType(BF16)
	b := &Built{Launch: l, CPU: k.cpu, Dropped: -1, Waves: waves, Clusters: k.clusters, FLOPs: flops, Pointers: len(tensors)}
	values := int64(0)
	for i := range tensors {
		t := &tensors[i]
		if err := t.check(); err != nil {
			return nil, err
		}
		addrs[i] = mem.Alloc(t.Name, uint64(t.bytes()))
		l.Kernarg = binary.LittleEndian.AppendUint64(l.Kernarg, addrs[i])
		if t.Want != nil {
			b.Outputs = append(b.Outputs, t.Name)
			b.OutDType, types = string(t.Type), t.Type
			values += int64(len(t.Want))
		}
	}
	l.Kernel = &isa.Kernel{Name: name, CPU: k.cpu, Insts: insts, VGPRs: k.nextV, AGPRs: k.nextA, SGPRs: k.nextS, KernargBytes: len(l.Kernarg),
		Workgroup: [3]int{waves * isa.Lanes, 1, 1}, ABI: isa.ABI{KernargPtr: true, UserSGPRs: 2, WorkgroupID: [3]bool{true, false, false}}}
	b.describeArgs()
	b.data(func() {
		for i := range tensors {
			tensors[i].write(mem, addrs[i])
		}
	}, func(yield func(Expected)) error {
		for i := range tensors {
			if t := &tensors[i]; t.Want != nil {
				yield(Expected{Addr: addrs[i], Type: t.Type, Want: t.Want, Scale: rms(t.Want)})
			}
		}
		return nil
	})
	return &Job{Kernel: name, DType: string(types), Kernels: []*Built{b}, FLOPs: flops, Limit: limit, Values: values,
		FillInputs: b.FillInputs, Verify: b.Verify, Expect: b.Expect}, nil
}
