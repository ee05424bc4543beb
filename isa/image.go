package isa

import "fmt"

// Image is the loaded form of a code object: the segments that instructions
// reach relative to the program counter (constant tables, globals, the code
// itself), at one base with the distances that the linker gave them. Its address
// is fixed when the file is read, so that a kernel has the same addresses in
// every memory.
type Image struct {
	Base     uint64 // address of the lowest byte
	Size     uint64
	Segments []Segment
}

// Segment is a part of an image with bytes; what lies between segments is zero.
type Segment struct {
	Offset uint64 // from the image's base
	Data   []byte
}

// Images lie below the first address that Alloc gives out.
const (
	imageLow   = 1 << 30
	imageSlots = 1024
	imageAlign = 2 << 20

	// MaxImage is the most bytes that an image spans.
	MaxImage = 1 << 30
)

// ImageBase is the address of an image whose contents have a hash.
func ImageBase(hash uint64) uint64 { return imageLow + hash%imageSlots*imageAlign }

// Load puts the kernel's image into memory, where an earlier launch of a kernel
// of the same code object has not: globals keep their values between launches, as
// they do on the device.
func (k *Kernel) Load(m *Memory) error {
	x := k.Image
	if x == nil {
		return nil
	}
	at := 0
	for ; at < len(m.regions) && m.regions[at].Base < x.Base+x.Size; at++ {
		r := &m.regions[at]
		if r.Base == x.Base && r.Size == x.Size && r.Name == imageName {
			return nil
		}
		if r.Base+r.Size > x.Base {
			return fmt.Errorf("isa: kernel %s: the image of its code object overlaps allocation %q at %#x", k.Name, r.Name, r.Base)
		}
	}
	regions := append(m.regions[:at:at], Region{Name: imageName, Base: x.Base, Size: x.Size})
	m.regions = append(regions, m.regions[at:]...)
	for _, s := range x.Segments {
		m.Write(x.Base+s.Offset, s.Data)
	}
	return nil
}

// imageName is the name of an image's region; like the copy of the code that
// waves fetch it is no buffer of the program.
const imageName = "code"
