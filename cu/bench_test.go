package cu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// gemmLoop is a main loop in small: per iteration of a wave four direct-to-LDS
// loads, eight LDS reads and sixteen matrix instructions between barriers.
func gemmLoop() string {
	var b strings.Builder
	b.WriteString(`s_load_dwordx2 s[16:17], s[0:1], 0x0
v_and_b32 v2, 63, v0
v_lshlrev_b32 v3, 4, v2
s_mov_b32 s18, 0x100000
s_mov_b32 s19, 0
s_mov_b32 m0, 0
s_mov_b32 s24, 0
s_mov_b32 s20, 0x7fff0000
s_waitcnt lgkmcnt(0)
loop:
`)
	for i := range 4 {
		fmt.Fprintf(&b, "buffer_load_dwordx4 v3, s[16:19], s24 offen offset:%d lds\n", 1024*i)
	}
	for i := range 8 {
		fmt.Fprintf(&b, "ds_read_b128 v[%d:%d], v3 offset:%d\n", 32+4*i, 35+4*i, 1024*i)
	}
	b.WriteString("s_waitcnt lgkmcnt(0)\ns_barrier\ns_setprio 1\n")
	for i := range 16 {
		d := 64 + 4*i
		fmt.Fprintf(&b, "v_mfma_f32_16x16x32_bf16 v[%d:%d], v[%d:%d], v[48:51], v[%d:%d]\n", d, d+3, 32+4*(i%4), 35+4*(i%4), d, d+3)
	}
	b.WriteString(`s_setprio 0
s_add_u32 s24, s24, 4096
s_and_b32 s24, s24, 0x7ffff
s_waitcnt vmcnt(4)
s_barrier
s_sub_u32 s20, s20, 1
s_cmp_lg_u32 s20, 0
s_cbranch_scc1 loop
s_endpgm
`)
	return b.String()
}

func startGEMM(tb testing.TB) *bench {
	tb.Helper()
	k := mustAssemble(tb, isa.GFX950, gemmLoop())
	k.LDSBytes = 32768
	b := newBench(tb, k, testSpec(isa.GFX950), config{waves: 8, latency: 300})
	b.tick()
	return b
}

// until goes on to cycle end.
func (b *bench) until(end int64) {
	for {
		n := min(b.next, b.l2.next())
		if n > end {
			return
		}
		b.now = n
		b.tick()
	}
}

func (b *bench) issued() (n uint64) {
	for _, c := range b.st.IssuedCount {
		n += c
	}
	return n
}

// BenchmarkStep1CU drives one CU through the main loop; an operation is a
// thousand cycles.
func BenchmarkStep1CU(bm *testing.B) {
	b := startGEMM(bm)
	b.until(10_000)
	first := b.issued()
	end := int64(10_000)
	bm.ReportAllocs()
	bm.ResetTimer()
	for range bm.N {
		end += 1000
		b.until(end)
	}
	if err := b.cu.Err(); err != nil {
		bm.Fatal(err)
	}
	n := b.issued() - first
	bm.ReportMetric(float64(bm.Elapsed().Nanoseconds())/float64(n), "ns/inst")
	bm.ReportMetric(float64(n)/float64(bm.N), "inst/op")
}

// TestStepAllocations: the main loop allocates nothing once it runs.
func TestStepAllocations(t *testing.T) {
	b := startGEMM(t)
	b.until(20_000)
	end := int64(20_000)
	if n := testing.AllocsPerRun(20, func() {
		end += 1000
		b.until(end)
	}); n != 0 {
		t.Errorf("%v allocations in a thousand cycles, want none", n)
	}
	if err := b.cu.Err(); err != nil {
		t.Fatal(err)
	}
	if b.st.MFMABusy == 0 || b.st.LDSFill == 0 || b.st.LDSReadBytes == 0 {
		t.Error("the loop does not run")
	}
}
