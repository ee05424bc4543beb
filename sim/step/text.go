package step

import (
	"fmt"
	"strings"

	"github.com/whisker-sim/whisker/cu"
)

// Text shows the state: what every wave waits for, the units and the queues.
func (m *Machine) Text() string {
	s := &m.state
	var b strings.Builder
	fmt.Fprintf(&b, "cycle %d", s.Cycle)
	if s.Why != "" {
		fmt.Fprintf(&b, "  (%s)", s.Why)
	}
	b.WriteByte('\n')
	if s.Done {
		return b.String()
	}
	fmt.Fprintf(&b, "%-9s %-12s %4s %4s %5s  %-16s %s\n", "SIMD.slot", "wave", "prio", "vm", "lgkm", "state", "next instruction")
	for _, w := range s.Waves {
		fmt.Fprintf(&b, "%d.%-7d %-12s %4d %4d %5d  %-16s %s\n", w.SIMD, w.Slot, fmt.Sprintf("%d of wg %d", w.Number, w.Group), w.Priority, w.VM, w.LGKM,
			m.waveState(&w), m.inst(w.Inst))
	}
	m.units(&b)
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// waveState is what the wave does in this cycle, or what it waits for.
func (m *Machine) waveState(w *cu.WaveView) string {
	for _, i := range m.state.Issues {
		if i.Slot == w.SIMD*m.slots+w.Slot && m.state.Cycle == i.Cycle {
			return "issued"
		}
	}
	switch {
	case w.Ready:
		return "ready"
	case w.Issuing:
		return "issuing"
	}
	return w.Reason.String()
}

func (m *Machine) inst(i int32) string {
	in := &m.Kernel.Insts[i]
	return fmt.Sprintf("%#06x %s", in.PC, in.Text(m.Kernel.CPU))
}

// left says how long something is taken from the next cycle on.
func left(until, now int64) string {
	if until > now+1 {
		return fmt.Sprintf("%d cycles left", until-now-1)
	}
	return "free"
}

func (m *Machine) units(b *strings.Builder) {
	s := &m.state
	fmt.Fprintf(b, "matrix pipe ")
	for i, u := range s.SIMDs {
		fmt.Fprintf(b, " %d: %-15s", i, left(u.MatrixFree, s.Cycle))
	}
	fmt.Fprintf(b, "\nVALU        ")
	for i, u := range s.SIMDs {
		fmt.Fprintf(b, " %d: %-15s", i, left(u.VALUFree, s.Cycle))
	}
	fmt.Fprintf(b, "\nLDS          banks %s", left(s.LDS.BankFree, s.Cycle))
	for i, q := range s.LDS.Pairs {
		fmt.Fprintf(b, ", FIFO of SIMDs %d and %d holds %d of %d", 2*i, 2*i+1, q.Used, q.Entries)
	}
	fmt.Fprintf(b, ", %d fills wait\nVMEM         queue holds %d of %d, %d in flight\n", s.LDS.Fills, s.VMEM.Used, s.VMEM.Entries, s.VMEM.InFlight)
	if s.Released {
		b.WriteString("barrier      released in this cycle\n")
	}
	shown := s.Issues
	if len(shown) > 8 {
		shown = shown[len(shown)-8:]
	}
	for _, i := range shown {
		fmt.Fprintf(b, "issued       cycle %d, %d.%d, wave %d: %s\n", i.Cycle, i.Slot/m.slots, i.Slot%m.slots, m.unit.WaveNumber(i.Slot), m.inst(i.Inst))
	}
}
