package cu

import (
	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/isa"
)

// Counter capacities of gfx9: vmcnt has 6 bits, lgkmcnt 4.
const (
	vmRing   = 64
	lgkmRing = 16
)

const notFlat = 0xff

// workgroup is a resident workgroup.
type workgroup struct {
	id       int
	waves    []*wave
	alive    int // waves that have not ended
	arrived  int // waves at the barrier
	start    int64
	issues   uint64 // instructions of waves that have ended
	lds      []byte
	bars     []mbar // barrier objects
	ldsDirty [2]int // bytes written without computing their value, [lo, hi)
	dirtyPC  int
}

// wave is a resident wave: scheduling state first, architectural state behind.
type wave struct {
	last    int64  // cycles before this one are accounted
	issues  uint64 // instructions
	reason  StallReason
	blame   int32 // instruction that the current reason is booked on
	pc      int32
	line    int32 // instruction cache line in the buffer, -1 none
	prio    uint8
	simd    uint8
	slot    uint8
	inWG    uint8
	atBar   bool
	ended   bool
	inLoop  bool
	fromTop bool   // is in the marked loop, which it entered at its start
	until   *int64 // the wave's of simd.until

	vmHead, vmTail     uint32
	lgkmHead, lgkmTail uint32

	age     uint64
	valuAt  int64 // issue of the latest VALU
	salWrAt int64 // issue of the latest VALU that wrote an SGPR
	epoch   uint32
	wg      *workgroup
	start   int64
	loopAt  int64
	regs    int32 // vector registers held, where they move

	vready []int64 // VALU issue cycle by scoreboard register
	mem    []memCache
	lds    []ldsCache
	// ldsUsual is, by bit of the index in lds, whether the cost at epoch ldsEpoch
	// is that of Stats.usual.
	ldsUsual []uint64
	ldsEpoch uint32
	visits   []int32  // by recorded branch
	log      WaveLog  // nil unless the wave is logged
	play     playback // used when a trace is replayed

	lgkm       [lgkmRing]lgkmOp
	vmDone     [vmRing]int64
	vmIssued   [vmRing]int64
	flatPos    [vmRing]uint8    // position in lgkm of a FLAT instruction, notFlat for others
	scalarLine [lgkmRing]uint64 // address of an outstanding scalar load, by position
	st         isa.State
}

// lgkmOp is an outstanding operation that lgkmcnt counts.
type lgkmOp struct {
	done   int64
	issued int64 // of an LDS instruction
}

// memCache keeps what a memory instruction touched the last time this wave ran
// it. While no vector register changed (epoch), the lanes' offsets are the
// same, and only the scalar base has moved.
type memCache struct {
	epoch  uint32
	valid  bool
	lanes  uint8
	base   uint64 // scalar part of the address
	line   uint64 // first line
	maxOff uint64 // largest lane offset plus access size
	lo, hi uint64 // the region that was checked
	lines  *cache.Lines
	_      uint64 // an entry is a line of the host's cache
}

// ldsCache keeps what a DS instruction cost the last time, while no vector
// register changed. It is small: a loop's entries are read once an iteration.
type ldsCache struct {
	seen      uint32 // epoch + 1, 0 never
	service   int32
	conflicts int32
}

func (w *wave) vmCount(now int64) int {
	for w.vmHead != w.vmTail && w.vmDone[w.vmHead%vmRing] <= now {
		w.vmHead++
	}
	return int(w.vmTail - w.vmHead)
}

func (w *wave) lgkmCount(now int64) int {
	for w.lgkmHead != w.lgkmTail && w.lgkm[w.lgkmHead%lgkmRing].done <= now {
		w.lgkmHead++
	}
	return int(w.lgkmTail - w.lgkmHead)
}

// vmAt is the cycle at which at most n vector memory operations are
// outstanding, cache.Never while unknown.
func (w *wave) vmAt(n int) int64 {
	at := int64(0)
	for i := w.vmHead; i != w.vmTail-uint32(n); i++ {
		at = max(at, w.vmDone[i%vmRing])
	}
	return at
}

func (w *wave) lgkmAt(n int) int64 {
	at := int64(0)
	for i := w.lgkmHead; i != w.lgkmTail-uint32(n); i++ {
		at = max(at, w.lgkm[i%lgkmRing].done)
	}
	return at
}

func (w *wave) pushVM() uint32 {
	pos := w.vmTail % vmRing
	w.vmDone[pos] = cache.Never
	w.vmTail++
	return pos
}

func (w *wave) pushLGKM() uint32 {
	pos := w.lgkmTail % lgkmRing
	w.lgkm[pos].done = cache.Never
	w.lgkmTail++
	return pos
}
