package cu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/whisker-sim/whisker/isa"
)

// TestSchedules runs the text files of testdata: instructions in, cycle by
// cycle issue out. Every schedule is run twice, skipping idle cycles and
// stepping each one, and must come out the same.
func TestSchedules(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "run" {
				return fmt.Sprintf("unknown command %q", d.Cmd)
			}
			cpu, waves, full := isa.GFX950, 1, false
			for _, a := range d.CmdArgs {
				switch a.Key {
				case "cpu":
					if a.Vals[0] == "gfx942" {
						cpu = isa.GFX942
					}
				case "waves":
					fmt.Sscan(a.Vals[0], &waves)
				case "full":
					full = true
				}
			}
			fast := issueTable(t, cpu, d.Input, waves, full, false)
			if slow := issueTable(t, cpu, d.Input, waves, full, true); slow != fast {
				t.Errorf("%s: stepping every cycle gives\n%s\nskipping gives\n%s", d.Pos, slow, fast)
			}
			return fast
		})
	})
}

func issueTable(t *testing.T, cpu isa.CPU, text string, waves int, full, every bool) string {
	t.Helper()
	k, err := assemble(cpu, text)
	if err != nil {
		return err.Error() + "\n"
	}
	b := newBench(t, k, waves, testSpec(cpu), full)
	b.every = every
	var out strings.Builder
	b.cu.SetHook(func(now int64, simd, slot, inst int) {
		fmt.Fprintf(&out, "%5d  simd %d slot %d  %s\n", now, simd, slot, k.Insts[inst].Text(cpu))
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
