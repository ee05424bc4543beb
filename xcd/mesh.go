package xcd

import (
	"fmt"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/configs"
)

// mesh is the links between the IODs of a package: a grid of two columns (of one when
// their number is odd), neighbours joined by a link each way. Data go along their row
// first and then along their column. Requests for lines carry no data and take no
// bandwidth here.
type mesh struct {
	columns, nodes int
	hop            int64
	links          []meshLink // of node n in direction d at n*directions + d
	inject         []meshQueue
	next           int64 // the earliest arrival, or cache.Never
	deliver        func(now int64, l *meshLine)
	stats          MeshStats
}

// MeshStats counts what the links between IODs carried.
type MeshStats struct {
	Entered, Left uint64 // lines, all that cross at least one link
	Bytes         uint64 // of data, once for each link that they crossed
	QueueCycles   uint64 // waiting for a link, summed over lines and links
	Queue         cache.Histogram
	BusiestCycles float64 // of the link that carried most
}

const (
	toEast = iota
	toWest
	toSouth
	toNorth
	directions
)

type meshLink struct {
	server cache.Server
	to     int // the node at its end
	lines  meshQueue
}

// meshLine is data on the way between IODs.
type meshLine struct {
	at       int64
	address  uint64
	id       uint32
	bytes    uint16
	from, to int16 // nodes; from is that of the link it is on, or where it enters
	xcd      uint8
	write    bool
}

// meshQueue is a FIFO of lines in order of time.
type meshQueue struct {
	lines []meshLine
	head  int
}

func (q *meshQueue) nextAt() int64 {
	if q.head == len(q.lines) {
		return cache.Never
	}
	return q.lines[q.head].at
}

func (q *meshQueue) push(l meshLine) {
	if len(q.lines) == cap(q.lines) && q.head > len(q.lines)/2 {
		q.lines = q.lines[:copy(q.lines, q.lines[q.head:])]
		q.head = 0
	}
	q.lines = append(q.lines, l)
}

func (q *meshQueue) pop() meshLine {
	l := q.lines[q.head]
	if q.head++; q.head == len(q.lines) {
		q.lines, q.head = q.lines[:0], 0
	}
	return l
}

// newMesh makes the links of so many IODs. XCDs give the sources of injected lines.
func newMesh(f *configs.Fabric, iods, xcds int, coreMHz float64, deliver func(int64, *meshLine)) *mesh {
	m := &mesh{columns: configs.IODColumns(iods), nodes: iods, hop: cache.CyclesOf(f.HopNS, coreMHz), next: cache.Never, deliver: deliver,
		links: make([]meshLink, iods*directions), inject: make([]meshQueue, xcds)}
	for n := range iods {
		for d, step := range [directions]int{1, -1, m.columns, -m.columns} {
			gbs := f.EastWestGBs
			if d == toSouth || d == toNorth {
				gbs = f.NorthSouthGBs
			}
			m.links[n*directions+d] = meshLink{server: cache.NewServer(gbs, coreMHz), to: n + step}
		}
	}
	return m
}

// distance is the number of links between two nodes.
func (m *mesh) distance(a, b int) int {
	return abs(a%m.columns-b%m.columns) + abs(a/m.columns-b/m.columns)
}

// span is the largest distance.
func (m *mesh) span() int { return m.distance(0, m.nodes-1) }

func abs(x int) int { return max(x, -x) }

// injectAt announces data of an XCD that reach the node from at cycle l.at; those of an
// XCD come in order of time.
func (m *mesh) injectAt(l meshLine) {
	m.inject[l.xcd].push(l)
	m.next = min(m.next, l.at)
}

// enter puts data that are at node l.from onto their next link.
func (m *mesh) enter(now int64, l meshLine) {
	from, to := int(l.from), int(l.to)
	var d int
	switch {
	case from%m.columns < to%m.columns:
		d = toEast
	case from%m.columns > to%m.columns:
		d = toWest
	case from < to:
		d = toSouth
	default:
		d = toNorth
	}
	link := &m.links[from*directions+d]
	start := link.server.Claim(now, int(l.bytes))
	m.stats.Bytes += uint64(l.bytes)
	m.stats.QueueCycles += uint64(start - now)
	m.stats.Queue.Add(uint64(start - now))
	l.at = start + m.hop
	link.lines.push(l)
	m.next = min(m.next, l.at)
}

// advance moves everything that arrives at cycle now. Nothing earlier may be pending.
func (m *mesh) advance(now int64) {
	for i := range m.inject {
		for q := &m.inject[i]; q.nextAt() <= now; {
			m.stats.Entered++
			m.enter(now, q.pop())
		}
	}
	for i := range m.links {
		link := &m.links[i]
		for link.lines.nextAt() <= now {
			l := link.lines.pop()
			if l.from = int16(link.to); l.from != l.to {
				m.enter(now, l)
				continue
			}
			m.stats.Left++
			m.deliver(now, &l)
		}
	}
	m.next = cache.Never
	for i := range m.inject {
		m.next = min(m.next, m.inject[i].nextAt())
	}
	for i := range m.links {
		m.next = min(m.next, m.links[i].lines.nextAt())
	}
}

// reply sends a line from the IOD of its slice, l.from, to its XCD's, l.to.
func (m *mesh) reply(now int64, l meshLine) {
	m.stats.Entered++
	m.enter(now, l)
}

func (m *mesh) counts() MeshStats {
	s := m.stats
	for i := range m.links {
		s.BusiestCycles = max(s.BusiestCycles, m.links[i].server.BusyCycles())
	}
	return s
}

func (m *mesh) resetStats() {
	m.stats = MeshStats{}
	for i := range m.links {
		m.links[i].server.ResetStats()
	}
}

// check tells whether all that entered has left.
func (s *MeshStats) check() error {
	if s.Entered != s.Left {
		return fmt.Errorf("links between IODs: %d lines entered, %d left", s.Entered, s.Left)
	}
	return nil
}
