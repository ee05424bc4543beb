package workloads

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whisker-sim/whisker/isa"
)

// textSize reads the size of .text from llvm-objdump -h.
func textSize(headers string) int {
	for line := range strings.Lines(headers) {
		if f := strings.Fields(line); len(f) > 2 && f[1] == ".text" {
			n, _ := strconv.ParseInt(f[2], 16, 64)
			return int(n)
		}
	}
	return -1
}

// shorthand writes a range of instructions in the notation of the kernel
// descriptions: R128x4, R96, R64, W64, GL16, GL12, LD, M, MOV, P0/P1, B, vm(n), lg(n). SALU
// and s_nop are left out, equal neighbours are counted.
func shorthand(insts []isa.Inst) string {
	var out []string
	last, n := "", 0
	flush := func() {
		if last != "" {
			if n > 1 {
				last += "x" + strconv.Itoa(n)
			}
			out = append(out, last)
		}
	}
	for _, in := range insts {
		s := ""
		switch {
		case in.Op == isa.DS_READ_B128:
			s = "R128"
		case in.Op == isa.DS_READ_B96:
			s = "R96"
		case in.Op == isa.V_MOV_B32:
			s = "MOV"
		case in.Op == isa.BUFFER_LOAD_DWORDX3:
			s = "GL12"
		case in.Op == isa.DS_READ_B64:
			s = "R64"
		case in.Op == isa.DS_WRITE_B64:
			s = "W64"
		case in.Enc == isa.MUBUF && in.Flags&isa.LDSBit != 0:
			s = "GL16"
		case in.Enc == isa.MUBUF:
			s = "LD"
		case in.Enc == isa.MAI:
			s = "M"
		case in.Op == isa.S_SETPRIO:
			s = fmt.Sprintf("P%d", in.Offset)
		case in.Op == isa.S_BARRIER:
			s = "B"
		case in.Op == isa.S_WAITCNT:
			vm, lg := in.Offset&15|in.Offset>>14<<4, in.Offset>>8&15
			if vm != noVM {
				s = fmt.Sprintf("vm(%d)", vm)
			} else {
				s = fmt.Sprintf("lg(%d)", lg)
			}
		case in.Enc == isa.SOP1, in.Enc == isa.SOP2, in.Enc == isa.SOPC, in.Op == isa.S_NOP:
			continue
		default:
			s = in.Op.String()
		}
		if s == last {
			n++
			continue
		}
		flush()
		last, n = s, 1
	}
	flush()
	return strings.Join(out, " ")
}

// clusters maps the cluster names of a range of instructions to their
// shorthand.
func clustersIn(b *Built, from, to int) []string {
	var out []string
	for _, c := range b.Clusters {
		if c.Start >= from && c.End <= to {
			out = append(out, c.Name+": "+shorthand(b.Launch.Kernel.Insts[c.Start:c.End]))
		}
	}
	return out
}

