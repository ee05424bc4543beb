package workloads

import (
	"fmt"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// ldsAccess is one instruction's touch of a 16-byte granule of LDS. Epochs count
// the barriers that the wave has passed: at issue, and when a wait says that the
// access is done.
type ldsAccess struct {
	wave, pc     int
	write        bool
	order        int // program order within the wave
	issue        int
	done, doneAt int // epoch and program order; -1 while outstanding
}

// before reports whether a is certainly over when b starts.
func (a *ldsAccess) before(b *ldsAccess) bool {
	if a.done < 0 {
		return false
	}
	if a.wave == b.wave {
		return a.doneAt < b.order
	}
	return a.done < b.issue // a barrier lies between
}

// ldsTrace runs one workgroup without its matrix instructions and records the
// LDS accesses of every wave, per granule.
type ldsTrace struct {
	granules map[uint32][]*ldsAccess
}

func traceLDS(t *testing.T, b *Built) *ldsTrace {
	t.Helper()
	k, mem := b.Launch.Kernel, b.Launch.Memory
	args := mem.Alloc("arguments", uint64(len(b.Launch.Kernarg)))
	mem.Write(args, b.Launch.Kernarg)
	tr := &ldsTrace{map[uint32][]*ldsAccess{}}
	for w := range k.Waves() {
		s := &isa.State{CPU: k.CPU, Mode: isa.DefaultMode, VGPR: make([]isa.VReg, k.VGPRs),
			AGPR: make([]isa.VReg, k.AGPRs), LDS: make([]byte, k.LDSBytes), Mem: mem}
		s.SGPR[0], s.SGPR[1] = uint32(args), uint32(args>>32)
		s.SetExec(^uint64(0))
		for l := range isa.Lanes {
			s.VGPR[0][l] = uint32(w*isa.Lanes + l)
		}
		tr.wave(t, k, s, w)
	}
	return tr
}

// wave records one wave. Outstanding operations finish in issue order, and a
// load to registers holds its place in the vmcnt queue.
func (tr *ldsTrace) wave(t *testing.T, k *isa.Kernel, s *isa.State, w int) {
	t.Helper()
	var vm, lgkm [][]*ldsAccess
	epoch := 0
	for order := 0; !s.Ended; order++ {
		in := &k.Insts[s.PC]
		if in.Enc == isa.MAI {
			s.PC++
			continue
		}
		pc := s.PC
		if err := isa.Exec(k, in, s); err != nil {
			t.Fatal(err)
		}
		switch {
		case in.Op == isa.S_BARRIER:
			epoch++
		case in.Op == isa.S_WAITCNT:
			vm = finish(vm, int(in.Offset&15|in.Offset>>14<<4), noVM, epoch, order)
			lgkm = finish(lgkm, int(in.Offset>>8&15), noLGKM, epoch, order)
		case in.Enc == isa.SMEM:
			lgkm = append(lgkm, nil)
		case in.Enc == isa.MUBUF && in.Flags&isa.LDSBit != 0:
			base, step := s.Access.LDS, uint32(s.Access.LDSStride)
			vm = append(vm, tr.add(lanesOf(func(l int) uint32 { return base + uint32(l)*step }), 16, ldsAccess{w, pc, true, order, epoch, -1, 0}))
		case in.Enc == isa.MUBUF, in.Enc == isa.FLAT:
			vm = append(vm, nil)
		case in.Enc == isa.DS:
			write := in.Op == isa.DS_WRITE_B64
			lgkm = append(lgkm, tr.add(lanesOf(func(l int) uint32 { return uint32(s.Access.Addr[l]) }), int(s.Access.Bytes), ldsAccess{w, pc, write, order, epoch, -1, 0}))
		}
	}
}

func lanesOf(f func(l int) uint32) []uint32 {
	var a []uint32
	for l := range isa.Lanes {
		a = append(a, f(l))
	}
	return a
}

// add records an access of every granule that the lanes touch.
func (tr *ldsTrace) add(addrs []uint32, bytes int, a ldsAccess) []*ldsAccess {
	p := &a
	for _, ad := range addrs {
		for g := ad / 16; g <= (ad+uint32(bytes)-1)/16; g++ {
			l := tr.granules[g]
			if len(l) == 0 || l[len(l)-1] != p {
				tr.granules[g] = append(l, p)
			}
		}
	}
	return []*ldsAccess{p}
}

// finish completes the oldest operations until at most n are outstanding.
func finish(q [][]*ldsAccess, n, none, epoch, order int) [][]*ldsAccess {
	if n == none {
		return q
	}
	for len(q) > n {
		for _, a := range q[0] {
			a.done, a.doneAt = epoch, order
		}
		q = q[1:]
	}
	return q
}

// races lists pairs of instructions that touch the same bytes, one writing,
// with nothing between them that makes one wait for the other.
func (tr *ldsTrace) races(b *Built) []string {
	found := map[string]bool{}
	var out []string
	for _, l := range tr.granules {
		for i, x := range l {
			for _, y := range l[i+1:] {
				if !x.write && !y.write || x.before(y) || y.before(x) {
					continue
				}
				// Two 8-byte stores of one thread fill one granule.
				if x.write && y.write && x.wave == y.wave && b.CPU == isa.GFX942 {
					continue
				}
				s := fmt.Sprintf("%s and %s", b.clusterOf(x.pc), b.clusterOf(y.pc))
				if !found[s] {
					found[s] = true
					out = append(out, s)
				}
			}
		}
	}
	return out
}

func (b *Built) clusterOf(pc int) string {
	for _, c := range b.Clusters {
		if pc >= c.Start && pc < c.End {
			return c.Name
		}
	}
	return "?"
}

// Every LDS byte is written and read in an order that waits and barriers force,
// whatever the timing.
func TestNoLDSRaces(t *testing.T) {
	for _, i := range gemmForms() {
		if i.spec.Handshake == AtomicHandshake {
			continue // its waves cannot run one by one; TestEveryFormComputes checks them
		}
		m, n, _ := OneRound(i.Tile, 1)
		b := build(t, i.CPU, formSpec(i, Spec{M: m, N: n, K: 512}))
		if r := traceLDS(t, b).races(b); len(r) > 0 {
			t.Errorf("%s: %s", b.Launch.Kernel.Name, strings.Join(r, "; "))
		}
	}
}

// waitIn is the ordinal of the first wait in the named cluster with that vmcnt.
func waitIn(t *testing.T, b *Built, cluster string, vm int) int {
	t.Helper()
	n := 0
	for _, in := range b.Launch.Kernel.Insts {
		if in.Op != isa.S_WAITCNT {
			continue
		}
		at, _ := b.Launch.Kernel.At(in.PC)
		if b.clusterOf(at) == cluster && int(in.Offset&15|in.Offset>>14<<4) == vm {
			return n
		}
		n++
	}
	t.Fatalf("no vmcnt(%d) in %s", vm, cluster)
	return 0
}

// Each vmcnt wait of the ping-pong loop is needed: without it the fills race
// with the reads that follow.
func TestDroppedWaitRaces(t *testing.T) {
	s := Spec{M: 256, N: 256, K: 512, Tile: "256x256"}
	for _, c := range []struct {
		cluster string
		vm      int
		want    string
	}{{"m2", 10, "m3"}, {"m3", 6, "m4"}, {"m7", 6, "m0"}} {
		s.Break = ""
		s.Break = fmt.Sprintf("wait:%d", waitIn(t, build(t, isa.GFX950, s), c.cluster, c.vm))
		b := build(t, isa.GFX950, s)
		r := strings.Join(traceLDS(t, b).races(b), "; ")
		if !strings.Contains(r, c.want) {
			t.Errorf("without vm(%d) in %s: races %q, want one with %s", c.vm, c.cluster, r, c.want)
		}
	}
}
