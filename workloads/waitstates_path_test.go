package workloads

import (
	"fmt"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// earlyOnPath runs wave w of the workgroup at the origin without its matrix
// instructions, on inputs that are zero, and names the first instruction that
// comes too early after others on that path.
func earlyOnPath(t *testing.T, b *Built, w int) string {
	t.Helper()
	k, mem := b.Launch.Kernel, b.Launch.Memory
	args := mem.Alloc("arguments", uint64(len(b.Launch.Kernarg)))
	mem.Write(args, b.Launch.Kernarg)
	s := &isa.State{LDS: make([]byte, k.LDSBytes), Mem: mem}
	isa.Init(k, b.Launch, [3]int{}, w, args, s)
	var h waitStates
	h.init()
	for !s.Ended {
		in := &k.Insts[s.PC]
		c := isa.Classify(k.CPU, in)
		if n := h.need(k.CPU, in, &c); n > 0 && in.Op != isa.S_NOP {
			return fmt.Sprintf("%s: wave %d: %s at pc %#x in %s comes %d wait states early", k.Name, w, in.Text(k.CPU), in.PC, b.clusterOf(s.PC), n)
		}
		h.done(k.CPU, in, &c)
		if in.Enc == isa.MAI {
			s.PC++
			continue
		}
		if err := isa.Exec(k, in, s); err != nil {
			t.Fatal(err)
		}
	}
	return ""
}

func TestWaitStatesOnThePath(t *testing.T) {
	check := func(b *Built, waves ...int) {
		for _, w := range waves {
			if e := earlyOnPath(t, b, w); e != "" {
				t.Error(e)
			}
		}
	}
	for _, s := range attentionSpecs() {
		check(attn(t, s), 0, 7)
	}
	for _, cpu := range []isa.CPU{isa.GFX950, isa.GFX942} {
		check(mustBuild(LayerNorm(cpu, NormSpec{Batch: 1, Seq: 4, Dim: 2048, Dropout: 0.01})), 1)
		check(mustBuild(Rotary(cpu, RotarySpec{Batch: 1, Heads: 1, Seq: 32, Dim: 128})), 0)
	}
	// With every s_nop cut to one state the kernel is refused.
	b := attn(t, attentionSpecs()[0])
	for i := range b.Launch.Kernel.Insts {
		if in := &b.Launch.Kernel.Insts[i]; in.Op == isa.S_NOP {
			in.Offset = 0
		}
	}
	if earlyOnPath(t, b, 0) == "" {
		t.Error("wait states that are too few go unseen")
	}
}
