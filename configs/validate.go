package configs

import "fmt"

// Validate checks what must hold between leaves; the range of each leaf alone
// is checked when it is set. It returns the first fault.
func (r *Resolved) Validate() error {
	m := &r.machine
	for _, check := range []func(*Machine) string{
		checkChip, checkClock, checkCU, checkLDS, checkCaches, checkMemory,
	} {
		if fault := check(m); fault != "" {
			return errorAt(r.label, 0, "%s", fault)
		}
	}
	return nil
}

func checkChip(m *Machine) string {
	switch c := m.Chip; {
	case c.ShaderEngines > c.CUsPerXCD:
		return fmt.Sprintf("chip.shader_engines is %d but an XCD has only %d CUs (chip.cus_per_xcd)", c.ShaderEngines, c.CUsPerXCD)
	case m.Dispatch.XCDOffset >= c.XCDs:
		return fmt.Sprintf("dispatch.xcd_offset is %d; with %d XCDs it must be below that", m.Dispatch.XCDOffset, c.XCDs)
	case m.Fetch.SharedByCUs > 1 && m.Fetch.SharedByCUs > c.CUsPerXCD:
		return fmt.Sprintf("fetch.shared_by_cus is %d but an XCD has only %d CUs (chip.cus_per_xcd)", m.Fetch.SharedByCUs, c.CUsPerXCD)
	}
	return ""
}

func checkClock(m *Machine) string {
	peak := float64(m.Clock.PeakMHz)
	for _, dt := range DataTypes {
		if f := m.Clock.SustainedMHz[dt]; f > peak {
			return fmt.Sprintf("%s.%s is %s MHz, above clock.peak_mhz %d; raise the peak or lower this one as well", sustainedPath, dt, formatFloat(f), m.Clock.PeakMHz)
		}
	}
	if f := m.Clock.DefaultMHz; f > peak {
		return fmt.Sprintf("clock.default_mhz is %s, above clock.peak_mhz %d; raise the peak or lower this one as well", formatFloat(f), m.Clock.PeakMHz)
	}
	return ""
}

func checkCU(m *Machine) string {
	c := m.CU
	switch {
	case c.SIMDs%2 != 0:
		return fmt.Sprintf("cu.simds is %d; LDS ports serve pairs of SIMDs, so it must be even", c.SIMDs)
	case c.VGPRsPerSIMD%c.VGPRGranule != 0:
		return fmt.Sprintf("cu.vgprs_per_simd %d is not a multiple of cu.vgpr_granule %d", c.VGPRsPerSIMD, c.VGPRGranule)
	case c.SGPRsPerSIMD%c.SGPRGranule != 0:
		return fmt.Sprintf("cu.sgprs_per_simd %d is not a multiple of cu.sgpr_granule %d", c.SGPRsPerSIMD, c.SGPRGranule)
	case c.MaxVGPRs > c.VGPRsPerSIMD:
		return fmt.Sprintf("cu.max_vgprs %d is more than cu.vgprs_per_simd %d", c.MaxVGPRs, c.VGPRsPerSIMD)
	case c.MaxAGPRs > c.VGPRsPerSIMD:
		return fmt.Sprintf("cu.max_agprs %d is more than cu.vgprs_per_simd %d", c.MaxAGPRs, c.VGPRsPerSIMD)
	case c.MaxSGPRs > c.SGPRsPerSIMD:
		return fmt.Sprintf("cu.max_sgprs %d is more than cu.sgprs_per_simd %d", c.MaxSGPRs, c.SGPRsPerSIMD)
	case m.VALU.DependentCycles < m.VALU.CadenceCycles:
		return fmt.Sprintf("valu.dependent_cycles %d is less than valu.cadence_cycles %d", m.VALU.DependentCycles, m.VALU.CadenceCycles)
	case m.SALU.LoadMissCycles < m.SALU.LoadLatencyCycles:
		return fmt.Sprintf("salu.load_miss_cycles %d is less than salu.load_latency_cycles %d", m.SALU.LoadMissCycles, m.SALU.LoadLatencyCycles)
	}
	return ""
}

// bankBytes is the width of an LDS bank.
const bankBytes = 4

func checkLDS(m *Machine) string {
	l := m.LDS
	switch {
	case l.GranuleBytes > l.Bytes:
		return fmt.Sprintf("lds.granule_bytes %d is more than lds.bytes %d", l.GranuleBytes, l.Bytes)
	case l.QueueCycles > l.LatencyCycles:
		return fmt.Sprintf("lds.queue_cycles %d is more than lds.latency_cycles %d, of which it is a part", l.QueueCycles, l.LatencyCycles)
	case l.WriteBytesPerCycle > l.Banks*bankBytes:
		return fmt.Sprintf("lds.write_bytes_per_cycle %d is wider than %d banks of %d bytes (lds.banks)", l.WriteBytesPerCycle, l.Banks, bankBytes)
	}
	return ""
}

