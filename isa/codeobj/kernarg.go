package codeobj

import (
	"encoding/binary"
	"fmt"
)

// Grid is the shape of a launch.
type Grid struct {
	Workgroups [3]int
	Workgroup  [3]int // work-items
	DynamicLDS int    // bytes
}

// Kernarg fills a kernel's argument segment: args are the bytes of the explicit
// arguments in order; the hidden ones follow from the grid (LLVM AMDGPUUsage,
// "Code Object V5 Metadata", hidden arguments). Pointers that only a host
// runtime has, such as the printf buffer and the heap, are zero.
func Kernarg(m *Meta, args [][]byte, g Grid) ([]byte, error) {
	b := make([]byte, m.KernargBytes)
	explicit := m.Explicit()
	if len(args) != len(explicit) {
		return nil, fmt.Errorf("kernel %s takes %d arguments, not %d", m.Name, len(explicit), len(args))
	}
	for i, a := range explicit {
		if len(args[i]) != a.Size {
			return nil, fmt.Errorf("kernel %s: argument %d (%s) has %d bytes, not %d", m.Name, i, a.label(), a.Size, len(args[i]))
		}
		copy(b[a.Offset:], args[i])
	}
	for _, a := range m.Args {
		if !a.Hidden() {
			continue
		}
		var v [8]byte
		binary.LittleEndian.PutUint64(v[:], g.hidden(a.ValueKind))
		if a.Size > len(v) {
			return nil, fmt.Errorf("kernel %s: hidden argument %s has %d bytes", m.Name, a.ValueKind, a.Size)
		}
		copy(b[a.Offset:], v[:a.Size])
	}
	return b, nil
}

// hidden is the value of a hidden argument. Grids are whole workgroups, so that
// nothing remains.
func (g *Grid) hidden(kind string) uint64 {
	dim := func(v [3]int) uint64 { return uint64(v[kind[len(kind)-1]-'x']) }
	switch kind {
	case "hidden_block_count_x", "hidden_block_count_y", "hidden_block_count_z":
		return dim(g.Workgroups)
	case "hidden_group_size_x", "hidden_group_size_y", "hidden_group_size_z":
		return dim(g.Workgroup)
	case "hidden_grid_dims":
		for d := 2; d > 0; d-- {
			if g.Workgroups[d]*g.Workgroup[d] > 1 {
				return uint64(d + 1)
			}
		}
		return 1
	case "hidden_dynamic_lds_size":
		return uint64(g.DynamicLDS)
	}
	return 0
}

// PacketBytes is the size of a dispatch packet.
const PacketBytes = 64

// Packet is the AQL packet of a launch (HSA Runtime 1.2, "Kernel Dispatch
// Packet"), which kernels of code object version 4 read sizes from. kernarg is
// the address of the argument segment.
func Packet(m *Meta, g Grid, kernarg uint64) []byte {
	b := make([]byte, PacketBytes)
	le := binary.LittleEndian
	le.PutUint16(b, 2) // a kernel dispatch
	dims := 1
	for d := range 3 {
		if g.Workgroups[d]*g.Workgroup[d] > 1 {
			dims = d + 1
		}
		le.PutUint16(b[4+2*d:], uint16(g.Workgroup[d]))
		le.PutUint32(b[12+4*d:], uint32(g.Workgroups[d]*g.Workgroup[d]))
	}
	le.PutUint16(b[2:], uint16(dims))
	le.PutUint32(b[24:], uint32(m.PrivateBytes))
	le.PutUint32(b[28:], uint32(m.GroupBytes+g.DynamicLDS))
	le.PutUint64(b[40:], kernarg)
	return b
}

// label names an argument for a message.
func (a *Arg) label() string {
	switch {
	case a.Name != "":
		return a.Name
	case a.TypeName != "":
		return a.TypeName
	}
	return a.ValueKind
}
