package cu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/whisker-sim/whisker/isa"
)

// schedule is one "run" of a text file.
type schedule struct {
	cpu    isa.CPU
	config config
	lds    int   // bytes of a workgroup
	vgprs  int   // of a wave
	simd   int   // print this SIMD only, -1 all
	from   int64 // print issues from this cycle on
	to     int64
}

// TestSchedules runs the text files of testdata: instructions in, cycle by
// cycle issue out. Every schedule is run three times: skipping idle cycles,
// stepping each one, and with every held wave looking again in each cycle. All
// must come out the same. Arguments of run: cpu=gfx942, waves=, groups=
// (workgroups), lds= (bytes), vgprs=, l2= (latency, cycles), full, simd= and
// from=, to= (print only these).
func TestSchedules(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "run" {
				return fmt.Sprintf("unknown command %q", d.Cmd)
			}
			s := schedule{cpu: isa.GFX950, lds: 32768, vgprs: 256, simd: -1, to: 1 << 40}
			for _, a := range d.CmdArgs {
				if err := s.set(a); err != nil {
					return err.Error() + "\n"
				}
			}
			fast := s.table(t, d.Input, skipping)
			if slow := s.table(t, d.Input, every); slow != fast {
				t.Errorf("%s: stepping every cycle gives\n%s\nskipping gives\n%s", d.Pos, slow, fast)
			}
			issues := func(s string) string { return s[:strings.LastIndex(s, "  done")] }
			if look := s.table(t, d.Input, eager); strings.Contains(fast, "  done") && issues(look) != issues(fast) {
				t.Errorf("%s: looking again in every cycle gives\n%s\nskipping gives\n%s", d.Pos, look, fast)
			}
			return fast
		})
	})
}

func (s *schedule) set(a datadriven.CmdArg) error {
	ints := map[string]any{"waves": &s.config.waves, "groups": &s.config.groups, "lds": &s.lds, "vgprs": &s.vgprs, "l2": &s.config.latency,
		"simd": &s.simd, "from": &s.from, "to": &s.to}
	switch {
	case a.Key == "full":
		s.config.full = true
	case a.Key == "cold":
		s.config.cold = true
	case a.Key == "cpu" && a.Vals[0] == isa.GFX942.String():
		s.cpu = isa.GFX942
	case ints[a.Key] != nil && len(a.Vals) == 1:
		_, err := fmt.Sscan(a.Vals[0], ints[a.Key])
		return err
	default:
		return fmt.Errorf("unknown argument %s", a)
	}
	return nil
}

func (s *schedule) table(t *testing.T, text string, mode stepping) string {
	t.Helper()
	k, err := assemble(s.cpu, text)
	if err != nil {
		return err.Error() + "\n"
	}
	k.LDSBytes, k.VGPRs = s.lds, s.vgprs
	c := s.config
	c.mode = mode
	b := newBench(t, k, testSpec(s.cpu), c)
	var out strings.Builder
	b.cu.SetHook(func(now int64, simd, slot, inst int) {
		if s.simd >= 0 && simd != s.simd || now < s.from || now > s.to {
			return
		}
		fmt.Fprintf(&out, "%5d  simd %d slot %d  %s\n", now, simd, slot, k.Insts[inst].Text(s.cpu))
	})
	end := b.run(t, 1_000_000)
	b.sums(t)
	fmt.Fprintf(&out, "%5d  done", end)
	for r := StallReason(0); r < NumStalls; r++ {
		if v := b.st.Stalls[r]; v > 0 {
			fmt.Fprintf(&out, ", %s %d", r, v)
		}
	}
	out.WriteByte('\n')
	return out.String()
}
