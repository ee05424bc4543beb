package cu

import (
	"fmt"
	"math/bits"

	"github.com/whisker-sim/whisker/isa"
)

// insideLDS reports a DS access outside the LDS that the kernel asks for. The
// hardware drops such writes and reads zero; a program that relies on it is wrong.
func (c *CU) insideLDS(w *wave, a *isa.Access, two bool) error {
	limit := uint64(c.prog.Kernel.LDSBytes)
	n := uint64(a.Bytes)
	for m := a.Lanes; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m)
		if a.Addr[l]+n > limit {
			return c.ldsError(w, l, a.Addr[l], n)
		}
		if two && a.Addr2[l]+n > limit {
			return c.ldsError(w, l, a.Addr2[l], n)
		}
	}
	return nil
}

// dmaInsideLDS does it for what a direct-to-LDS load writes; its last lane
// reaches furthest.
func (c *CU) dmaInsideLDS(w *wave, a *isa.Access) error {
	if a.Lanes == 0 {
		return nil
	}
	l := 63 - bits.LeadingZeros64(a.Lanes)
	at := uint64(a.LDS) + uint64(l)*uint64(a.LDSStride)
	if at+uint64(a.Bytes) > uint64(c.prog.Kernel.LDSBytes) {
		return c.ldsError(w, l, at, uint64(a.Bytes))
	}
	return nil
}

func (c *CU) ldsError(w *wave, lane int, at, n uint64) error {
	k := c.prog.Kernel
	in := &k.Insts[w.pc]
	return fmt.Errorf("kernel %s: %s at pc %#x: workgroup %v wave %d lane %d: LDS bytes [%#x, %#x) of %#x: %w",
		k.Name, in.Text(k.CPU), in.PC, w.st.Info.Workgroup, w.inWG, lane, at, at+n, k.LDSBytes, isa.ErrOutOfBounds)
}
