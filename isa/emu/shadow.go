package emu

import (
	"fmt"
	"math/bits"

	"github.com/whisker-sim/whisker/isa"
)

// record is one instruction's write of LDS bytes.
type record struct {
	wave int32
	pc   int32
	// done is the number of barriers that the writer had passed when its wait
	// covered the write; notDone before. Waves that pass a later barrier see it.
	done  int32
	clock uint32 // releases that the writer had made then
	dma   bool
}

const notDone = -1

// shadow keeps, per LDS dword, who wrote it last and who read it last.
type shadow struct {
	records []record
	writer  []uint32 // record number, 0 if never written
	readers []reader
}

// reader is the last epoch in which a dword was read and the wave that read it,
// or manyWaves.
type reader struct {
	epoch int32
	wave  int32
	pc    int32
}

const manyWaves = -1

func (s *shadow) init(bytes int) {
	s.writer = make([]uint32, (bytes+3)/4)
	s.readers = make([]reader, (bytes+3)/4)
}

func (s *shadow) reset() {
	s.records = append(s.records[:0], record{}) // number 0 means none
	clear(s.writer)
	for i := range s.readers {
		s.readers[i] = reader{epoch: -1}
	}
}

// finish notes that the writer's wait covered a record at its epoch.
func (s *shadow) finish(n uint32, epoch int, clock uint32) {
	s.records[n].done, s.records[n].clock = int32(epoch), clock
}

// ordered reports whether wave i, at an epoch, may use the bytes of record r: a
// wave's own LDS instructions run in order, its direct-to-LDS loads need its
// wait, and another wave's writes need that wave's wait and a barrier after it,
// or a flag that says so.
func (r *record) ordered(i, epoch int, byDMA bool, c *clocks) bool {
	if int(r.wave) == i {
		return r.done != notDone || r.dma == byDMA
	}
	return r.done != notDone && (epoch > int(r.done) || c != nil && c.after(i, int(r.wave), r.clock))
}

// checkLDS checks the bytes that an instruction touches and returns the record
// of its writes, 0 if it only reads.
func (r *runner) checkLDS(i int, w *wave, pc int, c *code) (uint32, error) {
	a := &w.s.Access
	u := ldsUse{r: r, wave: i, w: w, pc: pc, c: c}
	if c.writesLDS {
		r.shadow.records = append(r.shadow.records, record{wave: int32(i), pc: int32(pc), done: notDone, dma: c.class.LDSDMA})
		u.record = uint32(len(r.shadow.records) - 1)
	}
	lanes := a.Lanes
	if c.class.LDSDMA {
		lanes = w.s.Exec() // lanes out of a buffer's range write zeros
	}
	for m := lanes; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		addr := uint32(a.Addr[l])
		if c.class.LDSDMA {
			addr = a.LDS + uint32(l)*uint32(a.LDSStride)
		}
		if err := u.touch(l, addr); err != nil {
			return 0, err
		}
		if c.class.TwoAddr {
			if err := u.touch(l, uint32(a.Addr2[l])); err != nil {
				return 0, err
			}
		}
	}
	return u.record, nil
}

// ldsUse is one instruction's use of LDS.
type ldsUse struct {
	r      *runner
	wave   int
	w      *wave
	pc     int
	c      *code
	record uint32
}

func (u *ldsUse) touch(lane int, addr uint32) error {
	s := &u.r.shadow
	if uint64(addr)+uint64(u.c.ldsBytes) > uint64(len(u.r.lds)) {
		return fmt.Errorf("emu: kernel %s: workgroup %v wave %d lane %d: %s uses LDS bytes [%#x, %#x) of %#x: %w",
			u.r.k.Name, u.r.wgID, u.wave, lane, u.r.at(u.pc), addr, addr+u.c.ldsBytes, len(u.r.lds), isa.ErrOutOfBounds)
	}
	epoch := u.w.epoch
	atomic := u.c.class.Atomic
	clocks := u.r.clocks
	flag := clocks != nil && clocks.steers[u.pc]
	for d := addr / 4; d <= (addr+u.c.ldsBytes-1)/4; d++ {
		if n := s.writer[d]; n != 0 && n != u.record {
			// Atomics of several waves on one dword need no order among them, and
			// writes of parts of a dword may leave each other's bytes alone.
			rec := &s.records[n]
			prev := &u.r.code[rec.pc]
			free := (atomic || flag) && prev.class.Atomic || !u.c.readsLDS && (u.c.ldsBytes < 4 || prev.ldsBytes < 4)
			if !free && !rec.ordered(u.wave, epoch, u.c.class.LDSDMA, clocks) {
				return u.race(rec, d)
			}
		}
		rd := &s.readers[d]
		if u.c.writesLDS {
			if !atomic && u.c.ldsBytes >= 4 && int(rd.epoch) >= epoch && int(rd.wave) != u.wave && (clocks == nil || !clocks.readersDone(u.wave, d)) {
				return u.overwrite(rd, d)
			}
			s.writer[d] = u.record
		}
		if clocks != nil {
			u.meet(clocks, d, flag)
		}
		if u.c.readsLDS && !atomic {
			switch {
			case int(rd.epoch) < epoch:
				*rd = reader{int32(epoch), int32(u.wave), int32(u.pc)}
			case int(rd.wave) != u.wave:
				rd.wave = manyWaves
			}
		}
	}
	return nil
}

// meet orders waves through a flag, or notes a read of data.
func (u *ldsUse) meet(c *clocks, dword uint32, flag bool) {
	atomic := u.c.class.Atomic
	if flag || atomic && u.c.class.Return {
		c.acquire(u.wave, dword)
	}
	switch {
	case atomic:
		c.release(u.wave, dword)
	case u.c.readsLDS:
		c.read(u.wave, dword)
	}
}

// race names the write that the instruction is not ordered after.
func (u *ldsUse) race(rec *record, dword uint32) error {
	verb := "reads"
	if u.c.writesLDS {
		verb = "overwrites"
	}
	why := fmt.Sprintf("wave %d had not waited for it before a barrier or flag that orders the two", rec.wave)
	if int(rec.wave) == u.wave {
		why = "which no s_waitcnt covers"
	}
	return fmt.Errorf("emu: kernel %s: workgroup %v wave %d: %s %s LDS bytes at %#x written by wave %d's %s: %s: %w",
		u.r.k.Name, u.r.wgID, u.wave, u.r.at(u.pc), verb, dword*4, rec.wave, u.r.at(int(rec.pc)), why, ErrHazard)
}

// overwrite names a read that no barrier puts before the write.
func (u *ldsUse) overwrite(rd *reader, dword uint32) error {
	return fmt.Errorf("emu: kernel %s: workgroup %v wave %d: %s overwrites LDS bytes at %#x that another wave reads with %s: no barrier or flag lies between: %w",
		u.r.k.Name, u.r.wgID, u.wave, u.r.at(u.pc), dword*4, u.r.at(int(rd.pc)), ErrHazard)
}
