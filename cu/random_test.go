package cu

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/whisker-sim/whisker/isa"
)

// programmer writes random programs that are valid on every wave: registers of
// addresses are apart from those of data, barriers stand where all waves of the
// workgroup pass, and loops end.
type programmer struct {
	*rand.Rand
	b      strings.Builder
	labels int
}

func (p *programmer) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// quad is an aligned run of four data registers.
func (p *programmer) quad() string {
	n := 8 + 4*p.IntN(40)
	return fmt.Sprintf("v[%d:%d]", n, n+3)
}

func (p *programmer) data() string { return fmt.Sprintf("v%d", 8+p.IntN(160)) }

const randomPrologue = `s_load_dwordx2 s[4:5], s[0:1], 0x0
s_load_dwordx2 s[12:13], s[0:1], 0x8
v_lshrrev_b32 v1, 6, v0
v_readfirstlane_b32 s8, v1
v_and_b32 v2, 63, v0
v_lshlrev_b32 v3, 4, v2
v_and_b32 v4, 3, v1
v_add_u32 v4, 2, v4
v_lshlrev_b32 v5, v4, v2
s_waitcnt lgkmcnt(0)
s_mov_b32 s16, s4
s_mov_b32 s17, s5
s_mov_b32 s18, 0x100000
s_mov_b32 s19, 0
s_mov_b32 m0, 0`

// randomProgram is a program of about n instructions before loops.
func randomProgram(seed uint64, n int) string {
	p := &programmer{Rand: rand.New(rand.NewPCG(seed, 1))}
	p.line("%s", randomPrologue)
	for left := n; left > 0; {
		m := 1 + p.IntN(left)
		switch p.IntN(5) {
		case 0:
			p.loop(m)
		case 1:
			p.divergent(m)
		default:
			p.straight(m, true)
		}
		left -= m
	}
	p.line("s_endpgm")
	return p.b.String()
}

func (p *programmer) loop(n int) {
	p.labels++
	l := p.labels
	p.line("s_movk_i32 s20, %d", 2+p.IntN(2))
	d, a := p.quad(), p.quad() // a cluster that goes on into the loop
	matrix := func(n int) {
		for range n {
			p.line("v_mfma_f32_16x16x32_bf16 %s, %s, %s, %s", d, a, a, d)
		}
	}
	matrix(p.IntN(5))
	p.line("loop%d:", l)
	matrix(p.IntN(5))
	p.straight(n, true)
	p.line("s_sub_u32 s20, s20, 1")
	p.line("s_cmp_lg_u32 s20, 0")
	p.line("s_cbranch_scc1 loop%d", l)
}

// divergent is a block that one wave leaves out.
func (p *programmer) divergent(n int) {
	p.labels++
	l := p.labels
	p.line("s_cmp_eq_u32 s8, %d", p.IntN(4))
	p.line("s_cbranch_scc1 skip%d", l)
	p.straight(n, false)
	p.line("skip%d:", l)
}

// straight is a run of n instructions, or a little more: bursts of one kind
// reach the limits of queues and counters.
func (p *programmer) straight(n int, barriers bool) {
	for n > 0 {
		burst := 1
		if p.IntN(3) == 0 {
			burst += p.IntN(16)
		}
		kind := p.IntN(13)
		if kind == 12 && !barriers {
			kind = 11
		}
		for range burst {
			p.instruction(kind)
			n--
			if kind >= 8 {
				break
			}
		}
	}
}

func (p *programmer) instruction(kind int) {
	pick := func(s ...string) string { return s[p.IntN(len(s))] }
	switch kind {
	case 0:
		d := p.quad()
		p.line("%s %s, %s, %s, %s", "v_mfma_f32_16x16x32_bf16", d, p.quad(), p.quad(), d)
	case 1:
		p.line("%s %s, %s, %s", pick("v_add_f32", "v_mul_f32", "v_max_f32"), p.data(), p.data(), p.data())
	case 2:
		p.line(pick("v_exp_f32 %s, %s", "v_mov_b32 %s, %s", "v_fma_f32 %s, %s, v9, v10"), p.data(), p.data())
	case 3:
		p.line("v_pk_mul_f32 v[%d:%d], v[20:21], v[24:25]", 8, 9)
	case 4:
		p.line(pick("ds_read_b128 %s, v3 offset:%d", "ds_write_b128 v3, %s offset:%d"), p.quad(), 1024*p.IntN(8))
	case 5:
		p.line(pick("ds_read_b32 %s, v3 offset:%d", "ds_write_b32 v3, %s offset:%d", "ds_read_b32 %s, v5 offset:%d", "ds_write_b32 v5, %s offset:%d"), p.data(), 4*p.IntN(256))
	case 6:
		p.line(pick("global_load_dwordx4 %s, v3, s[4:5] offset:%d", "global_load_dwordx4 %s, v3, s[4:5] offset:%d"), p.quad(), 1024*p.IntN(4))
	case 7:
		p.line(pick("global_store_dwordx4 v3, %s, s[12:13] offset:%d", "buffer_store_dwordx4 %s, v3, s[16:19], 0 offen offset:%d"),
			p.quad(), 1024*p.IntN(4))
	case 8:
		p.line("buffer_load_dwordx4 v3, s[16:19], 0 offen offset:%d lds", 1024*p.IntN(4))
	case 9:
		p.line("%s", pick("s_add_u32 s21, s21, 4", "s_nop 3", "s_setprio 1", "s_setprio 0", "s_setprio 3", "s_sleep 1",
			"s_load_dword s22, s[4:5], 0x40", "s_load_dword s22, s[4:5], 0x80", "s_add_u32 s4, s4, 0x80", "v_readfirstlane_b32 s23, v12"))
	case 10:
		p.line("v_lshlrev_b32 v3, %d, v2", 4)
	case 11:
		p.line("%s", pick("s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(2)", "s_waitcnt lgkmcnt(3)", "s_waitcnt vmcnt(1) lgkmcnt(1)"))
	case 12:
		p.line("s_barrier")
	}
}

