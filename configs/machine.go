package configs

// Machine is a fully resolved machine. Field names map to YAML keys in
// snake_case; units are suffixes of the names. Latencies and bandwidths of the
// core domain are in core clock cycles; those of fabric, LLC and HBM are in
// nanoseconds and gigabytes per second, because that domain keeps its own time.
type Machine struct {
	Name string // mi355x
	CPU  string // gfx950

	Chip     Chip
	Clock    Clock
	Power    Power
	CU       CU
	VALU     VALU
	MFMA     MFMA
	SALU     SALU
	Fetch    Fetch
	LDS      LDS
	TCP      TCP
	L2       L2
	TLB      TLB
	Fabric   Fabric
	LLC      LLC
	HBM      HBM
	Dispatch Dispatch
	Features Features
}

// Chip counts the dies and what is on them.
type Chip struct {
	XCDs, CUsPerXCD, ShaderEngines int
	IODs                           int
}

// Power is the budget that the clock law "power" solves for the core clock: the
// board's limit, what it draws without work, and the energy of each kind of
// work at the voltage floor. Above FloorMHz the core's voltage grows linearly to
// PeakVoltage, in units of the floor's, at the peak clock, and the core's energies with its square.
type Power struct {
	BoardW, StaticW                            float64
	FloorMHz                                   int
	PeakVoltage                                float64 // at clock.peak_mhz, over the floor's voltage
	CUPJPerCycle                               float64 // a CU's clock tree, issue and idle switching, per cycle
	MatrixPJPerFLOP64Bit, MatrixPJPerFLOP32Bit float64 // pJ per FLOP of matrix instructions, by input width
	MatrixPJPerFLOP16Bit, MatrixPJPerFLOPFP16  float64 // BF16 (8 bits of significand), FP16 (11)
	MatrixPJPerFLOP8Bit                        float64
	MatrixPJPerFLOP6Bit, MatrixPJPerFLOP4Bit   float64
	VALUPJPerLane                              float64 // per lane of a vector ALU operation
	LDSPJPerByte, L2PJPerByte                  float64 // LDS: bytes read and written; L2: bytes between it and the L1
	FabricPJPerByte, HBMPJPerByte              float64 // fabric and LLC: bytes between L2 and LLC; not on the core's voltage
}

// Clock is the clock law: "power" solves the power budget of the run, and
// "sustained" takes one clock per data type.
type Clock struct {
	Law          string
	PeakMHz      int
	SustainedMHz map[string]float64  // data type (bf16, fp16, fp8, ..., idle) to MHz under that load
	FittedOn     map[string][]string // data type to the points the clock was fitted on; absent: assumed
	DefaultMHz   float64             // for a type without an entry: printed as assumed
}

// CU holds wave slots, register files and issue rules.
type CU struct {
	SIMDs, WaveSlotsPerSIMD      int
	VGPRsPerSIMD, VGPRGranule    int // dwords per lane, ArchVGPR and AccVGPR together
	SGPRsPerSIMD, SGPRGranule    int
	MaxVGPRs, MaxAGPRs, MaxSGPRs int // addressable per wave
	IssueIntervalCycles          int // a SIMD is visited once in this many cycles
	BarrierCycles                int // last arrival to first issue after
	BranchTakenCycles            int // idle cycles after a taken branch
	WaitcntVMMax, WaitcntLGKMMax int // counter maxima
}

// VALU holds vector ALU timing.
type VALU struct {
	CadenceCycles   int // a wave64 operation occupies the SIMD
	DependentCycles int // issue to issue of a dependent operation
	TransCycles     int // occupancy of a transcendental
	DoubleCycles    int
	AddressCycles   int // VALU issue to the issue of a DS or VMEM that reads the result
	ToSALUCycles    int // VALU issue to the issue of an SALU that reads an SGPR it wrote
}

// MFMA holds matrix pipe timing.
type MFMA struct {
	Scale               float64 // multiplies passes: what-if on matrix rate
	PassCycles          int
	CoissueBytesPerSlot int  // first VALU slot after an XDL issue is 1 + bytes/this
	PackedExtraSlots    int  // packed f32 and dot: passes + this
	MemFollowsVALU      bool // DS and VMEM wait for the same slot as the VALU
}

// SALU holds scalar unit timing.
type SALU struct {
	CadenceCycles                         int
	LoadLatencyCycles                     int // s_load hit in the scalar cache
	LoadMissCycles                        int // s_load miss: served by L2
	CacheBytes, CacheWays, CacheLineBytes int // scalar data cache: 16 KB, 64 B lines, shared by Fetch.SharedByCUs CUs (documented); ways assumed 4
}

// Fetch holds the instruction cache and buffers.
type Fetch struct {
	CacheBytes, Ways, LineBytes int
	SharedByCUs                 int
	MissCycles                  int
	BytesPerCycle               int
}

// LDS holds the local data share.
type LDS struct {
	Bytes, GranuleBytes    int
	Banks                  int // of the widest reads; narrower forms are in the phase table
	PairPortBytesPerCycle  int // each direction
	FIFOEntries            int // per SIMD pair
	LatencyCycles          int // unloaded: request at the banks to data in the VGPR
	QueueCycles            int // part of it before the banks, in which the request holds its FIFO entry
	WriteBytesPerCycle     int // direct-to-LDS fill width
	UnalignedServiceCycles int
}

