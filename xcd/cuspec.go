package xcd

import (
	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/lds"
)

// CUSpec translates a machine file into the sizes of its compute units.
func CUSpec(m *configs.Machine) *cu.Spec {
	s := &cu.Spec{
		SIMDs: m.CU.SIMDs, WaveSlots: m.CU.WaveSlotsPerSIMD,
		VGPRsPerSIMD: m.CU.VGPRsPerSIMD, VGPRGranule: m.CU.VGPRGranule,
		SGPRsPerSIMD: m.CU.SGPRsPerSIMD, SGPRGranule: m.CU.SGPRGranule,
		LDSBytes: m.LDS.Bytes, LDSGranule: m.LDS.GranuleBytes,
		IssueInterval: int64(m.CU.IssueIntervalCycles),
		BarrierCycles: int64(m.CU.BarrierCycles), BranchTaken: int64(m.CU.BranchTakenCycles),
		WaveLaunch: int64(m.Dispatch.WaveLaunchCycles), FirstFetch: int64(m.Fetch.MissCycles),
		VMMax: m.CU.WaitcntVMMax, LGKMMax: m.CU.WaitcntLGKMMax,
		VALUCycles: int64(m.VALU.CadenceCycles), VALUDependent: int64(m.VALU.DependentCycles),
		TransCycles: int64(m.VALU.TransCycles), DoubleCycles: int64(m.VALU.DoubleCycles),
		ValuToAddress: int64(m.VALU.AddressCycles), ValuToSALU: int64(m.VALU.ToSALUCycles),
		MFMAScale: m.MFMA.Scale, PassCycles: int64(m.MFMA.PassCycles),
		CoissueBytesPerSlot: m.MFMA.CoissueBytesPerSlot, PackedExtraSlots: m.MFMA.PackedExtraSlots,
		MemFollowsVALU:  m.MFMA.MemFollowsVALU,
		ScalarHitCycles: int64(m.SALU.LoadLatencyCycles),
		ICacheBytes:     m.Fetch.CacheBytes, ICacheWays: m.Fetch.Ways, ICacheLine: m.Fetch.LineBytes,
		ScalarCacheBytes: m.SALU.CacheBytes, ScalarLine: m.SALU.CacheLineBytes, ScalarWays: m.SALU.CacheWays,
		Features: features(&m.Features), MFMABlocks: m.Features.MFMABlocks,
		CopyEntries: m.Features.TileCopyEntries, CopyLines: m.Features.TileCopyLines,
		CopyLineGap:  max(1, m.TCP.LineBytes/m.Features.TileCopyBytesPerCycle),
		LDSPortBytes: m.LDS.PairPortBytesPerCycle,
		LDS: lds.Spec{
			PairPortBytesPerCycle: m.LDS.PairPortBytesPerCycle,
			FIFOEntries:           m.LDS.FIFOEntries,
			LatencyCycles:         m.LDS.LatencyCycles,
			QueueCycles:           m.LDS.QueueCycles,
			FillBytesPerCycle:     m.LDS.WriteBytesPerCycle,
		},
		TCP: cache.TCPSpec{
			Bytes: m.TCP.Bytes, LineBytes: m.TCP.LineBytes, Ways: m.TCP.Ways,
			QueueEntries: m.TCP.QueueEntries, LineCycles: m.TCP.LineCycles,
			AddressLanesPerCycle: m.TCP.AddressLanesPerCycle, WideLanesPerCycle: m.TCP.WideLanesPerCycle, HitLatencyCycles: m.TCP.HitLatencyCycles,
			ReturnBytesPerCycle: m.TCP.ReturnBytesPerCycle, SetHash: m.TCP.SetHash, SetHashBits: m.TCP.SetHashBits,
			StoreLineCycles: m.TCP.StoreLineCycles, StoreQueueEntries: m.TCP.StoreQueueEntries,
		},
	}
	return s
}

// features are the machine file's switches as a set.
func features(f *configs.Features) (set isa.Features) {
	for _, s := range []struct {
		on  bool
		bit isa.Features
	}{
		{f.DynamicRegisters, isa.DynamicRegisters}, {f.MFMALDSOperands, isa.MFMALDSOperands},
		{f.TileCopy, isa.TileCopy}, {f.MBarrier, isa.MBarrier},
	} {
		if s.on {
			set |= s.bit
		}
	}
	return set
}
