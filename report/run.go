package report

// Run is the result of one simulated kernel launch.
type Run struct {
	Version    string  `json:"version" doc:"Whisker's version"`
	Kernel     string  `json:"kernel" doc:"kernel name"`
	KernelHash string  `json:"kernel_hash" doc:"hash of the kernel's instructions and launch"`
	Arch       string  `json:"arch" doc:"machine name"`
	Mode       string  `json:"mode" doc:"timing, functional or full"`
	Seed       uint64  `json:"seed" doc:"seed of the input values"`
	Options    Options `json:"options"`
	Machine    Machine `json:"machine"`
	Launch     Launch  `json:"launch"`

	LLCStart string `json:"llc_start" doc:"what the LLC holds at the start: warm, what an earlier launch of the same kernel leaves; launched, what the launches of --warmup left; cold, nothing; empty in functional mode"`

	Cycles            int64     `json:"cycles" unit:"cycles" doc:"core clock cycles from the first workgroup's launch until every L2 has written back what it holds"`
	WriteBackCycles   int64     `json:"write_back_cycles" unit:"cycles" doc:"of the cycles, those after the last workgroup's end, in which the L2s write back; of several kernels all; of a sample of the first rounds, what they would take for what these leave in them"`
	ClockMHz          float64   `json:"clock_mhz" unit:"MHz" doc:"core clock that the cycles are turned into time with"`
	Clock             Clock     `json:"clock"`
	HostSync          *HostSync `json:"host_sync,omitempty" doc:"where the constant behind host_sync_us comes from; absent when the host does not wait"`
	Power             *Power    `json:"power,omitempty" doc:"the power budget that gave the clock; absent when the clock is one of a data type or set by hand"`
	KernelTimeUS      float64   `json:"kernel_time_us" unit:"us" doc:"cycles over the clock, without launch overhead"`
	LaunchOverheadUS  float64   `json:"launch_overhead_us" unit:"us" doc:"constant of the machine file or of --launch-overhead-us, once for each kernel of the measurement"`
	HostSyncUS        float64   `json:"host_sync_us" unit:"us" doc:"dispatch.host_sync_us of the machine where the host waits for the device after each launch inside the time, as the kernel's original does or --host-sync says; else 0"`
	TimeUS            float64   `json:"time_us" unit:"us" doc:"what a benchmark that times each launch sees: kernel time, launch overhead and the host's wait"`
	FLOPs             float64   `json:"flops" unit:"flop" doc:"the benchmark's own count, for GEMM 2MNK"`
	TFLOPS            float64   `json:"tflops" unit:"TFLOPS" doc:"flops over time_us"`
	PeakTFLOPSAtClock float64   `json:"peak_tflops_at_clock" unit:"TFLOPS" doc:"matrix peak of the machine at clock_mhz for the kernel's matrix instruction"`
	PeakShare         float64   `json:"peak_share" unit:"fraction" doc:"tflops over peak_tflops_at_clock"`

	UsefulBytes float64 `json:"useful_bytes" unit:"bytes" doc:"bytes that a memory-bound kernel must move at least, from its sizes; 0 for the rest"`
	UsefulTBs   float64 `json:"useful_tbs" unit:"TB/s" doc:"useful_bytes over time_us"`

	LaunchSensitivity []LaunchPoint `json:"launch_sensitivity" doc:"the result at other overheads of a launch"`

	MatrixUtilization     float64 `json:"matrix_utilization" unit:"fraction" doc:"matrix pipe busy cycles over SIMDs times cycles"`
	LoopMatrixUtilization float64 `json:"loop_matrix_utilization" unit:"fraction" doc:"the same over the kernel's main loop alone: from the first to the last loop instruction of each workgroup; 0 when the kernel has no marked loop"`
	LoopCyclesPerStep     float64 `json:"loop_cycles_per_step" unit:"cycles" doc:"mean cycles of a step of the main loop: a K step of a GEMM, a block of keys or queries of attention; 0 when the kernel has no marked loop"`
	VALUUtilization       float64 `json:"valu_utilization" unit:"fraction" doc:"vector ALU busy cycles over SIMDs times cycles"`
	SALUUtilization       float64 `json:"salu_utilization" unit:"fraction" doc:"wave-cycles that issued scalar ALU instructions over SIMDs times cycles"`
	IssueUtilization      float64 `json:"issue_utilization" unit:"fraction" doc:"wave instructions over the issue slots that SIMD visits offer at one instruction each"`

	WaveInstructions int64     `json:"wave_instructions" doc:"instructions issued, counted once a wave"`
	WaveCycles       int64     `json:"wave_cycles" unit:"wave-cycles" doc:"cycles that waves were resident, summed over waves: the sum of issued and stalls, exactly"`
	Issued           Counts    `json:"issued" unit:"wave-cycles" doc:"wave-cycles in which an instruction issued, by class"`
	Stalls           Counts    `json:"stalls" unit:"wave-cycles" doc:"wave-cycles in which nothing issued, by reason"`
	Occupancy        Occupancy `json:"occupancy"`
	Registers        Registers `json:"registers"`

	LDS    LDS              `json:"lds"`
	TCP    TCP              `json:"tcp"`
	Scalar ScalarCache      `json:"scalar_cache"`
	Fetch  InstructionCache `json:"instruction_cache"`
	L2     Cache            `json:"l2"`
	Fabric Fabric           `json:"fabric"`
	LLC    Cache            `json:"llc"`
	HBM    Memory           `json:"hbm"`
	Drift  Drift            `json:"drift" doc:"how far apart the workgroups of an XCD are"`

	Parts        []Part        `json:"kernels,omitempty" doc:"the kernels of a measurement that runs several in sequence"`
	Counters     Counts        `json:"counters" doc:"rocprof's counter names, where the meaning is the same"`
	Clusters     []Cluster     `json:"clusters,omitempty" doc:"the kernel by cluster, when it marks its clusters"`
	Instructions []Instruction `json:"instructions,omitempty" doc:"one row an instruction address, with --per-instruction"`

	Sample *Sample `json:"sample,omitempty" doc:"present when only the first rounds of workgroups were simulated"`
	// Rates are the bandwidths of L1, L2, LLC, fabric (read, written) and HBM in bytes a cycle, where Combine weighted them.
	Rates  []float64 `json:"-"`
	Replay *Replay   `json:"replay,omitempty" doc:"present when a trace was replayed"`
	Verify *Verify   `json:"verify,omitempty" doc:"present when values were checked"`
	Notes  []string  `json:"notes,omitempty" doc:"what the reader must know before using the figures: predictions, fallbacks, policies"`
	Host   *Host     `json:"host,omitempty" doc:"the only figures that differ between repetitions of the same run"`
}

