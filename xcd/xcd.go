package xcd

import (
	"fmt"
	"math/bits"

	"github.com/sarchlab/akita/v4/sim"

	"github.com/whisker-sim/whisker/cache"
)

// ComputeUnit is what an XCD drives. Cycles never decrease from call to call. A
// returned next cycle is the earliest at which the CU must be stepped again,
// cache.Never when only memory or a launch can change its state; it replaces
// what was returned before.
type ComputeUnit interface {
	// Step advances to now.
	Step(now int64) (next int64)
	// LineReturned brings the data of a Read to the CU's port.
	LineReturned(now int64, tag uint32) (next int64)
	// WriteAcked acknowledges a Write.
	WriteAcked(now int64, tag uint32) (next int64)
	// CanHost reports whether one more workgroup of the running kernel fits.
	CanHost() bool
	// Launch starts a workgroup, given by its linear dispatch index. The CU
	// calls its done function when the workgroup has ended.
	Launch(now int64, wg int) (next int64)
}

// Failer is implemented by a CU that can meet an error in the kernel it runs.
type Failer interface{ Err() error }

// Dumper is implemented by a CU that can say what its waves wait for.
type Dumper interface{ Dump() string }

// XCD is one accelerator die: its CUs, its L2 and its dispatcher.
type XCD struct {
	*sim.ComponentBase

	index      int
	engine     *Engine
	waker      waker
	memory     sim.Port
	control    sim.Port
	commander  sim.RemotePort
	cus        []ComputeUnit
	failers    []Failer
	wakes      *wakeQueue
	l2         *cache.TCC
	dispatch   *dispatcher
	out        burstSender
	link       cache.Server // towards the IOD
	latency    int64        // of the fabric, one way
	reqBytes   int
	everyCycle bool
	err        error

	now       int64
	launchAt  int64 // arrival of a launch not yet begun, or cache.Never
	launch    *Control
	firstWave int64
	lastEnd   int64
	fabric    FabricStats
}

// Handle runs the die to the end of the window.
func (x *XCD) Handle(e sim.Event) error {
	if !x.waker.due(e) {
		return nil
	}
	end := x.engine.end
	for {
		at := x.nextCycle()
		if at >= end {
			break
		}
		x.now = at
		x.cycle(at)
		if x.err != nil {
			return x.err
		}
		if x.dispatch.active && x.dispatch.done() && x.l2.Idle() {
			x.finish(at)
		}
	}
	x.out.flush(x.now)
	if at := x.nextCycle(); at != cache.Never {
		x.waker.wake(at)
	}
	return nil
}

func (x *XCD) nextCycle() int64 {
	at := min(x.l2.Next(), x.wakes.next(), x.dispatch.at, x.launchAt)
	if x.everyCycle && x.dispatch.active {
		at = min(at, x.now+1)
	}
	return at
}

// cycle runs one core cycle: what memory brings, then launches, then the CUs in
// order of their number.
func (x *XCD) cycle(now int64) {
	x.l2.Advance(now)
	if x.launchAt <= now {
		x.launchAt = cache.Never
		x.firstWave, x.lastEnd = cache.Never, now
		x.dispatch.begin(now, x.launch.List, x.launch.Waves)
	}
	if x.dispatch.at <= now {
		if x.firstWave == cache.Never {
			x.firstWave = now
		}
		x.dispatch.step(now, x.wakes)
	}
	due := x.wakes.take(now)
	if x.everyCycle {
		due = 1<<len(x.cus) - 1
	}
	for ; due != 0; due &= due - 1 {
		cu := bits.TrailingZeros64(due)
		next := x.cus[cu].Step(now)
		if next <= now {
			x.err = fmt.Errorf("%s: CU %d at cycle %d asks to be stepped at cycle %d again", x.Name(), cu, now, next)
			return
		}
		x.wakes.set(cu, next)
		if f := x.failers[cu]; f != nil && f.Err() != nil {
			x.err = fmt.Errorf("%s: CU %d at cycle %d: %w", x.Name(), cu, now, f.Err())
			return
		}
	}
}

