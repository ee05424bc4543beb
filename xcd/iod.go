package xcd

import (
	"github.com/sarchlab/akita/v4/sim"

	"github.com/whisker-sim/whisker/cache"
)

// IOD is the memory side: the LLC, the memory, and the links to the XCDs. The
// IODs of a package are one component: the links between them carry several
// times what the memory delivers, so their bandwidth is not modelled.
type IOD struct {
	*sim.ComponentBase

	engine  *Engine
	waker   waker
	llc     *cache.LLC
	ports   []sim.Port // one per XCD
	out     []burstSender
	links   []cache.Server // towards the XCDs
	latency int64
	line    int
	now     int64
	fabric  FabricStats
}

// Handle runs the die to the end of the window.
func (d *IOD) Handle(e sim.Event) error {
	if !d.waker.due(e) {
		return nil
	}
	end := d.engine.end
	for at := d.llc.Next(); at < end; at = d.llc.Next() {
		d.now = at
		d.llc.Advance(at)
	}
	for i := range d.out {
		d.out[i].flush()
	}
	if at := d.llc.Next(); at != cache.Never {
		d.waker.wake(at)
	}
	return nil
}

// Reply implements cache.LLCClient: a line leaves for an XCD.
func (d *IOD) Reply(now int64, xcd int, id uint32) {
	depart := d.links[xcd].Claim(now, d.line)
	d.fabric.ReadBytes += uint64(d.line)
	d.fabric.waited(depart - now)
	d.out[xcd].add(BurstLine{Depart: depart, ID: id, Bytes: uint16(d.line), Kind: LineFill})
}

// NotifyRecv takes messages between windows.
func (d *IOD) NotifyRecv(p sim.Port) {
	src := 0
	for d.ports[src] != p {
		src++
	}
	for m := p.RetrieveIncoming(); m != nil; m = p.RetrieveIncoming() {
		b := m.(*LineBurst)
		first := cache.Never
		for i := range b.N {
			l := &b.Lines[i]
			at := l.Depart + d.latency
			if l.Kind == LineWrite {
				d.llc.Write(at, src, l.Address, int(l.Bytes))
			} else {
				d.llc.Read(at, src, l.Address, l.ID)
			}
			first = min(first, at)
		}
		b.Release()
		d.waker.wake(first)
	}
}

// NotifyPortFree implements sim.Component; ports never fill.
func (d *IOD) NotifyPortFree(sim.Port) {}
