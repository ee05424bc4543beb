package xcd

import (
	"github.com/sarchlab/akita/v4/sim"

	"github.com/whisker-sim/whisker/cache"
)

// IOD is the memory side: the LLC, the memory, the links to the XCDs and those between
// the IODs of a package, which are one component.
type IOD struct {
	*sim.ComponentBase

	engine  *Engine
	waker   waker
	llc     *cache.LLC
	mesh    *mesh      // nil when there is one IOD
	home    []int      // the IOD of each XCD
	slices  []int      // the IOD of each slice of the LLC
	ports   []sim.Port // one per XCD
	out     []burstSender
	links   []cache.Server // towards the XCDs
	latency int64          // from an XCD to its IOD
	written int64          // the cycle in which the last written line came over the links between IODs
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
	for at := d.next(); at < end; at = d.next() {
		d.now = at
		if d.mesh != nil && d.mesh.next <= at {
			d.mesh.advance(at)
		}
		if d.llc.Next() <= at {
			d.llc.Advance(at)
		}
	}
	for i := range d.out {
		d.out[i].flush()
	}
	if at := d.next(); at != cache.Never {
		d.waker.wake(at)
	}
	return nil
}

func (d *IOD) next() int64 {
	if d.mesh == nil {
		return d.llc.Next()
	}
	return min(d.llc.Next(), d.mesh.next)
}

// Reply implements cache.LLCClient: a line leaves for an XCD.
func (d *IOD) Reply(now int64, xcd int, id uint32, slice int) {
	if at := d.slices[slice]; at != d.home[xcd] {
		d.mesh.reply(now, meshLine{id: id, bytes: uint16(d.line), from: int16(at), to: int16(d.home[xcd]), xcd: uint8(xcd)})
		return
	}
	d.leave(now, xcd, id)
}

// hop is the time from an IOD to its neighbour.
func (d *IOD) hop() int64 {
	if d.mesh == nil {
		return 0
	}
	return d.mesh.hop
}

// crossed takes what has come over the links between IODs to its end.
func (d *IOD) crossed(now int64, l *meshLine) {
	if l.write {
		d.written = now
		d.llc.Write(now, int(l.xcd), d.mesh.span()+1, l.address, int(l.bytes))
		return
	}
	d.leave(now, int(l.xcd), l.id)
}

// leave puts a line onto the link to its XCD.
func (d *IOD) leave(now int64, xcd int, id uint32) {
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
			hops, slice := 0, 0
			if d.mesh != nil {
				slice = d.llc.Slice(l.Address)
				hops = d.mesh.distance(d.home[src], d.slices[slice])
			}
			switch {
			case l.Kind == LineRead:
				d.llc.Read(at+int64(hops)*d.hop(), src, hops, l.Address, l.ID)
			case hops == 0:
				d.llc.Write(at, src, 0, l.Address, int(l.Bytes))
			default:
				d.mesh.injectAt(meshLine{at: at, address: l.Address, bytes: l.Bytes, xcd: uint8(src), write: true,
					from: int16(d.home[src]), to: int16(d.slices[slice])})
			}
			first = min(first, at)
		}
		b.Release()
		d.waker.wake(first)
	}
}

// NotifyPortFree implements sim.Component; ports never fill.
func (d *IOD) NotifyPortFree(sim.Port) {}
