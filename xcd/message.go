package xcd

import "github.com/sarchlab/akita/v4/sim"

// BurstLines is the number of lines in one message: enough that the cost of a
// port message, some hundreds of nanoseconds, is small per line.
const BurstLines = 64

// LineKind says what a line of a burst is.
type LineKind uint8

const (
	LineRead  LineKind = iota // a request, towards the IOD
	LineFill                  // data, towards the XCD
	LineWrite                 // dirty data, towards the IOD
)

// BurstLine is one line on the fabric.
type BurstLine struct {
	Address uint64
	Depart  int64  // cycle in which its head enters the link
	ID      uint32 // miss register of the L2 that asked
	Bytes   uint16 // data carried
	Kind    LineKind
}

// timed is a message that knows when it was sent, for the order in which
// messages cross at the end of a window.
type timed interface {
	sim.Msg
	sentAt() int64
}

// LineBurst is a message of many lines that cross one link in a window.
// Messages are pooled: the receiver's Release gives one back to its sender.
// ID is set only when a hook listens at the sending port.
type LineBurst struct {
	sim.MsgMeta
	Sent  int64 // cycle in which its first line enters the link
	N     int
	Lines [BurstLines]BurstLine

	pool *burstPool
}

// Meta implements sim.Msg.
func (b *LineBurst) Meta() *sim.MsgMeta { return &b.MsgMeta }

// Clone implements sim.Msg. The copy belongs to no pool.
func (b *LineBurst) Clone() sim.Msg {
	c := *b
	c.pool = nil
	return &c
}

func (b *LineBurst) sentAt() int64 { return b.Sent }

// Release returns the message to its sender's pool.
func (b *LineBurst) Release() {
	if b.pool != nil {
		b.pool.free = append(b.pool.free, b)
	}
}

// DataBytes returns the bytes of line data that the message carries.
func (b *LineBurst) DataBytes() int {
	n := 0
	for i := range b.N {
		n += int(b.Lines[i].Bytes)
	}
	return n
}

// burstPool holds a sender's messages. Messages come back only between windows,
// when no die runs, so it needs no lock.
type burstPool struct{ free []*LineBurst }

func (p *burstPool) get() *LineBurst {
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		b.N = 0
		b.ID = ""
		return b
	}
	return &LineBurst{pool: p}
}

// burstSender gathers the lines that leave through one port.
type burstSender struct {
	port sim.Port
	dst  sim.RemotePort
	pool burstPool
	open *LineBurst
}

func (s *burstSender) add(l BurstLine) {
	if s.open == nil {
		s.open = s.pool.get()
	}
	s.open.Lines[s.open.N] = l
	if s.open.N++; s.open.N == BurstLines {
		s.flush()
	}
}

// flush sends what was gathered.
func (s *burstSender) flush() {
	if s.open == nil {
		return
	}
	b := s.open
	s.open = nil
	b.Sent = b.Lines[0].Depart
	send(s.port, s.dst, b, b.DataBytes())
}

// ControlKind says what a control message is.
type ControlKind uint8

const (
	ControlLaunch   ControlKind = iota // command processor to XCD: run these workgroups
	ControlComplete                    // XCD to command processor: done and written back
)

// Control is a message between the command processor and an XCD.
type Control struct {
	sim.MsgMeta
	Kind   ControlKind
	Sent   int64 // cycle
	Arrive int64 // cycle
	Waves  int   // of a workgroup, for ControlLaunch
	List   workList
}

// Meta implements sim.Msg.
func (c *Control) Meta() *sim.MsgMeta { return &c.MsgMeta }

// Clone implements sim.Msg.
func (c *Control) Clone() sim.Msg {
	d := *c
	return &d
}

func (c *Control) sentAt() int64 { return c.Sent }

// portDepth bounds the messages that a port holds within one window.
const portDepth = 1 << 20

// send puts a message into a port.
func send(p sim.Port, dst sim.RemotePort, m sim.Msg, bytes int) {
	meta := m.Meta()
	meta.Src = p.AsRemote()
	meta.Dst = dst
	meta.TrafficBytes = bytes
	if p.NumHooks() > 0 {
		meta.ID = sim.GetIDGenerator().Generate()
	}
	if err := p.Send(m); err != nil {
		panic("xcd: port " + p.Name() + " is full")
	}
}
