package emu

import "github.com/whisker-sim/whisker/isa"

// clocks order the waves of a workgroup that meet through LDS flags: an atomic
// releases what its wave has done so far, and a read of that flag which steers
// the reader takes it over. Every wave counts its releases; seen[i][k] is how
// many of wave k's wave i knows to be over. Barriers are releases of everyone
// to everyone.
type clocks struct {
	waves   int
	steers  []bool // instructions that read a flag, by index
	seen    [][]uint32
	flags   map[uint32][]uint32 // by dword
	readers []uint32            // by dword and wave: its count at the latest read, 0 never
}

// newClocks returns nil for a kernel without LDS atomics, whose waves meet at
// barriers only.
func newClocks(k *isa.Kernel, code []code) *clocks {
	atomics := false
	for i := range code {
		atomics = atomics || code[i].class.Unit == isa.UnitLDS && code[i].class.Atomic || k.Insts[i].Op.IsExtension()
	}
	if !atomics {
		return nil
	}
	c := &clocks{waves: k.Waves(), steers: make([]bool, len(code)), flags: map[uint32][]uint32{}, readers: make([]uint32, (k.LDSBytes+3)/4*k.Waves())}
	for _, i := range isa.NewSlice(k).Loads {
		c.steers[i] = code[i].class.Unit == isa.UnitLDS
	}
	c.seen = make([][]uint32, c.waves)
	for i := range c.seen {
		c.seen[i] = make([]uint32, c.waves)
	}
	return c
}

func (c *clocks) reset() {
	clear(c.flags)
	clear(c.readers)
	for i := range c.seen {
		clear(c.seen[i])
		c.seen[i][i] = 1
	}
}

// now is wave i's own count.
func (c *clocks) now(i int) uint32 { return c.seen[i][i] }

// after reports whether wave i knows that wave k passed the count.
func (c *clocks) after(i, k int, count uint32) bool { return c.seen[i][k] >= count }

func join(to, from []uint32) {
	for i, v := range from {
		to[i] = max(to[i], v)
	}
}

// release hands what wave i knows to whoever reads the flag.
func (c *clocks) release(i int, dword uint32) {
	f := c.flags[dword]
	if f == nil {
		f = make([]uint32, c.waves)
		c.flags[dword] = f
	}
	join(f, c.seen[i])
	c.seen[i][i]++
}

// acquire takes over what the flag's writers knew.
func (c *clocks) acquire(i int, dword uint32) {
	if f := c.flags[dword]; f != nil {
		join(c.seen[i], f)
	}
}

// meet is a barrier of the waves that wait.
func (c *clocks) meet(waves []wave) {
	all := make([]uint32, c.waves)
	for i := range waves {
		if waves[i].waiting {
			join(all, c.seen[i])
		}
	}
	for i := range waves {
		if waves[i].waiting {
			join(c.seen[i], all)
			c.seen[i][i]++
		}
	}
}

// read notes that wave i read a dword.
func (c *clocks) read(i int, dword uint32) { c.readers[int(dword)*c.waves+i] = c.now(i) }

// readersDone reports whether wave i knows that the other waves' reads of a
// dword are over: LDS instructions of a wave run in order, so that a release
// comes after the reads before it.
func (c *clocks) readersDone(i int, dword uint32) bool {
	for k, count := range c.readers[int(dword)*c.waves:][:c.waves] {
		if k != i && count > c.seen[i][k] {
			return false
		}
	}
	return true
}
