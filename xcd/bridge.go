package xcd

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sarchlab/akita/v4/sim"
)

// Bridge joins a port of one die to a port of another. Messages wait in
// the sending port until the window ends and no die runs; then exchange takes
// those of all bridges across together. Latency and bandwidth belong to the lines of a message, not
// to the bridge.
type Bridge struct {
	sim.HookableBase

	name  string
	ports [2]bridgePort
}

type bridgePort struct {
	port   sim.Port
	source int // order among messages of equal time
}

// crossing is a message on its way through a bridge.
type crossing struct {
	at     int64
	source int
	msg    sim.Msg
	bridge *Bridge
	to     sim.Port
}

// newBridge joins two ports; sources order their messages.
func newBridge(name string, a, b sim.Port, sourceA, sourceB int) *Bridge {
	br := &Bridge{name: name}
	br.ports[0].source, br.ports[1].source = sourceA, sourceB
	br.PlugIn(a)
	br.PlugIn(b)
	return br
}

// Name implements sim.Named.
func (b *Bridge) Name() string { return b.name }

// PlugIn implements sim.Connection; a bridge has two ends.
func (b *Bridge) PlugIn(p sim.Port) {
	for i := range b.ports {
		if b.ports[i].port == nil {
			b.ports[i].port = p
			p.SetConnection(b)
			return
		}
	}
	panic("xcd: bridge " + b.name + " has two ports already")
}

// Unplug implements sim.Connection.
func (b *Bridge) Unplug(p sim.Port) { panic("xcd: a bridge cannot be unplugged") }

// NotifyAvailable implements sim.Connection. Incoming ports are emptied at once.
func (b *Bridge) NotifyAvailable(sim.Port) {}

// NotifySend implements sim.Connection. Messages stay in the sending port, which
// only its own die touches, until the window ends.
func (b *Bridge) NotifySend() {}

// exchange delivers the messages of all bridges in order of (time, source,
// sequence). It runs between windows, on one thread.
func exchange(bridges []*Bridge, scratch []crossing) ([]crossing, error) {
	all := scratch[:0]
	for _, b := range bridges {
		for end := range b.ports {
			p, to := &b.ports[end], b.ports[1-end].port
			for m := p.port.RetrieveOutgoing(); m != nil; m = p.port.RetrieveOutgoing() {
				c := crossing{source: p.source, msg: m, bridge: b, to: to}
				if t, ok := m.(timed); ok {
					c.at = t.sentAt()
				}
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(x, y crossing) int {
		if c := cmp.Compare(x.at, y.at); c != 0 {
			return c
		}
		return cmp.Compare(x.source, y.source)
	})
	for _, c := range all {
		if c.bridge.NumHooks() > 0 {
			c.bridge.InvokeHook(sim.HookCtx{Domain: c.bridge, Pos: sim.HookPosConnDeliver, Item: c.msg, Detail: c.to})
		}
		if err := c.to.Deliver(c.msg); err != nil {
			return all, fmt.Errorf("port %s cannot take a message", c.to.Name())
		}
	}
	clear(all)
	return all[:0], nil
}