// TCP holds the vector L1 cache.
type TCP struct {
	Bytes, LineBytes, Ways int
	QueueEntries           int // VMEM instructions waiting per CU
	LineCycles             int // tag lookup per line touched
	AddressLanesPerCycle   int // TA: lanes per cycle, a floor per instruction
	WideLanesPerCycle      int // the same of loads of more than a dword a lane
	HitLatencyCycles       int // issue to data in VGPR for a hit
	SetHash                bool
	SetHashBits            int
	ReturnBytesPerCycle    int
	StoreLineCycles        int // per line segment written through
	StoreQueueEntries      int // write-through line segments outstanding per CU
}

// L2 holds one XCD's L2 cache (TCC).
type L2 struct {
	Bytes, LineBytes, Ways, Channels      int
	ReadBytesPerCycle, WriteBytesPerCycle int // per channel
	HitLatencyCycles                      int // CU request to data at the CU's return port, hit, unloaded, less TCP time
	MSHRsPerChannel                       int
	QueueEntries                          int // per channel
	LatencyFIFOEntries                    int // per channel; 0: reads are not kept in order
	InterleaveBytes                       int
	Invalidate, SetHash, ChannelHash      bool
	WriteBackLatencyCycles                int // store ack
	AtomicBytesPerCycle                   int // operands that a channel's atomic units take
	Replacement                           string
	RandomSeed                            int // of random replacement
}

// TLB is the translation cache of an XCD.
type TLB struct {
	Entries, Ways, PageBytes int
	MissNS                   float64
}

// Fabric is the links from the XCDs to the IODs, and between these.
type Fabric struct {
	LatencyNS                  float64 // one way, from an XCD to a slice of the LLC, mean over the slices
	ReadGBs                    float64 // per XCD, data towards the XCD
	WriteGBs                   float64 // per XCD, data towards the IOD
	RequestBytes               int
	HopNS                      float64 // one way, from an IOD to its neighbour
	EastWestGBs, NorthSouthGBs float64 // of a link between IODs, each way
}

// IODColumns is the number of columns of the grid that so many IODs form.
func IODColumns(iods int) int {
	if iods%2 == 0 {
		return 2
	}
	return 1
}

// MeanHops is how many links lie between two IODs in the mean, and so between an XCD and a
// slice of the LLC where IODs have as many of both each.
func (m *Machine) MeanHops() float64 {
	n, columns := m.Chip.IODs, IODColumns(m.Chip.IODs)
	sum := 0
	for a := range n {
		for b := range n {
			dx, dy := a%columns-b%columns, a/columns-b/columns
			sum += max(dx, -dx) + max(dy, -dy)
		}
	}
	return float64(sum) / float64(n*n)
}

// LLC is the memory-side Infinity Cache.
type LLC struct {
	Bytes, LineBytes, Ways, Slices  int
	LatencyNS                       float64 // lookup and data, unloaded, without the fabric
	GBs                             float64 // all slices
	MSHRsPerSlice                   int
	FetchBytes                      int // of memory that a read miss brings; 0: a line
	PrefetchLines                   int // that are fetched ahead of a run of reads; 0: none
	PrefetchBlockBytes              int // of memory, which fetching ahead does not leave
	AllocateOnRead, AllocateOnWrite bool
	SetHash, SliceHash              bool
	Replacement                     string
	RandomSeed                      int // of random replacement
}

// HBM is the memory.
type HBM struct {
	CapacityGB                   int
	Stacks, ChannelsPerStack     int
	GBs                          float64 // peak, all channels
	Efficiency                   float64 // share of the peak that a data bus reaches
	LatencyNS                    float64 // row hit to data, unloaded, beyond the LLC
	BanksPerChannel              int
	RowBytes                     int
	RowMissNS                    float64 // added for precharge and activate
	WriteQueue                   int     // writes on their way to a channel
	TurnAfter                    int     // accesses that wait for the bus to turn
	ReadToWriteNS, WriteToReadNS float64 // the bus stands still
	RefreshIntervalNS, RefreshNS float64
	RefreshScope                 string // bank | channel: what a refresh closes
}

// Dispatch is the workgroup launcher.
type Dispatch struct {
	Order              string // round_robin | contiguous | shader_engine
	CUOrder            string // shader_engines | fill | spread
	StaggerCycles      int    // between workgroups launched by an XCD
	WaveStaggerCycles  int    // the same, for each wave of the workgroup launched last
	XCDOffset          int    // first workgroup goes to this XCD
	WaveLaunchCycles   int    // between waves of a shader engine
	WorkgroupGapCycles int    // last wave's end to the first issue of the next workgroup on the CU
	LaunchOverheadUS   float64
	HostSyncUS         float64 // more, where the host waits for the device after each launch inside the time
}

// Features are what-ifs: hardware that CDNA lacks, off on real machines, and its
// sizes. Kernels that use a feature are refused where it is off.
type Features struct {
	DynamicRegisters bool // waves give vector registers to others of their SIMD
	MFMALDSOperands  bool // blocks of matrix instructions read operands from LDS
	TileCopy         bool // one instruction moves a tile from memory to LDS
	MBarrier         bool // barrier objects with arrival counts in LDS

	MFMABlocks            int // block multiplies of a SIMD under way: one multiplies while the others read
	TileCopyEntries       int // tile copies of a CU under way
	TileCopyLines         int // lines of them outstanding
	TileCopyBytesPerCycle int // lines asked for
}
