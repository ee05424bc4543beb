package isa

// Init sets the registers that the command processor and the wave launcher fill
// (LLVM AMDGPUUsage, "Initial Kernel Execution State"): user SGPRs densely in
// the fixed order, workgroup ids after the declared user SGPRs, the packed
// work-item id in v0, and EXEC for the wave's valid work-items. It sizes s's
// register files for k and leaves s.LDS, s.Mem and the rest of s.Info alone.
//
// Pointers that a launch does not have (its queue, a dispatch packet) are zero.
func Init(k *Kernel, l *Launch, wgID [3]int, wave int, kernargAddr uint64, s *State) {
	s.CPU, s.Mode, s.PC, s.SCC, s.Ended = k.CPU, k.ABI.Mode, k.Entry, false, false
	if s.Mode == 0 {
		s.Mode = DefaultMode
	}
	s.SGPR = [NumSGPRs]uint32{}
	s.VGPR = sized(s.VGPR, k.VGPRs)
	s.AGPR = sized(s.AGPR, k.AGPRs)
	s.Scratch = sized(s.Scratch, (k.ScratchBytes+3)/4)
	s.Info.Workgroup, s.Info.WaveInWG = wgID, wave
	s.Registers = k.StartRegisters
	initSGPRs(k, l, wgID, kernargAddr, s)
	initVGPRs(k, wave, s)
}

// sized returns v with n cleared elements, reusing its storage.
func sized[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	v = v[:n]
	clear(v)
	return v
}

func initSGPRs(k *Kernel, l *Launch, wgID [3]int, kernargAddr uint64, s *State) {
	a, n := &k.ABI, 0
	put := func(v uint32) { s.SGPR[n] = v; n++ }
	put64 := func(v uint64) { put(uint32(v)); put(uint32(v >> 32)) }
	if a.DispatchPtr {
		var packet uint64
		if l != nil {
			packet = l.DispatchPacket
		}
		put64(packet)
	}
	if a.QueuePtr {
		put64(0)
	}
	if a.KernargPtr {
		put64(kernargAddr)
	}
	if a.DispatchID {
		put64(0)
	}
	for i := range a.PreloadDwords {
		var v uint32
		if off := 4 * (a.PreloadOffset + i); l != nil && off+4 <= len(l.Kernarg) {
			v = le32(l.Kernarg[off:])
		}
		put(v)
	}
	if a.PrivateSegmentSize {
		put(uint32(k.ScratchBytes))
	}
	if a.UserSGPRs > n {
		n = a.UserSGPRs
	}
	for d := range wgID {
		if a.WorkgroupID[d] {
			put(uint32(wgID[d]))
		}
	}
	if a.WorkgroupInfo {
		put(0)
	}
}

func initVGPRs(k *Kernel, wave int, s *State) {
	x, y := max(k.Workgroup[0], 1), max(k.Workgroup[1], 1)
	size := k.WorkgroupSize()
	var exec uint64
	for lane := range Lanes {
		id := wave*Lanes + lane
		if id >= size {
			break
		}
		exec |= 1 << lane
		if len(s.VGPR) > 0 {
			s.VGPR[0][lane] = uint32(id%x | id/x%y<<10 | id/(x*y)<<20)
		}
	}
	s.SetExec(exec)
}
