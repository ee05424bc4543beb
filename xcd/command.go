package xcd

import (
	"github.com/sarchlab/akita/v4/sim"

	"github.com/whisker-sim/whisker/cache"
)

// CommandProcessor starts a kernel on all XCDs and waits until all have
// completed. It lives on the IOD's engine and sends over the fabric.
type CommandProcessor struct {
	*sim.ComponentBase

	waker   waker
	ports   []sim.Port // one per XCD
	remotes []sim.RemotePort
	lists   []workList
	waves   int
	latency int64
	startAt int64 // cycle at which the launch leaves
	waiting int   // XCDs that have not completed
	endAt   int64 // arrival of the last completion
}

// Handle sends a launch.
func (c *CommandProcessor) Handle(e sim.Event) error {
	if !c.waker.due(e) {
		return nil
	}
	for i, p := range c.ports {
		send(p, c.remotes[i], &Control{
			Kind: ControlLaunch, Sent: c.startAt, Arrive: c.startAt + c.latency,
			Waves: c.waves, List: c.lists[i],
		}, 0)
	}
	return nil
}

// begin schedules a launch.
func (c *CommandProcessor) begin(at int64, lists []workList, waves int) {
	c.lists, c.waves, c.startAt, c.waiting, c.endAt = lists, waves, at, len(c.ports), 0
	c.waker.wake(at)
}

// NotifyRecv takes completions between windows.
func (c *CommandProcessor) NotifyRecv(p sim.Port) {
	for m := p.RetrieveIncoming(); m != nil; m = p.RetrieveIncoming() {
		c.waiting--
		c.endAt = max(c.endAt, m.(*Control).Arrive)
	}
}

// NotifyPortFree implements sim.Component; ports never fill.
func (c *CommandProcessor) NotifyPortFree(sim.Port) {}

var (
	_ sim.Component   = (*CommandProcessor)(nil)
	_ sim.Component   = (*IOD)(nil)
	_ sim.Component   = (*XCD)(nil)
	_ sim.Engine      = (*Engine)(nil)
	_ sim.Connection  = (*Bridge)(nil)
	_ cache.L2Port    = (*XCD)(nil)
	_ cache.TCCClient = (*XCD)(nil)
	_ cache.LLCClient = (*IOD)(nil)
)
