package sim

import (
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
)

// The leaves' test runs kernels of a moment on a quarter of an XCD.
var leafBase = []string{"chip.xcds=1", "chip.iods=1", "chip.cus_per_xcd=4", "chip.shader_engines=2", "clock.law=sustained"}

// leafRuns are the kernels that the leaves are tried on, by what they stress.
var leafRuns = map[string]RunOptions{
	"gemm":         {Kernel: "gemm", M: 512, N: 512, K: 256, Tile: "256x256"},
	"loop":         {Kernel: "gemm", M: 256, N: 256, K: 512, Tile: "256x256"},
	"pc":           {Kernel: "gemm", M: 512, N: 512, K: 256, Tile: "128x256", Schedule: "producer-consumer"},
	"inter":        {Kernel: "gemm", M: 512, N: 512, K: 256, Tile: "256x256", Schedule: "interleave4"},
	"tiny":         {Kernel: "gemm", M: 256, N: 256, K: 256, Tile: "128x128"},
	"small":        {Kernel: "gemm", M: 512, N: 512, K: 256, Tile: "128x128"},
	"norm":         {Kernel: "layernorm", Options: map[string]string{"batch": "1", "seq": "128"}},
	"chase":        {Kernel: "chase", Options: map[string]string{"footprint": "8KiB", "hops": "256", "load": "vector"}},
	"scalar":       {Kernel: "chase", Options: map[string]string{"footprint": "4KiB", "hops": "256"}},
	"chase-l2":     {Kernel: "chase", Options: map[string]string{"footprint": "1MiB", "hops": "256"}},
	"memory":       {Kernel: "chase", ColdLLC: true, Options: map[string]string{"footprint": "64MiB", "hops": "256"}},
	"llc":          {Kernel: "chase", Options: map[string]string{"footprint": "64MiB", "hops": "256"}},
	"stream":       {Kernel: "stream", Options: map[string]string{"footprint": "1MiB", "passes": "4"}},
	"stream-l2":    {Kernel: "stream", Options: map[string]string{"footprint": "2MiB", "passes": "3", "width": "16"}},
	"stream-llc":   {Kernel: "stream", Options: map[string]string{"footprint": "8MiB", "passes": "2", "width": "16"}},
	"stream-hbm":   {Kernel: "stream", ColdLLC: true, Options: map[string]string{"footprint": "4MiB", "passes": "1", "width": "16"}},
	"stream-ahead": {Kernel: "stream", ColdLLC: true, Options: map[string]string{"footprint": "4MiB", "passes": "1"}},
	"stream-again": {Kernel: "stream", ColdLLC: true, Options: map[string]string{"footprint": "8MiB", "passes": "2", "width": "16"}},
	"stream-after": {Kernel: "stream", Warmup: new(1), Options: map[string]string{"footprint": "1MiB", "passes": "1", "width": "16"}},
	"mfma":         {Kernel: "micro", Options: map[string]string{"test": "mfma"}},
	"valu":         {Kernel: "micro", Options: map[string]string{"test": "valu"}},
	"lds":          {Kernel: "micro", Options: map[string]string{"test": "lds"}},
	"barrier":      {Kernel: "micro", Options: map[string]string{"test": "barrier"}},
}

// Figures of a run that a leaf may move.
func cyclesOf(r *report.Run) float64    { return float64(r.Cycles) }
func timeOf(r *report.Run) float64      { return r.TimeUS }
func groupsOf(r *report.Run) float64    { return float64(r.Occupancy.WorkgroupsPerCU) }
func l2MissesOf(r *report.Run) float64  { return float64(r.L2.Misses) }
func llcMissesOf(r *report.Run) float64 { return float64(r.LLC.Misses) }
func hbmReadsOf(r *report.Run) float64  { return float64(r.HBM.Reads) }

