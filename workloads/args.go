package workloads

import (
	"encoding/binary"
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// describeArgs tells the kernel what its argument segment holds, for the metadata
// of an exported object: the addresses, each named by the region that it points
// into, then values of 32 bits.
func (b *Built) describeArgs() {
	l, k := b.Launch, b.Launch.Kernel
	k.Args = nil
	taken := map[string]bool{}
	for i := range b.Pointers {
		name := fmt.Sprintf("arg%d", i)
		p := binary.LittleEndian.Uint64(l.Kernarg[8*i:])
		if r, ok := l.Memory.Find(p, 1); ok && r.Base == p && !taken[r.Name] {
			name = r.Name
		}
		taken[name] = true
		k.Args = append(k.Args, isa.KernelArg{Name: name, Offset: 8 * i, Size: 8, Pointer: true})
	}
	for off := 8 * b.Pointers; off < len(l.Kernarg); off += 4 {
		k.Args = append(k.Args, isa.KernelArg{Name: fmt.Sprintf("arg%d", len(k.Args)), Offset: off, Size: 4})
	}
}
