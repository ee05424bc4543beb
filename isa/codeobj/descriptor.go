package codeobj

import (
	"encoding/binary"
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// descriptorBytes is the size of a kernel descriptor.
const descriptorBytes = 64

// descriptor is the 64-byte record that the command processor launches by
// (LLVM AMDGPUUsage, "Kernel Descriptor for GFX6-GFX12").
type descriptor struct {
	group, private, kernarg uint32
	entry                   int64 // from the descriptor's own address
	rsrc1, rsrc2, rsrc3     uint32
	props, preload          uint16
}

// Bit positions in the descriptor's words.
const (
	rsrc1SGPRs  = 6
	rsrc1Round  = 12 // and denormals from 16: eight bits, in MODE's order
	rsrc1DX10   = 21
	rsrc1IEEE   = 23
	rsrc1FP16   = 26
	modeDX10    = 8
	modeIEEE    = 9
	modeFP16    = 23
	rsrc2Users  = 1
	rsrc2WGID   = 7
	rsrc2WGInfo = 10
	rsrc2ItemID = 11
)

func parseDescriptor(b []byte) descriptor {
	le := binary.LittleEndian
	return descriptor{
		group: le.Uint32(b), private: le.Uint32(b[4:]), kernarg: le.Uint32(b[8:]), entry: int64(le.Uint64(b[16:])),
		rsrc3: le.Uint32(b[44:]), rsrc1: le.Uint32(b[48:]), rsrc2: le.Uint32(b[52:]),
		props: le.Uint16(b[56:]), preload: le.Uint16(b[58:]),
	}
}

func (d *descriptor) bytes() []byte {
	b := make([]byte, descriptorBytes)
	le := binary.LittleEndian
	le.PutUint32(b, d.group)
	le.PutUint32(b[4:], d.private)
	le.PutUint32(b[8:], d.kernarg)
	le.PutUint64(b[16:], uint64(d.entry))
	le.PutUint32(b[44:], d.rsrc3)
	le.PutUint32(b[48:], d.rsrc1)
	le.PutUint32(b[52:], d.rsrc2)
	le.PutUint16(b[56:], d.props)
	le.PutUint16(b[58:], d.preload)
	return b
}

// check refuses what no launch could honour.
func (d *descriptor) check() error {
	switch {
	case d.group > maxGroupBytes:
		return fmt.Errorf("its descriptor asks for %d bytes of LDS", d.group)
	case d.private > maxPrivateBytes:
		return fmt.Errorf("its descriptor asks for %d bytes of scratch a lane", d.private)
	case d.kernarg > maxKernargBytes:
		return fmt.Errorf("its descriptor asks for %d bytes of arguments", d.kernarg)
	case d.rsrc1>>rsrc1Round&15 != 0:
		return fmt.Errorf("its descriptor asks for a rounding mode other than to nearest even, which is not simulated")
	case d.props&1 != 0 || d.props>>5&1 != 0:
		return fmt.Errorf("its descriptor asks for a scratch buffer descriptor or FLAT_SCRATCH initialisation, which gfx942 and gfx950 do not have")
	}
	if a := d.abi(); a.UserSGPRs > 16 {
		return fmt.Errorf("its descriptor asks for %d user SGPRs; there are 16", a.UserSGPRs)
	}
	return nil
}

// registers gives the architectural and the accumulation registers: the
// allocation is split at ACCUM_OFFSET.
func (d *descriptor) registers() (vgprs, agprs int) {
	total, accum := (int(d.rsrc1&63)+1)*8, (int(d.rsrc3&63)+1)*4
	vgprs = min(total, accum)
	return vgprs, min(total-vgprs, 256)
}

// sgprs is the SGPR allocation; LLVM counts it in units of 8.
func (d *descriptor) sgprs() int { return (int(d.rsrc1>>rsrc1SGPRs&15) + 1) * 8 }

func (d *descriptor) abi() isa.ABI {
	bit := func(v uint32, n int) bool { return v>>n&1 != 0 }
	p := uint32(d.props)
	mode := d.rsrc1>>rsrc1Round&0xff | d.rsrc1>>rsrc1DX10&1<<modeDX10 | d.rsrc1>>rsrc1IEEE&1<<modeIEEE | d.rsrc1>>rsrc1FP16&1<<modeFP16
	return isa.ABI{
		DispatchPtr: bit(p, 1), QueuePtr: bit(p, 2), KernargPtr: bit(p, 3), DispatchID: bit(p, 4), PrivateSegmentSize: bit(p, 6),
		PreloadDwords: int(d.preload & 127), PreloadOffset: int(d.preload >> 7),
		UserSGPRs:     int(d.rsrc2 >> rsrc2Users & 31),
		WorkgroupID:   [3]bool{bit(d.rsrc2, rsrc2WGID), bit(d.rsrc2, rsrc2WGID+1), bit(d.rsrc2, rsrc2WGID+2)},
		WorkgroupInfo: bit(d.rsrc2, rsrc2WGInfo), WorkitemIDDims: int(d.rsrc2 >> rsrc2ItemID & 3), Mode: mode,
	}
}

// extraSGPRs is what VCC, FLAT_SCRATCH and XNACK_MASK take after a kernel's own.
const extraSGPRs = 6

// describe makes the descriptor of a kernel; entry stays to be filled in.
func describe(k *isa.Kernel) descriptor {
	a := &k.ABI
	bit := func(on bool, n int) uint32 {
		if on {
			return 1 << n
		}
		return 0
	}
	accum := max((k.VGPRs+3)&^3, 4)
	total := max(k.VGPRs, 1)
	if k.AGPRs > 0 {
		total = accum + k.AGPRs
	}
	mode := a.Mode
	if mode == 0 {
		mode = isa.DefaultMode
	}
	sgprs := min((max(k.SGPRs, 1)+extraSGPRs+7)/8, 14)
	d := descriptor{group: uint32(k.LDSBytes), private: uint32(k.ScratchBytes), kernarg: uint32(k.KernargBytes)}
	d.rsrc1 = uint32((total+7)/8-1) | uint32(sgprs-1)<<rsrc1SGPRs | mode&0xff<<rsrc1Round |
		mode>>modeDX10&1<<rsrc1DX10 | mode>>modeIEEE&1<<rsrc1IEEE | mode>>modeFP16&1<<rsrc1FP16
	d.rsrc2 = bit(k.ScratchBytes > 0, 0) | uint32(userSGPRs(a))<<rsrc2Users | bit(a.WorkgroupID[0], rsrc2WGID) |
		bit(a.WorkgroupID[1], rsrc2WGID+1) | bit(a.WorkgroupID[2], rsrc2WGID+2) | bit(a.WorkgroupInfo, rsrc2WGInfo) |
		uint32(a.WorkitemIDDims)<<rsrc2ItemID
	d.rsrc3 = uint32(accum/4 - 1)
	d.props = uint16(bit(a.DispatchPtr, 1) | bit(a.QueuePtr, 2) | bit(a.KernargPtr, 3) | bit(a.DispatchID, 4) | bit(a.PrivateSegmentSize, 6))
	d.preload = uint16(a.PreloadDwords&127 | a.PreloadOffset<<7)
	return d
}

// userSGPRs counts the SGPRs that the enabled initial values take.
func userSGPRs(a *isa.ABI) int {
	n := a.PreloadDwords
	for _, on := range []bool{a.DispatchPtr, a.QueuePtr, a.KernargPtr, a.DispatchID} {
		if on {
			n += 2
		}
	}
	if a.PrivateSegmentSize {
		n++
	}
	return max(n, a.UserSGPRs)
}
