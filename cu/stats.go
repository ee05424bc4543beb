package cu

import (
	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/isa"
)

// StallReason says why a wave did not issue in a cycle.
type StallReason uint8

// Stall reasons. Exactly one holds in every cycle in which a resident wave is
// not issuing.
const (
	StallVMCnt       StallReason = iota // s_waitcnt vmcnt, and s_endpgm with memory outstanding
	StallLGKMCnt                        // s_waitcnt lgkmcnt
	StallBarrier                        // s_barrier: others have not arrived, or the release is under way
	StallDependency                     // a VALU result is not ready, or a counter would overflow
	StallMatrix                         // the matrix pipe is busy
	StallVALU                           // the VALU is busy or held by the co-issue rule
	StallLDSQueue                       // LDS port or FIFO full, or data still going in
	StallVMEMQueue                      // vector memory queue full
	StallArbitration                    // another wave won the category in this visit
	StallFetch                          // instruction not in the buffer
	StallSleep                          // s_nop, s_sleep
	NumStalls
)

var stallNames = [NumStalls]string{"waitcnt_vmcnt", "waitcnt_lgkmcnt", "barrier", "dependency", "matrix_busy", "valu_busy",
	"lds_queue_full", "vmem_queue_full", "arbitration", "fetch", "sleep"}

// String returns the name that reports print.
func (r StallReason) String() string { return stallNames[r] }

// InstStats is what one static instruction cost, over all waves.
type InstStats struct {
	Hits      uint64
	Issued    uint64 // wave-cycles spent issuing
	Stall     [NumStalls]uint64
	Conflicts uint64 // LDS: SQ_LDS_BANK_CONFLICT
	Service   uint64 // LDS: bank cycles
	Lines     uint64 // vector memory: lines touched
}

// Stats is what a set of CUs did. CUs of one XCD share one Stats; XCDs run
// side by side and are added up in order at the end.
type Stats struct {
	Inst        []InstStats          // per static instruction
	Issued      [isa.NumUnits]uint64 // wave-cycles
	IssuedCount [isa.NumUnits]uint64 // instructions
	Stalls      [NumStalls]uint64
	WaveCycles  uint64 // sum over waves of end minus start
	Waves       uint64
	Workgroups  uint64 // that have ended
	EndedIssues uint64 // instructions of these

	MFMABusy                    uint64 // SIMD-cycles
	VALUBusy                    uint64 // SIMD-cycles
	LDSService                  uint64 // bank cycles of instructions
	LDSFill                     uint64 // bytes written by direct-to-LDS
	LDSPort                     uint64 // port cycles of SIMD pairs, the busier direction of each instruction
	LDSReadBytes, LDSWriteBytes uint64
	LDSLatency                  cache.Histogram // issue to data, cycles
	LDSLatencySum               uint64
	VMEMLatency                 cache.Histogram // issue of a vector-memory instruction to the fall of vmcnt, cycles
	VMEMLatencySum              uint64
	Barriers                    uint64 // released
	Conflicts                   uint64
	VMEMLines                   uint64

	LoopCycles     uint64 // wave-cycles between entering and leaving the marked loop
	LoopSpan       uint64 // CU-cycles in which a wave was inside the loop
	LoopIterations uint64
	LoopMFMA       uint64 // matrix cycles issued inside the loop
	LoopWaves      uint64

	SMEMHits, SMEMMisses     uint64
	ICacheHits, ICacheMisses uint64

	rows      []row   // by instruction: what is not in Inst yet, see CU.Settle
	runs      []int64 // by instruction: how many more runs than before it issued it, see CU.Settle
	unsettled bool
	usual     []ldsCache // by DS instruction: what it cost the first wave

	patterns patterns // shared by the CUs that share this Stats
	replayed replayed // too
}

// WaveTime is the wave-cycles of all waves, of those that have not ended as far
// as they are booked.
func (s *Stats) WaveTime() (n uint64) {
	for _, c := range s.Issued {
		n += c
	}
	for _, c := range s.Stalls {
		n += c
	}
	return n
}

// Merge adds o to s.
func (s *Stats) Merge(o *Stats) {
	for i := range o.Inst {
		a, b := &s.Inst[i], &o.Inst[i]
		a.Hits += b.Hits
		a.Issued += b.Issued
		for r := range a.Stall {
			a.Stall[r] += b.Stall[r]
		}
		a.Conflicts += b.Conflicts
		a.Service += b.Service
		a.Lines += b.Lines
	}
	for u := range s.Issued {
		s.Issued[u] += o.Issued[u]
		s.IssuedCount[u] += o.IssuedCount[u]
	}
	for r := range s.Stalls {
		s.Stalls[r] += o.Stalls[r]
	}
	for _, p := range [...][2]*uint64{
		{&s.WaveCycles, &o.WaveCycles}, {&s.Waves, &o.Waves}, {&s.Workgroups, &o.Workgroups}, {&s.EndedIssues, &o.EndedIssues},
		{&s.MFMABusy, &o.MFMABusy}, {&s.VALUBusy, &o.VALUBusy}, {&s.LDSService, &o.LDSService}, {&s.LDSFill, &o.LDSFill},
		{&s.Conflicts, &o.Conflicts}, {&s.VMEMLines, &o.VMEMLines}, {&s.LoopCycles, &o.LoopCycles}, {&s.LoopSpan, &o.LoopSpan},
		{&s.LoopIterations, &o.LoopIterations}, {&s.LoopMFMA, &o.LoopMFMA}, {&s.LoopWaves, &o.LoopWaves},
		{&s.LDSPort, &o.LDSPort}, {&s.LDSLatencySum, &o.LDSLatencySum}, {&s.VMEMLatencySum, &o.VMEMLatencySum}, {&s.Barriers, &o.Barriers}, {&s.LDSReadBytes, &o.LDSReadBytes}, {&s.LDSWriteBytes, &o.LDSWriteBytes},
		{&s.SMEMHits, &o.SMEMHits}, {&s.SMEMMisses, &o.SMEMMisses}, {&s.ICacheHits, &o.ICacheHits}, {&s.ICacheMisses, &o.ICacheMisses},
	} {
		*p[0] += *p[1]
	}
	s.LDSLatency.Merge(&o.LDSLatency)
	s.VMEMLatency.Merge(&o.VMEMLatency)
}

// vmemDone books a vector-memory instruction that took so many cycles.
func (s *Stats) vmemDone(cycles int64) {
	s.VMEMLatency.Add(uint64(cycles))
	s.VMEMLatencySum += uint64(cycles)
}