// What Run.LLCStart may be.
const (
	LLCWarm     = "warm"
	LLCLaunched = "launched"
	LLCCold     = "cold"
)

// Options is the kernel's configuration as it was run, defaults filled in. As
// JSON it is one object: the GEMM's keys, or those of the other kernels from
// Other.
type Options struct {
	M        int    `json:"m,omitempty" doc:"GEMM: rows of C"`
	N        int    `json:"n,omitempty" doc:"GEMM: columns of C"`
	K        int    `json:"k,omitempty" doc:"GEMM: inner dimension"`
	Tile     string `json:"tile,omitempty" doc:"workgroup tile, MxNxK"`
	Schedule string `json:"schedule,omitempty" doc:"wave schedule of the kernel"`
	MFMA     string `json:"mfma,omitempty" doc:"matrix instruction shape, MxNxK"`
	DType    string `json:"dtype,omitempty" doc:"input data type"`
	Window   int    `json:"window" doc:"W of the block remap: rows of tiles a window"`
	Chunk    int    `json:"chunk" doc:"C of the block remap: consecutive blocks an XCD gets"`

	// Other holds every option of a kernel that has more or other ones, in the
	// order that the kernel documents them.
	Other []Setting `json:"-"`
}

// Setting is an option of a kernel and its value.
type Setting struct {
	Name  string
	Value any // string, bool, int or float64
}