// workgroupDone is called by a CU while it is stepped.
func (x *XCD) workgroupDone(cu int, now int64) {
	x.lastEnd = max(x.lastEnd, now)
	x.dispatch.ended(now, cu)
}

// finish writes the dirty lines back, invalidates the L2 and tells the command
// processor. The message follows the last write-back on the link, so it arrives
// when the data have left the fabric.
func (x *XCD) finish(now int64) {
	x.dispatch.active = false
	x.l2.Flush(now)
	x.out.flush(now)
	depart := x.link.Claim(now, x.reqBytes)
	x.fabric.RequestBytes += uint64(x.reqBytes)
	send(x.control, x.commander, &Control{Kind: ControlComplete, Sent: now, Arrive: depart + x.latency}, 0)
}

// Read implements cache.L2Port.
func (x *XCD) Read(now int64, cu int, line uint64, tag uint32) int64 {
	return x.l2.Read(now, cu, line, tag)
}

// Write implements cache.L2Port.
func (x *XCD) Write(now int64, cu int, line uint64, bytes int, tag uint32) int64 {
	return x.l2.Write(now, cu, line, bytes, tag)
}

// LineReturned implements cache.TCCClient.
func (x *XCD) LineReturned(now int64, cu int, tag uint32) {
	x.wakes.set(cu, max(now, x.cus[cu].LineReturned(now, tag)))
}

// WriteAcked implements cache.TCCClient.
func (x *XCD) WriteAcked(now int64, cu int, tag uint32) {
	x.wakes.set(cu, max(now, x.cus[cu].WriteAcked(now, tag)))
}

// Fetch implements cache.TCCClient: a request takes RequestBytes of the link.
func (x *XCD) Fetch(now int64, line uint64, id uint32) {
	depart := x.link.Claim(now, x.reqBytes)
	x.fabric.RequestBytes += uint64(x.reqBytes)
	x.fabric.QueueCycles += uint64(depart - now)
	x.out.add(now, BurstLine{Address: line, Depart: depart, ID: id, Kind: LineRead})
}

// WriteBack implements cache.TCCClient.
func (x *XCD) WriteBack(now int64, line uint64, bytes int) {
	depart := x.link.Claim(now, x.reqBytes+bytes)
	x.fabric.RequestBytes += uint64(x.reqBytes)
	x.fabric.WriteBytes += uint64(bytes)
	x.fabric.QueueCycles += uint64(depart - now)
	x.out.add(now, BurstLine{Address: line, Depart: depart, Bytes: uint16(bytes), Kind: LineWrite})
}

// NotifyRecv takes messages between windows.
func (x *XCD) NotifyRecv(p sim.Port) {
	for m := p.RetrieveIncoming(); m != nil; m = p.RetrieveIncoming() {
		switch m := m.(type) {
		case *LineBurst:
			first := cache.Never
			for i := range m.N {
				l := &m.Lines[i]
				at := l.Depart + x.latency
				x.l2.Fill(at, l.ID)
				first = min(first, at)
			}
			m.Release()
			x.waker.wake(first)
		case *Control:
			x.launch, x.launchAt = m, m.Arrive
			x.waker.wake(m.Arrive)
		}
	}
}

// NotifyPortFree implements sim.Component; ports never fill.
func (x *XCD) NotifyPortFree(sim.Port) {}

// busy reports whether a launch has not completed.
func (x *XCD) busy() bool { return x.dispatch.active || x.launchAt != cache.Never }

// dump says what the CUs wait for.
func (x *XCD) dump() string {
	s := fmt.Sprintf("%s: %d of %d workgroups ended, %d launched\n", x.Name(), x.dispatch.finished, x.dispatch.list.count, x.dispatch.next)
	for i, c := range x.cus {
		if d, ok := c.(Dumper); ok && x.dispatch.load[i] > 0 {
			s += fmt.Sprintf("CU %d: %s\n", i, d.Dump())
		}
	}
	return s
}
