package xcd

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/sarchlab/akita/v4/sim"

	"github.com/whisker-sim/whisker/cache"
)

// Engine is the event queue of one die. It implements sim.Engine, so any Akita
// component can be put on it, and orders events by (cycle, primary before
// secondary, order of scheduling). Time inside is an integer cycle; Akita's
// seconds exist only at the interface.
type Engine struct {
	sim.HookableBase

	hertz float64
	now   atomic.Int64 // cycle; read by the monitor's goroutine
	begin int64        // of the window being run
	end   int64        // of it, exclusive
	back  bool         // it is one that is run backwards
	seq   uint64
	queue []queued
	gate  pauseGate
}

type queued struct {
	cycle     int64
	seq       uint64
	secondary bool
	event     sim.Event
}

// newEngine makes an engine whose cycles are those of a clock of coreMHz.
func newEngine(coreMHz float64) *Engine {
	return &Engine{hertz: coreMHz * 1e6}
}

// seconds converts a cycle to Akita's time.
func (e *Engine) seconds(cycle int64) sim.VTimeInSec {
	return sim.VTimeInSec(float64(cycle) / e.hertz)
}

// CurrentTime returns the time of the event being handled, in seconds. Within
// one event a die runs on to the end of the window.
func (e *Engine) CurrentTime() sim.VTimeInSec { return e.seconds(e.now.Load()) }

// Schedule adds an event at the cycle nearest to its time.
func (e *Engine) Schedule(ev sim.Event) {
	cycle := int64(math.Round(float64(ev.Time()) * e.hertz))
	if w, ok := ev.(*wakeEvent); ok {
		cycle = w.cycle
	}
	e.seq++
	e.queue = append(e.queue, queued{cycle, e.seq, ev.IsSecondary(), ev})
	for i := len(e.queue) - 1; i > 0; {
		p := (i - 1) / 2
		if !e.less(i, p) {
			break
		}
		e.queue[i], e.queue[p] = e.queue[p], e.queue[i]
		i = p
	}
}

func (e *Engine) less(i, j int) bool {
	a, b := &e.queue[i], &e.queue[j]
	if a.cycle != b.cycle {
		return a.cycle < b.cycle
	}
	if a.secondary != b.secondary {
		return b.secondary
	}
	return a.seq < b.seq
}

func (e *Engine) pop() queued {
	top := e.queue[0]
	last := len(e.queue) - 1
	e.queue[0] = e.queue[last]
	e.queue[last] = queued{}
	e.queue = e.queue[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && e.less(c+1, c) {
			c++
		}
		if !e.less(c, i) {
			break
		}
		e.queue[i], e.queue[c] = e.queue[c], e.queue[i]
		i = c
	}
	return top
}

// next returns the cycle of the earliest event, or cache.Never.
func (e *Engine) next() int64 {
	if len(e.queue) == 0 {
		return cache.Never
	}
	return e.queue[0].cycle
}

// RunUntil handles all events before cycle end.
func (e *Engine) RunUntil(end int64) error {
	e.end = end
	for len(e.queue) > 0 && e.queue[0].cycle < end {
		q := e.pop()
		e.now.Store(q.cycle)
		if e.NumHooks() > 0 {
			e.InvokeHook(sim.HookCtx{Domain: e, Pos: sim.HookPosBeforeEvent, Item: q.event})
		}
		if err := q.event.Handler().Handle(q.event); err != nil {
			return err
		}
		if e.NumHooks() > 0 {
			e.InvokeHook(sim.HookCtx{Domain: e, Pos: sim.HookPosAfterEvent, Item: q.event})
		}
	}
	return nil
}

// Run handles events until none is left.
func (e *Engine) Run() error {
	for len(e.queue) > 0 {
		e.gate.wait()
		if err := e.RunUntil(e.queue[0].cycle + 1); err != nil {
			return err
		}
	}
	return nil
}

// Pause stops Run before its next cycle.
func (e *Engine) Pause() { e.gate.pause() }

// Continue undoes Pause.
func (e *Engine) Continue() { e.gate.open() }

// pauseGate holds a running simulation while it is paused.
type pauseGate struct {
	mu     sync.Mutex
	cond   *sync.Cond
	paused bool
}

func (g *pauseGate) pause() {
	g.mu.Lock()
	g.paused = true
	g.mu.Unlock()
}

func (g *pauseGate) open() {
	g.mu.Lock()
	g.paused = false
	if g.cond != nil {
		g.cond.Broadcast()
	}
	g.mu.Unlock()
}

func (g *pauseGate) wait() {
	g.mu.Lock()
	for g.paused {
		if g.cond == nil {
			g.cond = sync.NewCond(&g.mu)
		}
		g.cond.Wait()
	}
	g.mu.Unlock()
}

// wakeEvent makes a die run at a cycle.
type wakeEvent struct {
	cycle   int64
	time    sim.VTimeInSec
	handler sim.Handler
}

func (w *wakeEvent) Time() sim.VTimeInSec { return w.time }
func (w *wakeEvent) Handler() sim.Handler { return w.handler }
func (w *wakeEvent) IsSecondary() bool    { return false }

// waker keeps one pending wake-up for a component. Akita cannot cancel events:
// an earlier wake-up is scheduled beside a later one, which is then ignored.
type waker struct {
	engine  *Engine
	handler sim.Handler
	at      int64 // pending wake-up, or cache.Never
}

func newWaker(e *Engine, h sim.Handler) waker { return waker{e, h, cache.Never} }

// wake asks for a wake-up at cycle or earlier.
func (w *waker) wake(cycle int64) {
	if cycle >= w.at {
		return
	}
	w.at = cycle
	w.engine.Schedule(&wakeEvent{cycle, w.engine.seconds(cycle), w.handler})
}

// due reports whether the event is the pending wake-up, and takes it.
func (w *waker) due(e sim.Event) bool {
	ev, ok := e.(*wakeEvent)
	if !ok || ev.cycle != w.at {
		return false
	}
	w.at = cache.Never
	return true
}