// Machine names the machine that was simulated and carries it whole.
type Machine struct {
	Name     string `json:"name" doc:"machine name"`
	CPU      string `json:"cpu" doc:"LLVM processor name"`
	Hash     string `json:"hash" doc:"hash of the resolved machine file"`
	XCDs     int    `json:"xcds" doc:"accelerator dies"`
	CUs      int    `json:"cus" doc:"compute units, all dies"`
	Resolved Tree   `json:"resolved" doc:"every leaf of the machine file after inheritance and --set"`
}

// Launch is the dispatch.
type Launch struct {
	Workgroups        int `json:"workgroups" doc:"workgroups of the grid"`
	WavesPerWorkgroup int `json:"waves_per_workgroup" doc:"waves of one workgroup"`
}

// Clock says where the clock comes from.
type Clock struct {
	Law        string   `json:"law" doc:"clock law of the machine file"`
	Class      string   `json:"class" doc:"class of the clock's constants: published, measured, derived, calibrated or assumed"`
	FittedOn   []string `json:"fitted_on" doc:"points that a calibrated clock was fitted on"`
	Prediction bool     `json:"prediction" doc:"true when the constants were fitted and this very point is not among fitted_on"`
}

// HostSync says where the time comes from that the host's wait for the device
// adds.
type HostSync struct {
	Why        string   `json:"why" doc:"how it is known that the host waits: published or assumed of the kernel's original, or asked for"`
	Class      string   `json:"class" doc:"class of dispatch.host_sync_us"`
	FittedOn   []string `json:"fitted_on" doc:"points that it was fitted on"`
	Prediction bool     `json:"prediction" doc:"true when the constants were fitted and this very point is not among fitted_on"`
}

// Sample says what part of a launch was simulated.
type Sample struct {
	Workgroups      int   `json:"workgroups" doc:"workgroups that ended"`
	OfWorkgroups    int   `json:"of_workgroups" doc:"workgroups of the grid"`
	Rounds          int   `json:"rounds" doc:"rounds simulated; a round is what the machine holds at once"`
	SimulatedCycles int64 `json:"simulated_cycles" unit:"cycles" doc:"cycles simulated"`
	RoundCycles     int64 `json:"round_cycles" unit:"cycles" doc:"what each further round is taken to last"`
}

// Power is the power budget of a run. Energies are at the voltage floor.
type Power struct {
	LimitW       float64 `json:"limit_w" unit:"W" doc:"sustained board limit"`
	CoreFactor   float64 `json:"core_factor" doc:"what the core's energies (matrix, CUs, VALU, LDS, L2) are multiplied with at clock_mhz: its voltage over the floor's, squared"`
	Watts        float64 `json:"watts" unit:"W" doc:"board power of this run at clock_mhz"`
	StaticW      float64 `json:"static_w" unit:"W" doc:"part of watts that does not depend on the work"`
	SimulatedMHz float64 `json:"simulated_mhz" unit:"MHz" doc:"clock that the cycles were simulated at: within 1 % of clock_mhz, which the budget gives for their work"`
	Limited      bool    `json:"limited" doc:"true when the limit and not the peak clock gave clock_mhz"`
	Energy       Energy  `json:"energy"`
}

// Energy is a run's energy by what it was spent on, without the static part.
type Energy struct {
	Matrix float64 `json:"matrix_j" unit:"J" doc:"matrix instructions"`
	CU     float64 `json:"cu_j" unit:"J" doc:"clock trees, issue and operand movement"`
	VALU   float64 `json:"valu_j" unit:"J" doc:"vector ALU"`
	LDS    float64 `json:"lds_j" unit:"J" doc:"LDS reads, writes and fills"`
	L2     float64 `json:"l2_j" unit:"J" doc:"between L1 and L2"`
	Fabric float64 `json:"fabric_j" unit:"J" doc:"between L2 and LLC"`
	HBM    float64 `json:"hbm_j" unit:"J" doc:"between LLC and HBM"`
}