// leafTests change one leaf of a small run and say which way a figure must go:
// 1 up, -1 down, 0 either way but not the same. Leaves that need another set
// beside them, to keep the machine whole, name it after a space.
var leafTests = []struct {
	set, run string
	figure   func(*report.Run) float64
	way      int
}{
	// Counts.
	{"cpu=gfx942", "norm", cyclesOf, 0},
	{"chip.xcds=2", "gemm", cyclesOf, -1},
	{"chip.cus_per_xcd=2", "gemm", cyclesOf, 1},
	{"chip.shader_engines=4 dispatch.wave_launch_cycles=100", "gemm", cyclesOf, -1},
	{"cu.simds=2", "norm", cyclesOf, 1},
	{"cu.wave_slots_per_simd=1", "norm", cyclesOf, 1},
	{"cu.vgprs_per_simd=256", "norm", groupsOf, -1},
	{"cu.vgpr_granule=64 cu.vgprs_per_simd=256", "stream", groupsOf, -1},
	{"cu.sgprs_per_simd=112", "norm", groupsOf, -1},
	{"cu.sgpr_granule=128 cu.sgprs_per_simd=256", "stream", groupsOf, -1},
	// Issue.
	{"cu.issue_interval_cycles=8", "gemm", cyclesOf, 1},
	{"cu.barrier_cycles=200", "gemm", cyclesOf, 1},
	{"cu.branch_taken_cycles=400", "loop", cyclesOf, 1},
	{"cu.waitcnt_vm_max=1", "gemm", cyclesOf, 1},
	{"cu.waitcnt_lgkm_max=1", "gemm", cyclesOf, 1},
	{"valu.cadence_cycles=16 valu.dependent_cycles=16", "valu", cyclesOf, 1},
	{"valu.dependent_cycles=32", "norm", cyclesOf, 1},
	{"valu.trans_cycles=400", "norm", cyclesOf, 1},
	{"valu.address_cycles=200", "norm", cyclesOf, 1},
	{"valu.to_salu_cycles=4000", "gemm", cyclesOf, 1},
	{"mfma.scale=2", "gemm", cyclesOf, 1},
	{"mfma.scale=0.5", "gemm", cyclesOf, -1},
	{"mfma.pass_cycles=8", "mfma", cyclesOf, 1},
	{"mfma.coissue_bytes_per_slot=1", "gemm", cyclesOf, 1},
	{"mfma.mem_follows_valu=false", "inter", cyclesOf, 0},
	{"salu.load_latency_cycles=100", "scalar", cyclesOf, 1},
	{"salu.cache_bytes=256 salu.cache_ways=1", "scalar", cyclesOf, 1},
	{"fetch.cache_bytes=1024 fetch.ways=1", "gemm", cyclesOf, 1},
	{"fetch.miss_cycles=4000", "gemm", cyclesOf, 1},
	{"fetch.shared_by_cus=4 fetch.cache_bytes=4096 fetch.ways=1", "norm", cyclesOf, 0},
	// LDS.
	{"lds.bytes=327680", "small", groupsOf, 1},
	{"lds.granule_bytes=65536 lds.bytes=327680", "small", groupsOf, -1},
	{"lds.pair_port_bytes_per_cycle=16", "gemm", cyclesOf, 1},
	{"lds.fifo_entries=1", "gemm", cyclesOf, 1},
	{"lds.latency_cycles=400", "gemm", cyclesOf, 1},
	{"lds.queue_cycles=46", "gemm", cyclesOf, 0},
	{"lds.write_bytes_per_cycle=8", "gemm", cyclesOf, 1},
	// The vector L1 and its outstanding lines.
	{"tcp.bytes=4096 tcp.ways=8", "chase", cyclesOf, 1},
	{"tcp.ways=2 tcp.bytes=8192", "gemm", cyclesOf, 1},
	{"tcp.queue_entries=1", "gemm", cyclesOf, 1},
	{"tcp.line_cycles=16", "gemm", cyclesOf, 1},
	{"tcp.address_lanes_per_cycle=1", "gemm", cyclesOf, 1},
	{"tcp.wide_lanes_per_cycle=1", "gemm", cyclesOf, 1},
	{"tcp.hit_latency_cycles=400", "chase", cyclesOf, 1},
	{"tcp.return_bytes_per_cycle=4", "norm", cyclesOf, 1},
	{"tcp.store_line_cycles=100", "gemm", cyclesOf, 1},
	{"tcp.store_queue_entries=1", "gemm", cyclesOf, 1},
	// L2.
	{"l2.bytes=524288", "stream-l2", l2MissesOf, 1},
	{"l2.ways=1 l2.bytes=262144", "stream-l2", l2MissesOf, 0},
	{"l2.channels=2", "stream-l2", cyclesOf, 1},
	{"l2.read_bytes_per_cycle=8", "stream-l2", cyclesOf, 1},
	{"l2.write_bytes_per_cycle=4", "gemm", cyclesOf, 1},
	{"l2.hit_latency_cycles=800", "chase-l2", cyclesOf, 1},
	{"l2.mshrs_per_channel=1", "stream-llc", cyclesOf, 1},
	{"l2.latency_fifo_entries=1", "stream-hbm", cyclesOf, 1},
	{"l2.queue_entries=1 l2.channels=2", "stream-l2", cyclesOf, 0},
	{"l2.interleave_bytes=4096", "stream-l2", cyclesOf, 0},
	{"l2.write_back_latency_cycles=9000", "gemm", cyclesOf, 1},
	{"l2.replacement=random", "stream-llc", l2MissesOf, 0},
	// Beyond the XCD.
	{"tlb.miss_ns=900", "memory", cyclesOf, 1},
	{"tlb.entries=64", "stream-llc", cyclesOf, 1},
	{"tlb.ways=1 tlb.entries=64", "stream-llc", cyclesOf, 0},
	{"tlb.page_bytes=65536 tlb.entries=512", "memory", cyclesOf, -1},
	{"fabric.latency_ns=400", "llc", cyclesOf, 1},
	{"fabric.read_gbs=50", "stream-llc", cyclesOf, 1},
	{"fabric.write_gbs=5", "gemm", cyclesOf, 1},
	{"chip.iods=2", "stream-llc", cyclesOf, 0},
	{"fabric.hop_ns=19 chip.iods=4", "llc", cyclesOf, 0},
	{"fabric.east_west_gbs=50 chip.iods=2", "stream-llc", cyclesOf, 1},
	{"fabric.north_south_gbs=50 chip.iods=4", "stream-llc", cyclesOf, 1},
	{"llc.latency_ns=400", "llc", cyclesOf, 1},
	{"llc.gbs=100", "stream-llc", cyclesOf, 1},
	{"llc.bytes=4194304 llc.slices=16", "stream-llc", llcMissesOf, 1},
	{"llc.slices=1", "stream-hbm", cyclesOf, 1},
	{"llc.mshrs_per_slice=1 llc.slices=2", "stream-hbm", cyclesOf, 1},
	{"hbm.gbs=50", "stream-hbm", cyclesOf, 1},
	{"hbm.efficiency=0.1", "stream-hbm", cyclesOf, 1},
	{"hbm.latency_ns=500", "memory", cyclesOf, 1},
	{"hbm.stacks=1", "stream-hbm", cyclesOf, 0},
	{"hbm.channels_per_stack=1", "stream-hbm", cyclesOf, 0},
	{"hbm.row_miss_ns=500", "memory", cyclesOf, 1},
	{"llc.allocate_on_read=false", "stream-again", llcMissesOf, 1},
	{"llc.replacement=random llc.bytes=4194304 llc.slices=16", "stream-llc", llcMissesOf, -1},
	{"llc.random_seed=9 llc.replacement=random llc.bytes=4194304 llc.slices=16", "stream-llc", llcMissesOf, 0},
	{"llc.ways=1 llc.bytes=4194304 llc.slices=16", "stream-llc", llcMissesOf, 0},
	{"llc.set_hash=true llc.bytes=4194304 llc.slices=16 llc.replacement=random", "stream-llc", llcMissesOf, 0},
	{"llc.fetch_bytes=256", "memory", hbmReadsOf, 1},
	{"llc.prefetch_lines=0", "stream-ahead", cyclesOf, 1},
	{"llc.prefetch_lines=0", "memory", hbmReadsOf, -1},
	{"llc.prefetch_block_bytes=256", "stream-ahead", cyclesOf, 1},
	{"llc.fetch_bytes=1024", "stream-hbm", cyclesOf, 0},
	{"llc.slice_hash=false", "stream-llc", cyclesOf, 0},
	{"l2.random_seed=9 l2.replacement=random", "stream-llc", l2MissesOf, 0},
	{"l2.set_hash=true l2.replacement=random", "stream-llc", l2MissesOf, 0},
	{"l2.channel_hash=false", "stream-llc", l2MissesOf, 0},
	{"l2.invalidate=false", "stream-after", l2MissesOf, -1},
	{"tcp.set_hash=false", "gemm", cyclesOf, 0},
	{"tcp.set_hash_bits=8", "gemm", cyclesOf, 0},
	{"fabric.request_bytes=128", "norm", cyclesOf, 0},
	{"hbm.banks_per_channel=1 llc.prefetch_lines=0", "stream-hbm", cyclesOf, 1},
	{"hbm.row_bytes=128", "stream-hbm", cyclesOf, 0},
	{"hbm.refresh_ns=2000", "stream-hbm", cyclesOf, 1},
	{"hbm.refresh_interval_ns=400", "stream-hbm", cyclesOf, 1},
	{"hbm.refresh_scope=channel", "stream-hbm", cyclesOf, 0},
	// Clocks.
	{"clock.sustained_mhz.bf16=903", "gemm", timeOf, 1},
	{"clock.law=power", "gemm", timeOf, 0},
	// Dispatch.
	{"dispatch.order=contiguous chip.xcds=2", "small", cyclesOf, 0},
	{"dispatch.order=shader_engine chip.xcds=2", "small", cyclesOf, 0},
	{"dispatch.cu_order=fill lds.bytes=327680", "tiny", cyclesOf, 1},
	{"dispatch.stagger_cycles=5000", "gemm", cyclesOf, 1},
	{"dispatch.wave_stagger_cycles=700", "gemm", cyclesOf, 1},
	{"dispatch.wave_launch_cycles=500", "gemm", cyclesOf, 1},
	{"dispatch.workgroup_gap_cycles=9000", "small", cyclesOf, 1},
	{"dispatch.launch_overhead_us=50", "gemm", timeOf, 1},
	{"dispatch.host_sync_us=90", "norm", timeOf, 1},
}

