package xcd

import (
	"slices"
	"testing"

	"github.com/sarchlab/akita/v4/sim"
	"github.com/sarchlab/akita/v4/sim/directconnection"
)

type testEvent struct {
	*sim.EventBase
	id        int
	secondary bool
}

func (e *testEvent) IsSecondary() bool { return e.secondary }

type recorder struct{ ids []int }

func (r *recorder) Handle(e sim.Event) error {
	r.ids = append(r.ids, e.(*testEvent).id)
	return nil
}

func TestEngineOrder(t *testing.T) {
	e := newEngine(2400)
	r := &recorder{}
	at := func(cycle int64, id int, secondary bool) {
		e.Schedule(&testEvent{sim.NewEventBase(e.seconds(cycle), r), id, secondary})
	}
	at(5, 6, true)
	at(9, 8, false)
	at(5, 4, false)
	at(5, 5, false)
	at(2, 1, false)
	at(5, 7, true)
	at(3, 2, true)
	if err := e.RunUntil(5); err != nil || !slices.Equal(r.ids, []int{1, 2}) {
		t.Fatalf("before cycle 5: %v %v", r.ids, err)
	}
	if err := e.Run(); err != nil || !slices.Equal(r.ids, []int{1, 2, 4, 5, 6, 7, 8}) {
		t.Fatalf("all: %v %v", r.ids, err)
	}
	if e.CurrentTime() != e.seconds(9) {
		t.Errorf("time is %v, want that of cycle 9", e.CurrentTime())
	}
}

type countHook map[*sim.HookPos]int

func (c countHook) Func(ctx sim.HookCtx) { c[ctx.Pos]++ }

func TestEngineHooks(t *testing.T) {
	e := newEngine(1000)
	h := countHook{}
	e.AcceptHook(&h)
	for i := range 3 {
		e.Schedule(&testEvent{sim.NewEventBase(e.seconds(int64(i)), &recorder{}), i, false})
	}
	if err := e.Run(); err != nil || h[sim.HookPosBeforeEvent] != 3 || h[sim.HookPosAfterEvent] != 3 {
		t.Errorf("hooks called %v: %v", h, err)
	}
}

// pinger is a stock Akita ticking component: it sends and counts.
type pinger struct {
	*sim.TickingComponent
	port sim.Port
	peer sim.RemotePort
	send int
	got  int
}

func (p *pinger) Tick() bool {
	busy := false
	if p.send > 0 {
		m := &Control{}
		m.Src, m.Dst = p.port.AsRemote(), p.peer
		if p.port.Send(m) == nil {
			p.send--
			busy = true
		}
	}
	if p.port.RetrieveIncoming() != nil {
		p.got++
		busy = true
	}
	return busy
}

// TestStockComponentsRun: Akita's ticking components and its direct connection
// work on our engine as they do on Akita's own.
func TestStockComponentsRun(t *testing.T) {
	run := func(e sim.Engine) (sim.VTimeInSec, int) {
		conn := directconnection.MakeBuilder().WithEngine(e).WithFreq(1 * sim.GHz).Build("Conn")
		var ps [2]*pinger
		for i, name := range []string{"A", "B"} {
			p := &pinger{send: 100 * (1 - i)}
			p.TickingComponent = sim.NewTickingComponent(name, e, 1*sim.GHz, p)
			p.port = sim.NewPort(p, 4, 4, name+".Port")
			conn.PlugIn(p.port)
			ps[i] = p
		}
		ps[0].peer = ps[1].port.AsRemote()
		ps[0].TickLater()
		if err := e.Run(); err != nil {
			t.Fatal(err)
		}
		return e.CurrentTime(), ps[1].got
	}
	wantTime, wantGot := run(sim.NewSerialEngine())
	gotTime, got := run(newEngine(1000))
	if got != wantGot || got != 100 || gotTime < wantTime*0.999999 || gotTime > wantTime*1.000001 {
		t.Errorf("%d messages until %v, on Akita's engine %d until %v", got, gotTime, wantGot, wantTime)
	}
}

func TestPauseHoldsTheChip(t *testing.T) {
	r := newRig(t, testMachine(), Options{}, mixed)
	r.Engine().Pause()
	finished := make(chan Result)
	go func() {
		finished <- r.run(t, 20)
	}()
	select {
	case <-finished:
		t.Fatal("ran although paused")
	default:
	}
	r.Engine().Continue()
	if res := <-finished; res.Cycles == 0 {
		t.Error("did not run after Continue")
	}
}

func TestMonitorIsGivenEverything(t *testing.T) {
	mon := &fakeMonitor{}
	newRig(t, testMachine(), Options{Monitor: mon}, mixed)
	if mon.engine == nil || !slices.Equal(mon.names, []string{"GPU.CommandProcessor", "GPU.IOD", "GPU.XCD[0]", "GPU.XCD[1]", "GPU.XCD[2]", "GPU.XCD[3]"}) {
		t.Errorf("registered %v and engine %v", mon.names, mon.engine)
	}
}

type fakeMonitor struct {
	engine sim.Engine
	names  []string
}

func (f *fakeMonitor) RegisterEngine(e sim.Engine)       { f.engine = e }
func (f *fakeMonitor) RegisterComponent(c sim.Component) { f.names = append(f.names, c.Name()) }