// LaunchPoint is the result at one launch overhead.
type LaunchPoint struct {
	OverheadUS float64 `json:"overhead_us" unit:"us" doc:"overhead of a launch; a measurement of several kernels has as many"`
	TimeUS     float64 `json:"time_us" unit:"us" doc:"what a benchmark would see at this overhead"`
	TFLOPS     float64 `json:"tflops" unit:"TFLOPS" doc:"flops over this time"`
	UsefulTBs  float64 `json:"useful_tbs" unit:"TB/s" doc:"useful_bytes over this time"`
}

// Occupancy says how many waves a SIMD holds and what stops it from holding more.
type Occupancy struct {
	WavesPerSIMD     int     `json:"waves_per_simd" doc:"waves of this kernel that a SIMD can hold"`
	WorkgroupsPerCU  int     `json:"workgroups_per_cu" doc:"workgroups that a CU can hold at once"`
	Limiter          string  `json:"limiter" doc:"the resource that runs out first: wave_slots, vgpr, sgpr or lds"`
	VGPRs            int     `json:"vgprs" doc:"architectural vector registers a lane"`
	AGPRs            int     `json:"agprs" doc:"accumulation vector registers a lane"`
	SGPRs            int     `json:"sgprs" doc:"scalar registers a wave"`
	LDSBytes         int     `json:"lds_bytes" unit:"bytes" doc:"LDS of a workgroup"`
	MeanWavesPerSIMD float64 `json:"mean_waves_per_simd" doc:"wave-cycles over SIMDs times cycles"`
	EmptySlotCycles  int64   `json:"empty_slot_cycles" unit:"slot-cycles" doc:"cycles that wave slots had no wave resident; not part of wave_cycles"`
}

// LDS is the local data share, all CUs.
type LDS struct {
	Instructions    int64   `json:"instructions" doc:"DS instructions"`
	BankConflicts   int64   `json:"bank_conflicts" unit:"cycles" doc:"rocprof's meaning: over the phases of each instruction, the largest number of distinct addresses in one bank less one, summed"`
	ConflictsPer    float64 `json:"conflicts_per_instruction" doc:"bank_conflicts over instructions"`
	BytesRead       int64   `json:"bytes_read" unit:"bytes" doc:"bytes that DS reads returned"`
	BytesWritten    int64   `json:"bytes_written" unit:"bytes" doc:"bytes that DS writes stored"`
	FillBytes       int64   `json:"fill_bytes" unit:"bytes" doc:"bytes written by direct-to-LDS loads"`
	BankUtilization float64 `json:"bank_utilization" unit:"fraction" doc:"cycles the banks served a phase or a fill over CUs times cycles"`
	PortUtilization float64 `json:"port_utilization" unit:"fraction" doc:"cycles the SIMD-pair ports carried data over ports times cycles"`
	FillUtilization float64 `json:"fill_utilization" unit:"fraction" doc:"cycles the banks took direct-to-LDS data over CUs times cycles"`
	Latency         Latency `json:"latency" doc:"issue of an LDS instruction, reads, writes and atomics, to the fall of its counter"`
}

