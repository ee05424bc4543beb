package xcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sarchlab/akita/v4/sim"

	"github.com/whisker-sim/whisker/cache"
)

// runWindows runs all dies, window by window, until the kernel has completed.
// Windows are of the fabric's latency, one behind the other from the kernel's
// begin: where they lie does not depend on what happens in them, which a recorder
// or a hook changes. One without an event of any die is left out, so that idle time
// costs nothing.
func (c *Chip) runWindows(ctx context.Context, k Kernel) error {
	threads := c.threads
	if k.Ordered {
		threads = 1
	}
	p := newPool(c.engines, threads)
	defer p.close()
	told, windows := -1, 0
	alive, aliveAt := uint64(0), c.now
	begin := c.now
	watchAt := begin + progressWindows*c.latency
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped after %d of %d workgroups: %w", c.finished(), k.Workgroups, err)
		}
		c.clock.gate.wait()
		start := cache.Never
		for _, e := range c.engines {
			start = min(start, e.next())
		}
		if c.command.waiting == 0 && start == cache.Never {
			c.command.endAt = max(c.command.endAt, c.iod.written)
			if k.StopAt > 0 && c.command.endAt > begin+k.StopAt { // the last message is under way
				c.now = begin + k.StopAt
				return errStopped
			}
			return nil // and what was written back has reached LLC and memory
		}
		if start == cache.Never {
			return c.deadlock(k, begin)
		}
		c.clock.now.Store(start)
		n := (start - begin) / c.latency
		from := begin + n*c.latency
		for ; k.Watch != nil && watchAt <= from; watchAt += progressWindows * c.latency {
			k.Watch(watchAt)
		}
		c.now = from + c.latency
		if k.StopAt > 0 && c.command.waiting > 0 {
			c.now = min(c.now, begin+k.StopAt) // what arrives by then was sent in an earlier window
		}
		if err := p.run(from, c.now, n&1 != 0); err != nil {
			return err
		}
		var err error
		if c.scratch, err = exchange(c.bridges, c.scratch); err != nil {
			return err
		}
		for k.MarkEvery > 0 && c.finished() >= k.MarkEvery*(len(c.marks)+1) {
			c.marks = append(c.marks, c.now-begin)
		}
		if k.StopAt > 0 && c.now-begin >= k.StopAt && c.command.waiting > 0 || k.StopAfter > 0 && c.finished() >= k.StopAfter {
			return errStopped
		}
		if k.GoOn != nil && c.finished() >= k.LookAfter {
			if !k.GoOn() {
				return errStopped
			}
			k.GoOn = nil
		}
		if windows++; windows == collapseAfter && len(c.xcds)*len(c.xcds[0].cus) >= collapseCUs {
			collapseHeap()
		}
		if k.Alive != nil && windows%livelockWindows == 0 {
			if n := k.Alive(); n != alive {
				alive, aliveAt = n, c.now
			} else if c.now-aliveAt > LivelockCycles {
				return c.livelock(k, begin, aliveAt)
			}
		}
		if k.Progress != nil {
			if n := c.finished(); n != told || windows%progressWindows == 0 {
				told = n
				k.Progress(int64(n), int64(k.Workgroups), c.now)
			}
		}
	}
}

// collapseHeap takes a quarter of a second, which pays for runs of more than some
// seconds of chips whose state is far larger than the host's caches.
const (
	collapseAfter = 256 // windows: four seconds of a whole MI355X
	collapseCUs   = 64
)

// errStopped ends a launch at Kernel.StopAt or StopAfter, or where GoOn says no.
var errStopped = errors.New("stopped as asked")

// progressWindows is how many windows pass at most between two calls of
// Progress, and exactly between two of Watch.
const progressWindows = 64

// livelockWindows is how many windows pass between two looks at Kernel.Alive.
const livelockWindows = 1024

// pool runs the dies of a window on several threads. Dies share nothing within
// a window but the bytes of memory (see Kernel.Ordered), so which thread takes
// which die has no effect.
type pool struct {
	engines []*Engine
	errs    []error
	next    atomic.Int64
	back    bool // this window's dies are run from the last to the first, see run
	start   []chan struct{}
	wait    sync.WaitGroup
}

func newPool(engines []*Engine, threads int) *pool {
	p := &pool{engines: engines, errs: make([]error, len(engines))}
	for range min(threads, len(engines)) - 1 {
		ch := make(chan struct{})
		p.start = append(p.start, ch)
		go func() {
			for range ch {
				p.work()
				p.wait.Done()
			}
		}()
	}
	return p
}

func (p *pool) close() {
	for _, ch := range p.start {
		close(ch)
	}
}

// run runs every die from cycle begin, when the window begins, up to cycle end. Of
// several errors it returns that of the first die. Windows run the dies forwards
// and backwards in turn: what the last ones have left in the host's caches is used
// before it is gone.
func (p *pool) run(begin, end int64, back bool) error {
	p.back = back
	for _, e := range p.engines {
		e.begin, e.end, e.back = begin, end, back
	}
	p.next.Store(0)
	p.wait.Add(len(p.start))
	for _, ch := range p.start {
		ch <- struct{}{}
	}
	p.work()
	p.wait.Wait()
	for _, err := range p.errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *pool) work() {
	for {
		i := int(p.next.Add(1)) - 1
		if i >= len(p.engines) {
			return
		}
		if p.back {
			i = len(p.engines) - 1 - i
		}
		p.errs[i] = p.engines[i].RunUntil(p.engines[i].end)
	}
}

// chipEngine is the chip as one Akita engine: what a monitor watches, pauses and
// continues. A chip is run by Chip.Run only.
type chipEngine struct {
	sim.HookableBase
	chip *Chip
	now  atomic.Int64 // cycle; read by the monitor's goroutine
	gate pauseGate
}

// CurrentTime returns the beginning of the window being run.
func (e *chipEngine) CurrentTime() sim.VTimeInSec {
	return e.chip.engines[0].seconds(e.now.Load())
}

// Schedule puts an event on the IOD's engine.
func (e *chipEngine) Schedule(ev sim.Event) {
	e.chip.engines[len(e.chip.engines)-1].Schedule(ev)
}

// Run returns at once: a kernel is started by Chip.Run.
func (e *chipEngine) Run() error { return nil }

// Pause stops the chip at the end of the current window.
func (e *chipEngine) Pause() { e.gate.pause() }

// Continue undoes Pause.
func (e *chipEngine) Continue() { e.gate.open() }
