package isa

// SDWA and DPP: parts of registers, and registers moved across lanes.

// SDWA selectors: 0..3 a byte, 4..5 a word, 6 the dword.
func sdwaField(sel uint8) (off, width uint32) {
	switch {
	case sel < 4:
		return uint32(sel) * 8, 8
	case sel < 6:
		return uint32(sel-4) * 16, 16
	}
	return 0, 32
}

func sdwaSelect(v uint32, sel uint8, sext bool) uint32 {
	off, w := sdwaField(sel)
	v = v >> off << (32 - w)
	if sext {
		return uint32(int32(v) >> (32 - w))
	}
	return v >> (32 - w)
}

func sdwaMerge(old, v uint32, sel, unused uint8) uint32 {
	off, w := sdwaField(sel)
	m := uint32(uint64(1)<<w-1) << off
	f := v << off & m
	switch unused {
	case 1: // SEXT
		return uint32(int32(f<<(32-off-w)) >> (32 - off - w))
	case 2: // PRESERVE
		return old&^m | f
	}
	return f
}

// dppSource is the lane that destination lane n reads under a dpp_ctrl code,
// and whether it exists.
func dppSource(ctrl uint16, n int) (int, bool) {
	r, row := n&15, n&^15
	switch {
	case ctrl <= 0xff:
		return n&^3 + int(ctrl>>(2*(n&3))&3), true
	case ctrl >= 0x101 && ctrl <= 0x10f:
		k := int(ctrl & 15)
		return n + k, r+k <= 15
	case ctrl >= 0x111 && ctrl <= 0x11f:
		k := int(ctrl & 15)
		return n - k, r >= k
	case ctrl >= 0x121 && ctrl <= 0x12f:
		return row + (r-int(ctrl&15))&15, true
	case ctrl >= 0x150 && ctrl <= 0x15f:
		return row + int(ctrl&15), true
	}
	switch ctrl {
	case 0x130:
		return n + 1, n < 63
	case 0x134:
		return (n + 1) & 63, true
	case 0x138:
		return n - 1, n > 0
	case 0x13c:
		return (n - 1) & 63, true
	case 0x140:
		return row + 15 - r, true
	case 0x141:
		return n&^7 + 7 - n&7, true
	case 0x142:
		return row - 1, row > 0
	case 0x143:
		return 31, n >= 32
	}
	return n, true
}

// dppLanes is the lanes that a DPP instruction writes. A source lane with EXEC
// off counts as absent; without bound_ctrl its destination is left alone.
func dppLanes(in *Inst, exec uint64) uint64 {
	var m uint64
	for n := range Lanes {
		if in.RowMask>>(n>>4)&1 == 0 || in.BankMask>>(n>>2&3)&1 == 0 {
			continue
		}
		src, ok := dppSource(in.DPPCtrl, n)
		if in.Flags&BoundCtrl != 0 || ok && exec>>src&1 != 0 {
			m |= 1 << n
		}
	}
	return m
}

// dppPermute moves v by lane into out; absent sources read as zero.
func dppPermute(in *Inst, exec uint64, v, out *VReg) {
	var t VReg // out may be v
	for n := range t {
		if src, ok := dppSource(in.DPPCtrl, n); ok && exec>>src&1 != 0 {
			t[n] = v[src]
		}
	}
	*out = t
}