// TCP is the vector L1 with its queue, all CUs.
type TCP struct {
	Instructions       int64   `json:"instructions" doc:"vector-memory instructions"`
	Requests           int64   `json:"requests" doc:"line lookups of reads"`
	Hits               int64   `json:"hits" doc:"lookups that found their line present"`
	HitsInFlight       int64   `json:"hits_in_flight" doc:"lookups that found their line already asked for"`
	Misses             int64   `json:"misses" doc:"lookups that asked L2 for the line"`
	HitRate            float64 `json:"hit_rate" unit:"fraction" doc:"hits and hits in flight over requests"`
	HitInFlight        float64 `json:"hit_in_flight" unit:"fraction" doc:"hits in flight over requests: part of hit_rate"`
	Stores             int64   `json:"stores" doc:"line segments written through to L2"`
	BytesRead          int64   `json:"bytes_read" unit:"bytes" doc:"bytes delivered to VGPRs and LDS"`
	BytesWritten       int64   `json:"bytes_written" unit:"bytes" doc:"bytes stored"`
	BandwidthTBs       float64 `json:"bandwidth_tbs" unit:"TB/s" doc:"bytes read and written over the time in which they were counted"`
	Utilization        float64 `json:"utilization" unit:"fraction" doc:"cycles the tag lookup was busy over CUs times cycles"`
	SetFullCycles      int64   `json:"set_full_cycles" unit:"cycles" doc:"lookups waited for a way of their set, all in flight; summed over CUs"`
	StoreQueueCycles   int64   `json:"store_queue_cycles" unit:"cycles" doc:"lookups of stores waited for room among the stores under way; summed over CUs"`
	MeanLinesInFlight  float64 `json:"mean_lines_in_flight" doc:"lines outstanding to L2 a CU, averaged over cycles"`
	Latency            Latency `json:"latency" doc:"lookup of a line that missed to its data"`
	InstructionLatency Latency `json:"instruction_latency" doc:"issue of a vector-memory instruction to the fall of its counter, stores and atomics included"`
}

// ScalarCache is what s_load found in the caches that CUs share, all CUs.
type ScalarCache struct {
	Requests int64   `json:"requests" doc:"scalar loads"`
	Hits     int64   `json:"hits" doc:"those whose line was there"`
	HitRate  float64 `json:"hit_rate" unit:"fraction" doc:"hits over requests"`
}

// InstructionCache is the caches of instructions that CUs share, all CUs.
type InstructionCache struct {
	Lookups int64 `json:"lookups" doc:"lines that waves came to and found"`
	Fetched int64 `json:"fetched" doc:"lines asked of the L2, those asked for along with the line before included"`
}

// Cache is one level of cache behind the CUs, all dies.
type Cache struct {
	Requests     int64   `json:"requests" doc:"line requests: reads, writes and atomics"`
	Reads        int64   `json:"reads" doc:"read requests"`
	Writes       int64   `json:"writes" doc:"write requests"`
	Atomics      int64   `json:"atomics" doc:"requests for a read-modify-write, one for each line of an atomic; L2 only"`
	AtomicBytes  int64   `json:"atomic_bytes" unit:"bytes" doc:"operands of the atomics"`
	AtomicMisses int64   `json:"atomic_misses" doc:"atomics that had to fetch their line: part of misses"`
	AtomicCycles int64   `json:"atomic_cycles" unit:"cycles" doc:"port time of the atomics, summed over channels"`
	Hits         int64   `json:"hits" doc:"requests that found their line present"`
	HitsInFlight int64   `json:"hits_in_flight" doc:"requests that found their line already asked for"`
	Misses       int64   `json:"misses" doc:"requests that went a level down for the line"`
	HitRate      float64 `json:"hit_rate" unit:"fraction" doc:"hits and hits in flight over requests of all kinds, as the counters of the L2 have it"`
	HitInFlight  float64 `json:"hit_in_flight" unit:"fraction" doc:"hits in flight over requests: part of hit_rate"`
	ReadHits     int64   `json:"read_hits" doc:"reads among the hits and hits in flight"`
	ReadHitRate  float64 `json:"read_hit_rate" unit:"fraction" doc:"read_hits over reads; of the LLC the hit rate that Table 4 shows"`
	Fetched      int64   `json:"fetched_ahead" doc:"lines that came from the level below before anybody asked for them; LLC only"`
	FetchedReads int64   `json:"fetched_ahead_reads" doc:"reads that were the first of such a line: part of misses, since memory was read for them"`
	Fills        int64   `json:"fills" doc:"lines that came from the level below"`
	WriteBacks   int64   `json:"write_backs" doc:"dirty lines written to the level below"`
	Bytes        int64   `json:"bytes" unit:"bytes" doc:"bytes moved between this level and the one above"`
	BandwidthTBs float64 `json:"bandwidth_tbs" unit:"TB/s" doc:"bytes over the time in which they were counted: kernel_time_us, or what was simulated of it"`
	Utilization  float64 `json:"utilization" unit:"fraction" doc:"L2: time of the channels' ports, reads, writes and atomics; LLC: bandwidth over what its data paths carry at most"`
	Queue        Latency `json:"queue" doc:"request accepted to its turn at the level's port"`
	Latency      Latency `json:"latency" doc:"request accepted to data at the requester's port"`
}

