package cu

// View is the state of a CU after a cycle, for people.
type View struct {
	Cycle int64
	Waves []WaveView // by SIMD, then slot
	SIMDs []SIMDView
	LDS   LDSView
	VMEM  QueueView
}

// WaveView is a resident wave.
type WaveView struct {
	SIMD, Slot    int
	Group, Number int
	Inst          int32 // the next to issue
	Reason        StallReason
	Ready         bool // it holds no reason that is known: it is asked at its SIMD's next visit
	Priority      int
	VM, LGKM      int // outstanding operations
	AtBarrier     bool
	Issuing       bool // its last instruction still holds the issue slot
}

// SIMDView says until when a SIMD's units are taken.
type SIMDView struct{ MatrixFree, VALUFree int64 }

// QueueView is a queue's entries in use, all of them, and what has left it for
// memory.
type QueueView struct{ Used, Entries, InFlight int }

// LDSView is the LDS.
type LDSView struct {
	Pairs    []QueueView // FIFO of each SIMD pair
	Fills    int         // direct-to-LDS data that waits for the banks
	BankFree int64       // the banks are taken until then
}

// View describes the CU as it is after cycle now.
func (c *CU) View(now int64) View {
	v := View{Cycle: now}
	for i := range c.simds {
		s := &c.simds[i]
		v.SIMDs = append(v.SIMDs, SIMDView{s.mfmaFree, s.valuFree})
		for slot, w := range s.waves {
			if w == nil || w.ended || s.free>>slot&1 != 0 {
				continue
			}
			v.Waves = append(v.Waves, WaveView{SIMD: i, Slot: slot, Group: w.wg.id, Number: int(w.inWG), Inst: w.pc, Reason: w.reason, Ready: s.until[slot] <= now,
				Priority: int(w.prio), VM: w.vmCount(now), LGKM: w.lgkmCount(now), AtBarrier: w.atBar, Issuing: w.last > now})
		}
	}
	v.LDS = LDSView{Fills: c.lds.FillsQueued(), BankFree: c.lds.BankFree()}
	for p := range (len(c.simds) + 1) / 2 {
		v.LDS.Pairs = append(v.LDS.Pairs, QueueView{Used: c.spec.LDS.FIFOEntries - c.lds.FIFOFree(p), Entries: c.spec.LDS.FIFOEntries})
	}
	queued, flying := c.tcp.Queued()
	v.VMEM = QueueView{Used: queued, Entries: c.spec.TCP.QueueEntries, InFlight: flying}
	return v
}

// SetWatch installs a function that is called at the end of every Step.
func (c *CU) SetWatch(f func(now int64)) { c.watch = f }

// WaveSlots is the number of wave slots of a SIMD.
func (c *CU) WaveSlots() int { return c.spec.WaveSlots }

// WaveNumber is the number within its workgroup of the wave that holds a slot,
// simd*WaveSlots+slot, or held it last; -1 when none did.
func (c *CU) WaveNumber(slot int) int {
	if slot < 0 || slot >= len(c.waves) || c.waves[slot] == nil {
		return -1
	}
	return int(c.waves[slot].inWG)
}