// shape is a set-associative cache as the checks see it.
type shape struct {
	bytes     string // the leaf's path
	size      int
	parts     int    // channels or slices
	partsPath string // "" when there is one
	ways      int
	line      int
}

// fault checks that the sets come out whole and a power of two, because
// address bits select them.
func (s shape) fault() string {
	unit := s.parts * s.ways * s.line
	in := fmt.Sprintf("ways (%d) * line (%d)", s.ways, s.line)
	if s.partsPath != "" {
		in = fmt.Sprintf("%s (%d) * %s", s.partsPath, s.parts, in)
	}
	if s.size%unit != 0 {
		return fmt.Sprintf("%s %d is not a multiple of %s = %d", s.bytes, s.size, in, unit)
	}
	if sets := s.size / unit; !isPowerOfTwo(sets) {
		return fmt.Sprintf("%s %d makes %d sets (divided by %s), which is not a power of two; change the ways to match", s.bytes, s.size, sets, in)
	}
	return ""
}

func checkCaches(m *Machine) string {
	for _, s := range []shape{
		{"fetch.cache_bytes", m.Fetch.CacheBytes, 1, "", m.Fetch.Ways, m.Fetch.LineBytes},
		{"salu.cache_bytes", m.SALU.CacheBytes, 1, "", m.SALU.CacheWays, m.SALU.CacheLineBytes},
		{"tcp.bytes", m.TCP.Bytes, 1, "", m.TCP.Ways, m.TCP.LineBytes},
		{"l2.bytes", m.L2.Bytes, m.L2.Channels, "l2.channels", m.L2.Ways, m.L2.LineBytes},
		{"llc.bytes", m.LLC.Bytes, m.LLC.Slices, "llc.slices", m.LLC.Ways, m.LLC.LineBytes},
	} {
		if f := s.fault(); f != "" {
			return f
		}
	}
	switch {
	case m.TCP.LineBytes != m.L2.LineBytes || m.L2.LineBytes != m.LLC.LineBytes:
		return fmt.Sprintf("tcp.line_bytes %d, l2.line_bytes %d and llc.line_bytes %d differ; the model moves whole lines between the levels",
			m.TCP.LineBytes, m.L2.LineBytes, m.LLC.LineBytes)
	case m.L2.InterleaveBytes < m.L2.LineBytes:
		return fmt.Sprintf("l2.interleave_bytes %d is less than l2.line_bytes %d", m.L2.InterleaveBytes, m.L2.LineBytes)
	case m.MeanHops()*m.Fabric.HopNS > m.Fabric.LatencyNS:
		return fmt.Sprintf("fabric.latency_ns is %g, but a slice lies %g hops of %g ns (fabric.hop_ns) away in the mean", m.Fabric.LatencyNS, m.MeanHops(), m.Fabric.HopNS)
	case m.Chip.IODs > m.LLC.Slices:
		return fmt.Sprintf("chip.iods is %d but the LLC has only %d slices (llc.slices)", m.Chip.IODs, m.LLC.Slices)
	case m.Fabric.RequestBytes > m.L2.LineBytes:
		return fmt.Sprintf("fabric.request_bytes %d is more than l2.line_bytes %d", m.Fabric.RequestBytes, m.L2.LineBytes)
	}
	return ""
}

func checkMemory(m *Machine) string {
	h := m.HBM
	switch {
	case m.TLB.Entries%m.TLB.Ways != 0 || m.TLB.Entries > 0 && !isPow2(m.TLB.Entries/m.TLB.Ways):
		return fmt.Sprintf("tlb.entries %d in tlb.ways %d ways are not a power of two of sets", m.TLB.Entries, m.TLB.Ways)
	case h.RowBytes < m.LLC.LineBytes:
		return fmt.Sprintf("hbm.row_bytes %d is less than llc.line_bytes %d", h.RowBytes, m.LLC.LineBytes)
	case m.LLC.PrefetchLines > 0 && (!isPow2(m.LLC.PrefetchBlockBytes) || m.LLC.PrefetchBlockBytes < m.LLC.LineBytes):
		return fmt.Sprintf("llc.prefetch_block_bytes %d is not a power of two from llc.line_bytes %d up", m.LLC.PrefetchBlockBytes, m.LLC.LineBytes)
	case m.LLC.FetchBytes != 0 && (!isPow2(m.LLC.FetchBytes) || m.LLC.FetchBytes < m.LLC.LineBytes || m.LLC.FetchBytes > h.RowBytes):
		return fmt.Sprintf("llc.fetch_bytes %d is neither 0 nor a power of two from llc.line_bytes %d to hbm.row_bytes %d", m.LLC.FetchBytes, m.LLC.LineBytes, h.RowBytes)
	case h.RefreshNS >= h.RefreshIntervalNS:
		return fmt.Sprintf("hbm.refresh_ns %s leaves no time in hbm.refresh_interval_ns %s", formatFloat(h.RefreshNS), formatFloat(h.RefreshIntervalNS))
	}
	return ""
}

func isPow2(n int) bool { return n > 0 && n&(n-1) == 0 }