// Fabric is the links from the XCDs to the IODs, and between these.
type Fabric struct {
	BytesRead        int64   `json:"bytes_read" unit:"bytes" doc:"bytes towards the XCDs"`
	BytesWritten     int64   `json:"bytes_written" unit:"bytes" doc:"bytes towards the IODs"`
	ReadTBs          float64 `json:"read_tbs" unit:"TB/s" doc:"bytes_read over the time in which they were counted"`
	WriteTBs         float64 `json:"write_tbs" unit:"TB/s" doc:"bytes_written over the time in which they were counted"`
	ReadUtilization  float64 `json:"read_utilization" unit:"fraction" doc:"read_tbs over the links' capacity"`
	WriteUtilization float64 `json:"write_utilization" unit:"fraction" doc:"write_tbs over the links' capacity"`
	Queue            Latency `json:"queue" doc:"line ready to its head on the link"`
	ReadLatency      Latency `json:"read_latency" doc:"an L2's request for a line, translated, to the line: what rocprof has as TCC_EA0_RDREQ_LEVEL over TCC_EA0_RDREQ"`
	IODBytes         int64   `json:"iod_bytes" unit:"bytes" doc:"bytes between IODs, once for each link that they crossed"`
	IODUtilization   float64 `json:"iod_utilization" unit:"fraction" doc:"of the busiest link between two IODs, one way"`
	IODQueue         Latency `json:"iod_queue" doc:"data at an IOD to their head on the link to the next"`
	TLBLookups       int64   `json:"tlb_lookups" doc:"addresses translated for lines that an L2 asks memory for"`
	TLBMisses        int64   `json:"tlb_misses" doc:"translations that were not at hand"`
}

// Drift is how far apart the workgroups of an XCD were, in K steps of the main
// loop: the CU that was furthest in the launch against the least far one.
type Drift struct {
	Samples int       `json:"samples" doc:"points in time at which the spread was taken; 0 for a kernel without a main loop"`
	Mean    float64   `json:"mean" unit:"steps" doc:"spread, mean over XCDs and time"`
	Max     float64   `json:"max" unit:"steps" doc:"largest spread of an XCD"`
	Tenths  []float64 `json:"tenths,omitempty" unit:"steps" doc:"mean spread in each tenth of the run"`
}

// Memory is HBM, all stacks.
type Memory struct {
	Requests     int64   `json:"requests" doc:"line requests, reads and writes"`
	Reads        int64   `json:"reads" doc:"lines read"`
	Writes       int64   `json:"writes" doc:"lines written"`
	RowHits      int64   `json:"row_hits" doc:"requests that found their row open"`
	RowMisses    int64   `json:"row_misses" doc:"requests that had to open their row"`
	Turnarounds  int64   `json:"turnarounds" doc:"changes of a channel's data bus between reading and writing"`
	Bytes        int64   `json:"bytes" unit:"bytes" doc:"bytes read and written"`
	BandwidthTBs float64 `json:"bandwidth_tbs" unit:"TB/s" doc:"bytes over the time in which they were counted: kernel_time_us, or what was simulated of it"`
	Utilization  float64 `json:"utilization" unit:"fraction" doc:"bandwidth over the peak of all channels"`
	Queue        Latency `json:"queue" doc:"request accepted to its head on the channel's bus, precharge and activate included"`
	Latency      Latency `json:"latency" doc:"request accepted to data back at the LLC"`
}

