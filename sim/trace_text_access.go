package sim

import (
	"math"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/trace"
)

// textAccess is an address: base + lane*, wave*, wg* and iter*.
type textAccess struct {
	base                  uint64
	lane, wave, wg, iter  int64
	lanes                 uint64
	two                   int64 // distance of second addresses
	hasTwo, hasLanes, one bool
}

// annotation reads what follows an @: how often a branch is taken, or addresses.
func (p *textParser) annotation(l *textLine, note string, col int, in *isa.Inst, c *isa.Class) error {
	text := strings.TrimSpace(note)
	col += len(note) - len(strings.TrimLeft(note, " \t"))
	if n, ok := strings.CutPrefix(text, "taken"); ok {
		if c.Unit != isa.UnitBranch {
			return p.at(col, "%s is no branch, which alone can be taken", in.Op)
		}
		v, err := strconv.ParseUint(strings.TrimSpace(n), 0, 32)
		if err != nil {
			return p.at(col, "a branch is %q; write @ taken N, how often before it falls through", text)
		}
		l.taken, l.hasTaken = v, true
		return nil
	}
	if !accessesMemory(c) {
		return p.at(col, "%s accesses no memory and has no address", in.Op)
	}
	a := &textAccess{lanes: ^uint64(0), one: c.Unit == isa.UnitSMEM}
	if head, mask, ok := strings.Cut(text, "lanes"); ok {
		v, err := strconv.ParseUint(strings.TrimSpace(mask), 0, 64)
		if err != nil {
			return p.at(col+len(head), "lanes %q; write a mask, such as lanes 0xffff", strings.TrimSpace(mask))
		}
		a.lanes, a.hasLanes, text = v, true, head
	}
	first, second, two := strings.Cut(text, ",")
	if two != c.TwoAddr {
		return p.at(col, "%s takes %s", in.Op, map[bool]string{true: "two addresses, with a comma between", false: "one address"}[c.TwoAddr])
	}
	if err := p.address(a, first, col); err != nil {
		return err
	}
	if two {
		v, err := strconv.ParseInt(strings.TrimSpace(second), 0, 64)
		if err != nil {
			return p.at(col+len(first)+1, "the second address is %q; write its distance from the first in bytes", strings.TrimSpace(second))
		}
		a.two, a.hasTwo = v, true
	}
	l.access = a
	return nil
}

// address reads a sum of numbers, regions, and lane, wave, wg or iter times a
// number.
func (p *textParser) address(a *textAccess, text string, col int) error {
	for _, term := range strings.SplitAfter(text, "+") {
		at := col + len(term) - len(strings.TrimLeft(term, " \t"))
		col += len(term)
		t := strings.TrimSpace(strings.TrimSuffix(term, "+"))
		x, y, product := strings.Cut(t, "*")
		if x, y = strings.TrimSpace(x), strings.TrimSpace(y); !product {
			y = "1"
		}
		if _, err := strconv.ParseInt(x, 0, 64); err == nil && product {
			x, y = y, x
		}
		if base, ok := p.regions[x]; ok && !product {
			a.base += base
			continue
		}
		if v, err := strconv.ParseUint(x, 0, 64); err == nil && !product {
			a.base += v
			continue
		}
		n, err := strconv.ParseInt(y, 0, 64)
		to := map[string]*int64{"lane": &a.lane, "wave": &a.wave, "wg": &a.wg, "iter": &a.iter}[x]
		if err != nil || to == nil || n > math.MaxInt32 || n < math.MinInt32 {
			return p.at(at, "%q in an address: there are numbers, regions, and lane, wave, wg or iter times a number", t)
		}
		*to += n
	}
	return nil
}

// reachLDS holds a DS access against the LDS of a workgroup: what .lds says, as a
// run holds it against the kernel's, or unless it says anything as much as a CU
// has, of which the workgroup gets what its accesses reach.
func (p *textParser) reachLDS(i int, pat *trace.Pattern, base uint64) error {
	in := &p.m.insts[i]
	if name := in.Op.String(); pat.Lanes == 0 || strings.Contains(name, "permute") || strings.Contains(name, "swizzle") {
		return nil // moves data between lanes and addresses no bank
	}
	low, high := int64(base), int64(base)
	for lane := range trace.Lanes {
		if pat.Lanes>>lane&1 == 0 {
			continue
		}
		at := int64(base) + pat.Offset[lane]
		low, high = min(low, at), max(high, at)
		if pat.Offset2 != nil {
			at = int64(base) + pat.Offset2[lane]
			low, high = min(low, at), max(high, at)
		}
	}
	limit := int64(p.m.lds)
	if !p.ldsSaid {
		limit = ldsOfCU[p.m.cpu]
	}
	if high += int64(pat.Bytes); low < 0 || high > limit {
		p.line = p.lines[i].line
		return p.at(p.lines[i].col, "%s reaches LDS bytes %d to %d, and there are %d (.lds)", in.Op, low, high-1, limit)
	}
	if !p.ldsSaid {
		p.reach = max(p.reach, int(high))
	}
	return nil
}

// ldsOfCU is the LDS of a CU in bytes (KFD and ROCm gpu-specs).
var ldsOfCU = map[isa.CPU]int64{isa.GFX942: 64 << 10, isa.GFX950: 160 << 10}

// access works an address out.
func (m *importing) access(a *textAccess, c *isa.Class, wg, wave int, turn uint64) (*trace.Pattern, uint64) {
	bytes := uint8(min(max(c.Bytes, 1), 64))
	base := a.base + uint64(a.wave*int64(wave)+a.wg*int64(wg)+a.iter*int64(turn))
	if a.one {
		return m.pattern(stride{lanes: 1, bytes: bytes}), base
	}
	p := m.pattern(stride{lanes: a.lanes, bytes: bytes, step: a.lane, two: a.two})
	if a.lanes == 0 {
		return p, 0
	}
	return p, base + uint64(a.lane*int64(p.First()))
}
