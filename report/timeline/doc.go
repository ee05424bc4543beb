// Package timeline holds what a simulated run did cycle by cycle: which wave
// issued what, what held it in between, memory operations, LDS banks, barriers
// and workgroups. It is built while a run goes on (Builder), kept in a run file
// (WriteFile, ReadFile) and walked by everything that draws or exports it.
//
// A Recording is compact: two or three bytes an event, so that a million events
// are a small file. Lanes are decoded by iterators.
package timeline

import (
	"fmt"

	"github.com/whisker-sim/whisker/report"
)

// Kind says what a wave does in a segment: it issues, or it is held by the
// stall reason Kind-1 of report.StallReasons.
type Kind uint8

// Issue is the kind of a segment in which an instruction issues.
const Issue Kind = 0

// StallKind is the kind of stall reason i of report.StallReasons.
func StallKind(i int) Kind { return Kind(i + 1) }

// Name is the kind's name as reports print it.
func (k Kind) Name() string {
	if k == Issue {
		return "issue"
	}
	if int(k) <= len(report.StallReasons) {
		return report.StallReasons[k-1].Name
	}
	return "unknown"
}

// Recording is a recorded run.
type Recording struct {
	Run      *report.Run `msgpack:"-"` // kept as JSON beside the rest
	Window   Window
	Interval int // cycles of an issue slot
	SIMDs    int
	Slots    int // wave slots of a SIMD
	Engines  int // shader engines of an XCD
	End      int64
	Insts    []Inst
	CUs      []CU
	Groups   []Group // every workgroup of the launch, by number
	Grid     Grid
	LDS      []LDSAccess // one a DS instruction of the window
	Layouts  []LayoutView
	XCDs     []XCD
}

// Inst is a static instruction.
type Inst struct {
	PC       uint32
	Text     string
	Class    string // one of report.IssueClasses
	Busy     int32  // cycles of VALU or matrix pipe
	WaitVM   int16  // s_waitcnt: operations that may be outstanding; -1 otherwise
	WaitLGKM int16
	Barrier  bool
	Cluster  string // as the kernel marks it
	Target   int32  // of a branch, an index; -1
}

// CU is one recorded compute unit.
type CU struct {
	XCD, ID  int
	Lanes    []Lane // slots that held a wave, in order of slot
	Banks    []byte // see BankUse
	Barriers []byte // see Release
}

// Lane is one wave slot.
type Lane struct {
	SIMD, Slot int
	Waves      []Wave
	Segments   []byte // see Segment
	Memory     []byte // see MemoryOp
}

// Wave is one wave's stay in its slot; Ended is 0 while it goes on beyond the
// window.
type Wave struct {
	Group, Number int
	Start, End    int64
}

// Group is where and when one workgroup ran, and which tile of the output it
// computed.
type Group struct {
	XCD, CU    int
	Start, End int64
	Row, Col   int
}

// Grid is the output in tiles, and the block order that was used.
type Grid struct {
	Rows, Cols    int
	Window, Chunk int
	Tiled         bool // Row and Col of a Group are tiles; otherwise they only number workgroups
}

// XCD is what one die's caches did.
type XCD struct {
	L2Requests, L2Hits   int64 // hits on lines in flight count
	LLCRequests, LLCHits int64
}

// LDSAccess is the first execution of a DS instruction.
type LDSAccess struct {
	Inst      int32
	Addresses []uint32 // of 64 lanes
	Second    []uint32 // second address of read2 and write2, else empty
	Lanes     uint64   `json:",string"` // active
	Service   int32    // bank cycles
	Conflicts int32
	Bytes     int   // a lane
	Banks     int   // 4-byte banks
	Unit      int   // bytes that the banks arbitrate as one
	Phase     []int // of each lane
}

// Lane returns the recorded lane of a slot, nil when it held no wave.
func (c *CU) Lane(simd, slot int) *Lane {
	for i := range c.Lanes {
		if c.Lanes[i].SIMD == simd && c.Lanes[i].Slot == slot {
			return &c.Lanes[i]
		}
	}
	return nil
}

// Name is the CU's name, as in 0.3: XCD and CU.
func (c *CU) Name() string { return fmt.Sprintf("%d.%d", c.XCD, c.ID) }

// LayoutView is one access of a named LDS layout with and without its swizzle.
type LayoutView struct {
	Layout, Op  string
	Access      int
	RowBytes    int
	Rows        int
	SwizzleText string
	Off, On     *LDSAccess // On is nil when the swizzle tears a lane's data apart
}