func build(t testing.TB, cpu isa.CPU, s Spec) *Built {
	t.Helper()
	b, err := GEMM(cpu, s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The loop of the 8-wave kernel is that of the description of HipKittens'
// kernel, cluster by cluster, but for vm(10) in m2 (see loop).
func TestPingPongLoop(t *testing.T) {
	want := []string{
		"m0: R128x12 GL16x2 lg(8) B lg(0)", "c0: P1 Mx16 P0 B",
		"m1: R128x4 GL16x2 B lg(0)", "c1: P1 Mx16 P0 B",
		"m2: R128x8 GL16x2 vm(10) B lg(0)", "c2: P1 Mx16 P0 B",
		"m3: R128x4 GL16x2 vm(6) B", "c3: P1 Mx16 P0 B",
		"m4: R128x8 GL16x2 lg(8) B lg(0)", "c4: P1 Mx16 P0 B",
		"m5: R128x4 GL16x2 B lg(0)", "c5: P1 Mx16 P0 B",
		"m6: R128x8 GL16x2 B lg(0)", "c6: P1 Mx16 P0 B",
		"m7: GL16x2 vm(6) B", "c7: P1 Mx16 P0 B s_cbranch_scc1",
	}
	b := build(t, isa.GFX950, Spec{M: 8192, N: 8192, K: 8192, W: -1, C: -1})
	if d := cmp.Diff(want, clustersIn(b, b.LoopStart, b.LoopEnd)); d != "" {
		t.Error(d)
	}
	for _, in := range b.Launch.Kernel.Insts[b.LoopStart:b.LoopEnd] {
		switch in.Enc {
		case isa.VOP1, isa.VOP2, isa.VOP3, isa.VOPC:
			t.Errorf("%s in the loop: addresses are to be scalar there", in.Op)
		}
	}
	k := b.Launch.Kernel
	if b.Spec.W != 8 || b.Spec.C != 64 || b.LoopTrips != 63 || k.VGPRs > 256 || b.LDSUsed != 131072 || k.LDSBytes != 160000 || k.Waves() != 8 || b.GridM*b.GridN != 1024 {
		t.Errorf("W %d C %d trips %d VGPRs %d LDS %d/%d waves %d grid %dx%d", b.Spec.W, b.Spec.C, b.LoopTrips, k.VGPRs, b.LDSUsed, k.LDSBytes, k.Waves(), b.GridM, b.GridN)
	}
	if n := strings.Count(shorthand(k.Insts), "global_store_short_d16_hi"); n != 128 {
		t.Errorf("%d stores of converted values, want 128", n)
	}
}

// The 128x128 form has the same shape with one load per half and four matrix
// instructions per cluster.
func TestPingPong128Loop(t *testing.T) {
	b := build(t, isa.GFX950, Spec{M: 2048, N: 2048, K: 2048, W: -1, C: -1})
	want := []string{
		"m0: R128x6 GL16 lg(4) B lg(0)", "c0: P1 Mx4 P0 B",
		"m1: R128x2 GL16 B lg(0)", "c1: P1 Mx4 P0 B",
		"m2: R128x4 GL16 vm(5) B lg(0)", "c2: P1 Mx4 P0 B",
		"m3: R128x2 GL16 vm(3) B", "c3: P1 Mx4 P0 B",
	}
	if d := cmp.Diff(want, clustersIn(b, b.LoopStart, b.LoopEnd)[:8]); d != "" {
		t.Error(d)
	}
	if b.Spec.Tile != "128x128" || b.Spec.W != 4 || b.Spec.C != 16 || b.LDSUsed != 65536 {
		t.Errorf("tile %s W %d C %d LDS %d", b.Spec.Tile, b.Spec.W, b.Spec.C, b.LDSUsed)
	}
}

// The MI325X loop: the compiled kernel of the thread trace.
func TestCDNA3Loop(t *testing.T) {
	b := build(t, isa.GFX942, Spec{M: 8192, N: 8192, K: 8192, W: -1, C: -1})
	want := []string{
		"m0: LDx4 R64x12 lg(0) B", "c0: P1 Mx32 P0 B",
		"m1: R64x24 lg(0) B", "c1: P1 Mx32 P0 B",
		"m2: LDx4 R64x12 lg(0) B", "c2: P1 Mx32 P0 B",
		"m3: vm(7) W64x2 vm(6) W64x2 vm(5) W64x2 vm(4) W64x2 vm(3) W64x2 vm(2) W64x2 vm(1) W64x2 vm(0) W64x2 lg(0) B",
		"c3: P1 Mx32 P0 B s_cbranch_scc1",
	}
	if d := cmp.Diff(want, clustersIn(b, b.LoopStart, b.LoopEnd)); d != "" {
		t.Error(d)
	}
	if b.LDSUsed != 65536 || b.LoopTrips != 127 || b.Spec.W != 4 || b.Spec.C != 16 {
		t.Errorf("LDS %d trips %d W %d C %d", b.LDSUsed, b.LoopTrips, b.Spec.W, b.Spec.C)
	}
}

// The 4-wave loop: order within a cluster as in HipKittens' FP8 4-wave kernel,
// with two 32-deep matrix instructions for one 128-deep.
func TestInterleaveLoop(t *testing.T) {
	b := build(t, isa.GFX950, Spec{M: 4096, N: 4096, K: 8192, DType: "fp16", Tile: "256x256", Schedule: Interleave4, W: -1, C: -1})
	body := "Mx4 GL16 R128 Mx2 R128 Mx2 GL16 R128 Mx4 R128 Mx4 GL16 R128 Mx4 R128 Mx4 GL16 R128 Mx4 R128 Mx4"
	want := []string{
		"t0w0: vm(16) lg(0) B", "t0c0: " + body, "t0w1: lg(0)", "t0c1: " + body,
		"t0w2: vm(16) lg(0) B", "t0c2: " + body, "t0c3: " + body,
		"t1w0: vm(16) lg(0) B", "t1c0: " + body, "t1w1: lg(0)", "t1c1: " + body,
		"t1w2: vm(16) lg(0) B", "t1c2: " + body, "t1c3: " + body,
		"branch: s_cbranch_scc1",
	}
	if d := cmp.Diff(want, clustersIn(b, b.LoopStart, b.LoopEnd)); d != "" {
		t.Error(d)
	}
}