type issue struct {
	At         int64
	SIMD, Slot int
	PC         int
}

// firstLoop is the program's first loop, [start, end), or none. In every other
// program it ends early, within the cluster that it starts with.
func firstLoop(k *isa.Kernel) (start, end int) {
	for i := range k.Insts {
		if t := int(k.Insts[i].Target); t >= 0 && t <= i {
			if len(k.Insts)%2 == 0 && k.Insts[t].Op == k.Insts[t+2].Op {
				return t, t + 2
			}
			return t, i + 1
		}
	}
	return 0, 0
}

// observed is everything that must not depend on how a CU is driven.
type observed struct {
	Issues []issue
	End    int64
	Stats  Stats
	TCP    any
	Reads  int
	Writes int
	Bytes  int
}

func observe(t *testing.T, cpu isa.CPU, text string, c config, busy int64) observed {
	t.Helper()
	k := mustAssemble(t, cpu, text)
	k.LDSBytes, k.VGPRs = 16384, 168
	s := testSpec(cpu)
	s.WaveLaunch = 5
	c.loop = true
	b := newBench(t, k, s, c)
	b.l2.busy = busy
	var o observed
	if !c.unseen {
		b.cu.SetHook(func(now int64, simd, slot, inst int) { o.Issues = append(o.Issues, issue{now, simd, slot, inst}) })
	}
	o.End = b.run(t, 10_000_000)
	b.sums(t)
	tcp := b.cu.TCP()
	if in := tcp.BytesIn + 128*(b.st.SMEMMisses+b.st.ICacheMisses); in != uint64(128*b.l2.reads) {
		t.Errorf("%d bytes came in for %d reads", in, b.l2.reads)
	}
	if tcp.BytesOut != uint64(b.l2.bytesOut) {
		t.Errorf("the vector L1 counts %d bytes out, the L2 got %d", tcp.BytesOut, b.l2.bytesOut)
	}
	if n := tcp.Hits + tcp.HitsInFlight + tcp.Misses; n != tcp.Requests {
		t.Errorf("%d hits and misses for %d requests", n, tcp.Requests)
	}
	o.Stats, o.TCP, o.Reads, o.Writes, o.Bytes = *b.st, *tcp, b.l2.reads, b.l2.writes, b.l2.bytesOut
	return o
}

var statsOnly = cmpopts.IgnoreUnexported(Stats{})

// TestRandomPrograms runs generated programs in several ways and compares
// everything that can be seen: the cycle of every issue, every count.
func TestRandomPrograms(t *testing.T) {
	seeds := []uint64{1048, 2588, 3404, 5172, 5734} // scalar loads that the L2 refuses and whose line then comes
	n := uint64(60)
	if testing.Short() {
		n = 10
	}
	for seed := range n {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 2))
		text := randomProgram(seed, 20+r.IntN(150))
		c := config{waves: []int{1, 2, 4, 4, 8, 8}[r.IntN(6)], groups: 1 + r.IntN(3), latency: []int64{1, 100, 700}[r.IntN(3)], cold: r.IntN(2) == 0}
		busy := []int64{0, 0, 20}[r.IntN(3)]
		cpu := []isa.CPU{isa.GFX950, isa.GFX950, isa.GFX942}[r.IntN(3)]
		if cpu == isa.GFX942 {
			text = gfx942(text)
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("%s, %+v, busy %d, program:\n%s", cpu, c, busy, text)
				}
			}()
			want := observe(t, cpu, text, c, busy)
			steps := c
			steps.mode = every
			if d := cmp.Diff(want, observe(t, cpu, text, steps, busy), statsOnly); d != "" {
				t.Errorf("skipping idle cycles (-) and stepping each (+) differ:\n%s", shorten(d))
			}
			full := c
			full.full = true
			if d := cmp.Diff(want, observe(t, cpu, text, full, busy), statsOnly); d != "" {
				t.Errorf("timing mode (-) and full mode (+) differ:\n%s", shorten(d))
			}
			unseen := c
			unseen.unseen = true
			runs := observe(t, cpu, text, unseen, busy)
			runs.Issues = want.Issues
			if d := cmp.Diff(want, runs, statsOnly); d != "" {
				t.Errorf("matrix instructions issued one by one (-) and in runs (+) differ:\n%s", shorten(d))
			}
			steps.mode = eager
			look := observe(t, cpu, text, steps, busy)
			if a, b := want.Stats.Conflicts, look.Stats.Conflicts; a != b {
				t.Errorf("%d bank conflicts, %d when no access's cost is remembered", a, b)
			}
			if d := firstDifference(want.Issues, look.Issues); d != "" {
				t.Errorf("a wave slept too long or not long enough; with every held wave looking again each cycle: %s", d)
			}
		})
	}
}

// gfx942 replaces what that CPU does not have.
func gfx942(text string) string {
	var b strings.Builder
	for _, l := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(l, "v_mfma"):
			l = "v_mfma_f32_16x16x16_bf16 v[8:11], v[32:33], v[36:37], v[8:11]"
		case strings.HasSuffix(l, " lds"):
			l = strings.Replace(l, "dwordx4", "dword", 1)
		}
		b.WriteString(l + "\n")
	}
	return b.String()
}

func firstDifference(a, b []issue) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("issue %d is %+v without and %+v with it", i, a[i], b[i])
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d issues without and %d with it", len(a), len(b))
	}
	return ""
}

func shorten(d string) string {
	if len(d) > 3000 {
		return d[:3000] + "\n..."
	}
	return d
}