// Cluster is one cluster of a kernel. Cycles are means over the
// visits of waves.
type Cluster struct {
	Name         string  `json:"name" doc:"cluster name as the kernel marks it"`
	InLoop       bool    `json:"in_loop" doc:"the cluster is part of the main loop; the text page shows only these when there are any"`
	Visits       int64   `json:"visits" doc:"times that waves ran through the cluster"`
	Cycles       float64 `json:"cycles" unit:"cycles" doc:"first instruction to the next cluster's first"`
	MatrixCycles float64 `json:"matrix_cycles" unit:"cycles" doc:"matrix pipe occupied by the cluster's instructions"`
	LDSService   float64 `json:"lds_service" unit:"cycles" doc:"LDS banks occupied by the cluster's instructions"`
	LDSLatency   float64 `json:"lds_latency" unit:"cycles" doc:"waited in s_waitcnt lgkmcnt"`
	VMEMWait     float64 `json:"vmem_wait" unit:"cycles" doc:"waited in s_waitcnt vmcnt"`
	Barrier      float64 `json:"barrier" unit:"cycles" doc:"waited at s_barrier"`
	ExposedWait  float64 `json:"exposed_wait" unit:"cycles" doc:"in a cluster with matrix instructions, its cycles beyond matrix_cycles"`
	Other        float64 `json:"other" unit:"cycles" doc:"stalled for any other reason"`
}

// Instruction is one row of the per-instruction table, summed over waves.
type Instruction struct {
	Kernel        string `json:"kernel,omitempty" doc:"its kernel, where a measurement has several"`
	PC            uint32 `json:"pc" unit:"bytes" doc:"offset from the kernel's entry"`
	Text          string `json:"text" doc:"the instruction in LLVM's syntax"`
	Hits          int64  `json:"hits" doc:"times it issued"`
	IssueCycles   int64  `json:"issue_cycles" unit:"wave-cycles" doc:"wave-cycles it issued in"`
	StallCycles   int64  `json:"stall_cycles" unit:"wave-cycles" doc:"wave-cycles that waves stood before it, all reasons"`
	Stalls        Counts `json:"stalls" unit:"wave-cycles" doc:"stall_cycles by reason; reasons without any are left out"`
	BankConflicts int64  `json:"bank_conflicts" unit:"cycles" doc:"LDS bank conflicts, rocprof's meaning"`
}

// Verify is the comparison with the host reference.
type Verify struct {
	Reference        string  `json:"reference" doc:"what the values were compared with"`
	Values           int64   `json:"values" doc:"values compared"`
	MaxRelativeError float64 `json:"max_relative_error" unit:"fraction" doc:"largest |c - ref| / max(|ref|, rms(ref))"`
	Limit            float64 `json:"limit" unit:"fraction" doc:"largest error that passes"`
	Passed           bool    `json:"passed" doc:"max_relative_error is within limit"`
}

// Host is what the simulating computer did: wall-clock figures, and only here.
type Host struct {
	WallSeconds               float64 `json:"wall_seconds" unit:"s" doc:"wall time of the simulation, set-up included"`
	WaveInstructionsPerSecond float64 `json:"wave_instructions_per_second" unit:"1/s" doc:"wave instructions simulated a second of wall time"`
	CyclesPerSecond           float64 `json:"cycles_per_second" unit:"1/s" doc:"simulated cycles of the chip a second of wall time"`
	Threads                   int     `json:"threads" doc:"threads that simulated"`
	PeakMemoryBytes           int64   `json:"peak_memory_bytes" unit:"bytes" doc:"largest memory obtained from the system"`
}
