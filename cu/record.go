package cu

import "github.com/whisker-sim/whisker/isa"

// Counter names the counter that a memory operation raises and s_waitcnt waits
// for.
type Counter uint8

// Counters.
const (
	CounterVM Counter = iota
	CounterLGKM
)

// Recorder takes what a CU does, for timelines. Cycles are those of Step. A
// wave is named by its slot, simd*wave slots+slot within the SIMD, and a memory
// operation by its place pos in the ring of its counter. A recorder must not
// change anything; it is called from the CU's thread. The events of one wave
// come in order of time and leave no gap: a stall begins where the issue or
// stall before it ended.
type Recorder interface {
	// Wave tells that wave number wave of workgroup group starts.
	Wave(start int64, slot, group, wave int)
	// End tells that the wave of a slot is gone from cycle end on.
	End(end int64, slot int)
	// Issue tells that an instruction takes the issue slot that begins at now.
	Issue(now int64, slot int, inst int32)
	// Stall tells what kept a wave from issuing, and before which instruction.
	Stall(from, to int64, slot int, r StallReason, inst int32)
	// MemoryIssue tells that the instruction that issues at now is counted.
	MemoryIssue(now int64, slot int, c Counter, pos uint32, inst int32)
	// MemoryDone tells the cycle at from which the counter no longer counts it.
	MemoryDone(at int64, slot int, c Counter, pos uint32)
	// Bank tells that the LDS banks serve an operation of a wave, its own or the
	// data of a direct-to-LDS load.
	Bank(at int64, cycles int32, slot int, c Counter, pos uint32)
	// Barrier tells that the wave of slot last was the last to arrive, and that
	// the wave of slot woken may go on.
	Barrier(arrived, released int64, last, woken int)
	// LDSAccess shows the byte addresses of a DS instruction's active lanes.
	LDSAccess(inst int32, a *isa.Access, twoAddr bool, service, conflicts int32)
}

// SetRecorder attaches a recorder; nil detaches it. Without one, recording
// costs a comparison at each place.
func (c *CU) SetRecorder(r Recorder) {
	c.rec = r
	c.observed = c.hook != nil || c.rec != nil
	c.lds.Granted = nil
	if r == nil {
		return
	}
	c.lds.Granted = func(at int64, cycles int32, tag uint32, fill bool) {
		if fill && tag >= tagExt {
			return // no wave's
		}
		counter := CounterLGKM
		if fill {
			counter = CounterVM
		}
		r.Bank(at, cycles, int(tag>>8), counter, tag&255)
	}
}

// index is the slot by which a recorder knows a wave.
func (c *CU) index(w *wave) int { return int(w.simd)*c.spec.WaveSlots + int(w.slot) }

// InstInfo is what a static instruction is to the timing model.
type InstInfo struct {
	Unit     isa.Unit
	Busy     int32 // cycles of VALU or matrix pipe
	WaitVM   int   // s_waitcnt, s_endpgm: outstanding operations allowed; -1 for any other instruction
	WaitLGKM int
	Barrier  bool
	LDS      bool
}

// Info describes instruction i.
func (p *Program) Info(i int) InstInfo {
	u := &p.uops[i]
	f := InstInfo{Unit: u.unit, Busy: u.busy, WaitVM: -1, WaitLGKM: -1, Barrier: u.kind == kindBarrier, LDS: u.kind == kindLDS}
	switch u.kind {
	case kindWaitcnt:
		f.WaitVM, f.WaitLGKM = int(u.waitVM), int(u.waitLGKM)
	case kindEnd:
		f.WaitVM, f.WaitLGKM = 0, 0
	}
	return f
}

// SetEnded installs a function that is told of every workgroup that ends.
func (c *CU) SetEnded(f func(wg int, start, end int64)) { c.groupEnded = f }

func (c *CU) memoryIssue(w *wave, now int64, counter Counter, pos uint32) {
	if c.rec != nil {
		c.rec.MemoryIssue(now, c.index(w), counter, pos, w.pc)
	}
}

// memoryDone takes a tag of slot<<8 | pos.
func (c *CU) memoryDone(at int64, tag uint32, counter Counter) {
	if c.rec != nil {
		c.rec.MemoryDone(at, int(tag>>8), counter, tag&255)
	}
}
