package isa

import (
	"fmt"
	"slices"
)

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
	allocLow   = 1 << 32 // the first address of Alloc

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
	if r, ok := m.Find(x.Base, x.Size); ok && r.Name == imageName && r.Base == x.Base {
		return nil
	}
	if err := m.Place(imageName, x.Base, x.Size); err != nil {
		return fmt.Errorf("isa: kernel %s: the image of its code object: %w", k.Name, err)
	}
	for _, s := range x.Segments {
		m.Write(x.Base+s.Offset, s.Data)
	}
	return nil
}

// imageName is the name of an image's region; like the copy of the code that
// waves fetch it is no buffer of the program.
const imageName = "code"

// Placed reports whether an address is an image's, which Place gives out and not
// Alloc.
func Placed(addr uint64) bool { return addr >= imageLow && addr < allocLow }

// Place reserves size bytes at an address below those of Alloc.
func (m *Memory) Place(name string, base, size uint64) error {
	if !Placed(base) || size > allocLow-base {
		return fmt.Errorf("%d bytes at %#x lie outside [%#x, %#x)", size, base, uint64(imageLow), uint64(allocLow))
	}
	at := 0
	for ; at < len(m.regions) && m.regions[at].Base < base+size; at++ {
		if r := &m.regions[at]; r.Base+r.Size > base {
			return fmt.Errorf("%d bytes at %#x overlap %q at %#x", size, base, r.Name, r.Base)
		}
	}
	m.regions = slices.Insert(m.regions, at, Region{Name: name, Base: base, Size: size})
	return nil
}