// Every leaf does what it says to a run that needs it.
func TestLeavesReachTheMechanism(t *testing.T) {
	base := map[string]*report.Run{}
	for i, c := range leafTests {
		if testing.Short() && i%4 != 0 {
			continue
		}
		leaf, beside, _ := strings.Cut(c.set, " ")
		without := c.run + " " + beside
		if base[without] == nil {
			base[without] = leafRun(t, c.run, strings.Fields(beside))
		}
		was, is := c.figure(base[without]), c.figure(leafRun(t, c.run, strings.Fields(c.set)))
		if is == was || c.way > 0 && is < was || c.way < 0 && is > was {
			t.Errorf("%s (beside %q): %s goes from %g to %g, want way %d", leaf, beside, c.run, was, is, c.way)
		}
	}
}

func leafRun(t *testing.T, name string, set []string) *report.Run {
	t.Helper()
	o := leafRuns[name]
	o.Arch, o.Mode, o.Threads, o.Seed = "mi355x", "timing", 1, 1
	o.Set = append(append([]string{}, leafBase...), set...)
	r, err := Run(o)
	if err != nil {
		t.Errorf("%s %s: %v", name, strings.Join(set, " "), err)
		return &report.Run{}
	}
	return r
}

// leavesElsewhere are the leaves that other tests try, or that a run of a moment
// cannot show.
var leavesElsewhere = map[string]string{
	"clock.": "the clock law's and the power budget's tests",
	"power.": "the clock law's and the power budget's tests",

	"features.":                 "cu: TestDynamicRegisters, TestMBarrier, TestTileCopy, TestBlockMultiply",
	"cu.max_":                   "what one wave can name: configs checks it against the register files",
	"valu.double_cycles":        "cu: no kernel of the suite has 64-bit arithmetic",
	"mfma.packed_extra_slots":   "cu: the co-issue schedules",
	"salu.cache_line_bytes":     "shapes of the caches: cache, configs",
	"fetch.line_bytes":          "shapes of the caches: cache, configs",
	"tcp.line_bytes":            "the lines of all levels must be equal: configs",
	"l2.line_bytes":             "the lines of all levels must be equal: configs",
	"llc.line_bytes":            "the lines of all levels must be equal: configs",
	"l2.atomic_bytes_per_cycle": "cache: atomics",
	"llc.allocate_on_write":     "cache: the LLC",
	"hbm.write_queue":           "cache: the HBM's bus, which four CUs do not fill",
	"hbm.turn_after":            "cache: the HBM's bus",
	"hbm.read_to_write_ns":      "cache: the HBM's bus",
	"hbm.write_to_read_ns":      "cache: the HBM's bus",
	"hbm.capacity_gb":           "refuses what does not fit",
	"dispatch.xcd_offset":       "xcd: the map of workgroups",
}

// A new leaf needs a line above, unless --set refuses it because it only
// describes.
func TestEveryLeafIsTried(t *testing.T) {
	tried := map[string]bool{}
	for _, c := range leafTests {
		for _, s := range strings.Fields(c.set) {
			leaf, _, _ := strings.Cut(s, "=")
			tried[leaf] = true
		}
	}
	for _, k := range configs.Keys() {
		elsewhere := tried[k.Path] || inertLeaves[k.Path] != ""
		for prefix := range leavesElsewhere {
			elsewhere = elsewhere || strings.HasPrefix(k.Path, prefix)
		}
		if !elsewhere {
			t.Errorf("%s: no row tries it", k.Path)
		}
	}
}
