package isa

import (
	"encoding/binary"
	"fmt"
	"sort"
	syncatomic "sync/atomic"
)

// Region is one allocation of device memory.
type Region struct {
	Name string
	Base uint64
	Size uint64
}

const (
	pageBits  = 16
	pageSize  = 1 << pageBits
	chunkBits = 12 // pages of a chunk: 256 MiB
	maxChunks = 1 << 13
)

type (
	page  [pageSize]byte
	chunk [1 << chunkBits]syncatomic.Pointer[page]
)

// Memory is the one sparse backing store of a device: caches hold tags, this
// holds bytes. Pages appear when written; an untouched byte of a region reads
// as zero. An access outside every region is an error of the program.
//
// Several goroutines may read and write at once. What they see of bytes that
// others write at the same time is undefined, as on the device.
type Memory struct {
	regions []Region // sorted by Base
	chunks  [maxChunks]syncatomic.Pointer[chunk]
	next    uint64
}

// NewMemory returns an empty device memory.
func NewMemory() *Memory { return &Memory{next: allocLow} }

// Alloc reserves size bytes aligned to 2 MiB (the driver's fragment) and
// returns the base address.
func (m *Memory) Alloc(name string, size uint64) uint64 {
	const align = 2 << 20
	base := m.next
	m.regions = append(m.regions, Region{name, base, size})
	// A guard of one fragment separates neighbours, so that an overrun is seen.
	m.next = (base+size+align-1)&^(align-1) + align
	return base
}

// Regions lists the allocations in address order.
func (m *Memory) Regions() []Region { return m.regions }

// Find returns the region that holds all of [addr, addr+n).
func (m *Memory) Find(addr, n uint64) (Region, bool) {
	i := sort.Search(len(m.regions), func(i int) bool { return m.regions[i].Base > addr })
	if i == 0 {
		return Region{}, false
	}
	r := m.regions[i-1]
	return r, addr-r.Base < r.Size && n <= r.Size-(addr-r.Base)
}

// Check reports an access outside every region.
func (m *Memory) Check(addr, n uint64) error {
	if _, ok := m.Find(addr, n); ok {
		return nil
	}
	return fmt.Errorf("access of %d bytes at %#x is outside every allocation", n, addr)
}

// page finds the page of an address. Without make it returns nil for a page
// that was never written.
func (m *Memory) page(addr uint64, make bool) *page {
	num := addr >> pageBits
	ci := num >> chunkBits
	if ci >= maxChunks {
		if make {
			panic(fmt.Sprintf("isa: write at %#x, beyond the device's address space", addr))
		}
		return nil
	}
	c := m.chunks[ci].Load()
	if c == nil {
		if !make {
			return nil
		}
		m.chunks[ci].CompareAndSwap(nil, new(chunk))
		c = m.chunks[ci].Load()
	}
	e := &c[num&(1<<chunkBits-1)]
	p := e.Load()
	if p == nil && make {
		e.CompareAndSwap(nil, new(page))
		p = e.Load()
	}
	return p
}

// Read copies len(b) bytes at addr into b.
func (m *Memory) Read(addr uint64, b []byte) {
	for len(b) > 0 {
		off := addr & (pageSize - 1)
		n := min(len(b), int(pageSize-off))
		if p := m.page(addr, false); p != nil {
			copy(b[:n], p[off:])
		} else {
			clear(b[:n])
		}
		b, addr = b[n:], addr+uint64(n)
	}
}

// Write copies b to addr.
func (m *Memory) Write(addr uint64, b []byte) {
	for len(b) > 0 {
		off := addr & (pageSize - 1)
		n := copy(m.page(addr, true)[off:], b)
		b, addr = b[n:], addr+uint64(n)
	}
}

// Load32 reads a dword at any alignment.
func (m *Memory) Load32(addr uint64) uint32 {
	if off := addr & (pageSize - 1); off <= pageSize-4 {
		p := m.page(addr, false)
		if p == nil {
			return 0
		}
		return binary.LittleEndian.Uint32(p[off:])
	}
	var b [4]byte
	m.Read(addr, b[:])
	return binary.LittleEndian.Uint32(b[:])
}

// Store32 writes a dword at any alignment.
func (m *Memory) Store32(addr uint64, v uint32) {
	if off := addr & (pageSize - 1); off <= pageSize-4 {
		binary.LittleEndian.PutUint32(m.page(addr, true)[off:], v)
		return
	}
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	m.Write(addr, b[:])
}
