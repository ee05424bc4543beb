package configs

func chipLeaves() []leafSpec {
	return []leafSpec{
		leaf("cpu", "", oneOf("gfx942", "gfx950"), "instruction set and its timing classes",
			func(m *Machine) any { return &m.CPU }),
		leaf("chip.xcds", "", from(1, 64), "accelerator complex dies",
			func(m *Machine) any { return &m.Chip.XCDs }),
		leaf("chip.cus_per_xcd", "", from(1, 256), "active CUs of an XCD",
			func(m *Machine) any { return &m.Chip.CUsPerXCD }),
		leaf("chip.shader_engines", "", from(1, 32), "shader engines of an XCD; each launches its own waves",
			func(m *Machine) any { return &m.Chip.ShaderEngines }),
		leaf("chip.iods", "", from(1, 16), "I/O dies that carry LLC and HBM",
			func(m *Machine) any { return &m.Chip.IODs }),
	}
}

func clockLeaves() []leafSpec {
	specs := []leafSpec{
		leaf("clock.law", "", oneOf("power", "sustained"), "where the core clock comes from: the run's power budget, or one clock per data type",
			func(m *Machine) any { return &m.Clock.Law }),
		leaf("clock.peak_mhz", "MHz", mhz, "peak engine clock; the peak rates are quoted at it",
			func(m *Machine) any { return &m.Clock.PeakMHz }),
	}
	for _, dt := range DataTypes {
		specs = append(specs, leafSpec{
			path: sustainedPath + "." + dt, unit: "MHz", limits: mhz, dataType: dt,
			doc: "core clock sustained under " + dt + " load",
		})
	}
	return append(specs, leaf("clock.default_mhz", "MHz", mhz, "core clock of a data type without an entry",
		func(m *Machine) any { return &m.Clock.DefaultMHz }))
}

func powerLeaves() []leafSpec {
	pj := limits{min: 0, max: 1e6}
	return []leafSpec{
		leaf("power.board_w", "W", limits{min: 1, max: 1e5}, "sustained board power limit",
			func(m *Machine) any { return &m.Power.BoardW }),
		leaf("power.static_w", "W", limits{min: 0, max: 1e5}, "drawn whatever runs: leakage, memory refresh, I/O",
			func(m *Machine) any { return &m.Power.StaticW }),
		leaf("power.floor_mhz", "MHz", mhz, "clock up to which the core runs at its lowest voltage",
			func(m *Machine) any { return &m.Power.FloorMHz }),
		leaf("power.peak_voltage", "", limits{min: 1, max: 3}, "core voltage at clock.peak_mhz over that at power.floor_mhz",
			func(m *Machine) any { return &m.Power.PeakVoltage }),
		leaf("power.cu_pj_per_cycle", "pJ", pj, "a CU's clock tree, issue and operand movement, per cycle",
			func(m *Machine) any { return &m.Power.CUPJPerCycle }),
		leaf("power.matrix_pj_per_flop_64bit", "pJ", pj, "matrix instructions with 64-bit inputs",
			func(m *Machine) any { return &m.Power.MatrixPJPerFLOP64Bit }),
		leaf("power.matrix_pj_per_flop_32bit", "pJ", pj, "matrix instructions with 32-bit inputs, xf32 too",
			func(m *Machine) any { return &m.Power.MatrixPJPerFLOP32Bit }),
		leaf("power.matrix_pj_per_flop_16bit", "pJ", pj, "matrix instructions with bf16 inputs",
			func(m *Machine) any { return &m.Power.MatrixPJPerFLOP16Bit }),
		leaf("power.matrix_pj_per_flop_fp16", "pJ", pj, "matrix instructions with fp16 inputs, whose multipliers are larger",
			func(m *Machine) any { return &m.Power.MatrixPJPerFLOPFP16 }),
		leaf("power.matrix_pj_per_flop_8bit", "pJ", pj, "matrix instructions with fp8, bf8 and int8 inputs",
			func(m *Machine) any { return &m.Power.MatrixPJPerFLOP8Bit }),
		leaf("power.matrix_pj_per_flop_6bit", "pJ", pj, "matrix instructions with fp6 and bf6 inputs",
			func(m *Machine) any { return &m.Power.MatrixPJPerFLOP6Bit }),
		leaf("power.matrix_pj_per_flop_4bit", "pJ", pj, "matrix instructions with fp4 inputs",
			func(m *Machine) any { return &m.Power.MatrixPJPerFLOP4Bit }),
		leaf("power.valu_pj_per_lane", "pJ", pj, "one lane of a vector ALU operation",
			func(m *Machine) any { return &m.Power.VALUPJPerLane }),
		leaf("power.lds_pj_per_byte", "pJ/B", pj, "LDS reads, writes and fills",
			func(m *Machine) any { return &m.Power.LDSPJPerByte }),
		leaf("power.l2_pj_per_byte", "pJ/B", pj, "bytes between L1 and L2",
			func(m *Machine) any { return &m.Power.L2PJPerByte }),
		leaf("power.fabric_pj_per_byte", "pJ/B", pj, "bytes between L2 and LLC",
			func(m *Machine) any { return &m.Power.FabricPJPerByte }),
		leaf("power.hbm_pj_per_byte", "pJ/B", pj, "bytes between LLC and HBM",
			func(m *Machine) any { return &m.Power.HBMPJPerByte }),
	}
}

func cuLeaves() []leafSpec {
	return []leafSpec{
		leaf("cu.simds", "", from(2, 4), "SIMDs; pairs share an LDS port, and each has its turn in four cycles",
			func(m *Machine) any { return &m.CU.SIMDs }),
		leaf("cu.wave_slots_per_simd", "", from(1, 32), "resident waves of a SIMD",
			func(m *Machine) any { return &m.CU.WaveSlotsPerSIMD }),
		leaf("cu.vgprs_per_simd", "", from(64, 8192), "32-bit registers per lane, ArchVGPR and AccVGPR together",
			func(m *Machine) any { return &m.CU.VGPRsPerSIMD }),
		leaf("cu.vgpr_granule", "", pow2(1, 64), "VGPR allocation granule",
			func(m *Machine) any { return &m.CU.VGPRGranule }),
		leaf("cu.sgprs_per_simd", "", from(16, 65536), "SGPRs of a SIMD",
			func(m *Machine) any { return &m.CU.SGPRsPerSIMD }),
		leaf("cu.sgpr_granule", "", from(1, 128), "SGPR allocation granule",
			func(m *Machine) any { return &m.CU.SGPRGranule }),
		leaf("cu.max_vgprs", "", from(1, 1024), "ArchVGPRs one wave can address",
			func(m *Machine) any { return &m.CU.MaxVGPRs }),
		leaf("cu.max_agprs", "", from(0, 1024), "AccVGPRs one wave can address",
			func(m *Machine) any { return &m.CU.MaxAGPRs }),
		leaf("cu.max_sgprs", "", from(1, 128), "SGPRs one wave can address",
			func(m *Machine) any { return &m.CU.MaxSGPRs }),
		leaf("cu.issue_interval_cycles", "cycles", from(4, 64), "a SIMD is visited once in this many cycles",
			func(m *Machine) any { return &m.CU.IssueIntervalCycles }),
		leaf("cu.barrier_cycles", "cycles", cycles, "last arrival at s_barrier to the first issue after it",
			func(m *Machine) any { return &m.CU.BarrierCycles }),
		leaf("cu.branch_taken_cycles", "cycles", cycles, "idle cycles after a taken branch",
			func(m *Machine) any { return &m.CU.BranchTakenCycles }),
		leaf("cu.waitcnt_vm_max", "", from(1, 63), "largest vmcnt; 6 bits in s_waitcnt",
			func(m *Machine) any { return &m.CU.WaitcntVMMax }),
		leaf("cu.waitcnt_lgkm_max", "", from(1, 15), "largest lgkmcnt; 4 bits in s_waitcnt",
			func(m *Machine) any { return &m.CU.WaitcntLGKMMax }),
	}
}

func aluLeaves() []leafSpec {
	return []leafSpec{
		leaf("valu.cadence_cycles", "cycles", from(1, 64), "a wave64 operation occupies the SIMD",
			func(m *Machine) any { return &m.VALU.CadenceCycles }),
		leaf("valu.dependent_cycles", "cycles", some, "issue to issue of a dependent operation",
			func(m *Machine) any { return &m.VALU.DependentCycles }),
		leaf("valu.trans_cycles", "cycles", some, "occupancy of a transcendental",
			func(m *Machine) any { return &m.VALU.TransCycles }),
		leaf("valu.double_cycles", "cycles", some, "occupancy of a 64-bit floating-point operation",
			func(m *Machine) any { return &m.VALU.DoubleCycles }),
		leaf("valu.address_cycles", "cycles", cycles, "VALU issue to the issue of the DS or VMEM that reads the result",
			func(m *Machine) any { return &m.VALU.AddressCycles }),
		leaf("valu.to_salu_cycles", "cycles", cycles, "VALU issue to the issue of the SALU that reads the SGPR it wrote",
			func(m *Machine) any { return &m.VALU.ToSALUCycles }),
		leaf("mfma.scale", "", from(0.01, 100), "multiplies the passes of every matrix instruction; 1 is the hardware",
			func(m *Machine) any { return &m.MFMA.Scale }),
		leaf("mfma.pass_cycles", "cycles", from(1, 64), "cycles of a pass",
			func(m *Machine) any { return &m.MFMA.PassCycles }),
		leaf("mfma.coissue_bytes_per_slot", "B", from(1, 1024), "first VALU slot after an XDL issue is 1 + operand bytes a lane / this",
			func(m *Machine) any { return &m.MFMA.CoissueBytesPerSlot }),
		leaf("mfma.packed_extra_slots", "slots", upTo(64), "packed f32 and dot wait for passes + this after an XDL issue",
			func(m *Machine) any { return &m.MFMA.PackedExtraSlots }),
		leaf("mfma.mem_follows_valu", "", onOff, "DS and VMEM wait for the same slot as the VALU after an XDL issue",
			func(m *Machine) any { return &m.MFMA.MemFollowsVALU }),
		leaf("salu.cadence_cycles", "cycles", from(1, 64), "a scalar operation occupies its wave",
			func(m *Machine) any { return &m.SALU.CadenceCycles }),
		leaf("salu.load_latency_cycles", "cycles", some, "s_load that hits the scalar cache",
			func(m *Machine) any { return &m.SALU.LoadLatencyCycles }),
		leaf("salu.load_miss_cycles", "cycles", some, "s_load that L2 serves",
			func(m *Machine) any { return &m.SALU.LoadMissCycles }),
		leaf("salu.cache_bytes", "B", from(256, 64*mib), "scalar data cache, shared by fetch.shared_by_cus CUs",
			func(m *Machine) any { return &m.SALU.CacheBytes }),
		leaf("salu.cache_ways", "", from(1, 1024), "associativity of the scalar cache",
			func(m *Machine) any { return &m.SALU.CacheWays }),
		leaf("salu.cache_line_bytes", "B", line, "line of the scalar cache",
			func(m *Machine) any { return &m.SALU.CacheLineBytes }),
	}
}

func fetchLeaves() []leafSpec {
	return []leafSpec{
		leaf("fetch.cache_bytes", "B", from(256, 64*mib), "instruction cache",
			func(m *Machine) any { return &m.Fetch.CacheBytes }),
		leaf("fetch.ways", "", from(1, 1024), "associativity",
			func(m *Machine) any { return &m.Fetch.Ways }),
		leaf("fetch.line_bytes", "B", line, "line",
			func(m *Machine) any { return &m.Fetch.LineBytes }),
		leaf("fetch.shared_by_cus", "", from(1, 256), "CUs that share one instruction cache",
			func(m *Machine) any { return &m.Fetch.SharedByCUs }),
		leaf("fetch.miss_cycles", "cycles", some, "miss served by L2",
			func(m *Machine) any { return &m.Fetch.MissCycles }),
		leaf("fetch.bytes_per_cycle", "B/cycle", pow2(4, 1024), "fetch width of a CU",
			func(m *Machine) any { return &m.Fetch.BytesPerCycle }),
	}
}

func ldsLeaves() []leafSpec {
	return []leafSpec{
		leaf("lds.bytes", "B", from(1*kib, 16*mib), "capacity of a CU",
			func(m *Machine) any { return &m.LDS.Bytes }),
		leaf("lds.granule_bytes", "B", from(4, 64*kib), "allocation granule",
			func(m *Machine) any { return &m.LDS.GranuleBytes }),
		leaf("lds.banks", "", pow2(1, 1024), "4-byte banks of the widest reads",
			func(m *Machine) any { return &m.LDS.Banks }),
		leaf("lds.pair_port_bytes_per_cycle", "B/cycle", pow2(4, 4096), "port of a SIMD pair, each direction",
			func(m *Machine) any { return &m.LDS.PairPortBytesPerCycle }),
		leaf("lds.fifo_entries", "", from(1, 1024), "requests waiting per SIMD pair",
			func(m *Machine) any { return &m.LDS.FIFOEntries }),
		leaf("lds.latency_cycles", "cycles", some, "unloaded: request at the banks to data in the VGPR",
			func(m *Machine) any { return &m.LDS.LatencyCycles }),
		leaf("lds.queue_cycles", "cycles", cycles, "part of the latency before the banks, in which the request holds its FIFO entry",
			func(m *Machine) any { return &m.LDS.QueueCycles }),
		leaf("lds.write_bytes_per_cycle", "B/cycle", pow2(4, 4096), "direct-to-LDS fill width",
			func(m *Machine) any { return &m.LDS.WriteBytesPerCycle }),
		leaf("lds.unaligned_service_cycles", "cycles", some, "bank time of an unaligned b128 read",
			func(m *Machine) any { return &m.LDS.UnalignedServiceCycles }),
	}
}

func tcpLeaves() []leafSpec {
	return []leafSpec{
		leaf("tcp.bytes", "B", from(1*kib, 64*mib), "capacity",
			func(m *Machine) any { return &m.TCP.Bytes }),
		leaf("tcp.line_bytes", "B", line, "line",
			func(m *Machine) any { return &m.TCP.LineBytes }),
		leaf("tcp.ways", "", from(1, 4096), "associativity",
			func(m *Machine) any { return &m.TCP.Ways }),
		leaf("tcp.queue_entries", "", from(1, 4096), "vector memory instructions waiting per CU",
			func(m *Machine) any { return &m.TCP.QueueEntries }),
		leaf("tcp.line_cycles", "cycles", from(1, 1024), "tag lookup, per line touched",
			func(m *Machine) any { return &m.TCP.LineCycles }),
		leaf("tcp.address_lanes_per_cycle", "lanes", from(1, 64), "addresses a cycle, a floor per instruction",
			func(m *Machine) any { return &m.TCP.AddressLanesPerCycle }),
		leaf("tcp.wide_lanes_per_cycle", "lanes", from(1, 64), "the same of loads of more than a dword a lane",
			func(m *Machine) any { return &m.TCP.WideLanesPerCycle }),
		leaf("tcp.hit_latency_cycles", "cycles", some, "issue to data in the VGPR for a hit",
			func(m *Machine) any { return &m.TCP.HitLatencyCycles }),
		leaf("tcp.set_hash", "", onOff, "hash address bits into the set index",
			func(m *Machine) any { return &m.TCP.SetHash }),
		leaf("tcp.set_hash_bits", "", from(1, 64), "of set_hash: address bits that it folds, from the lowest; 64: another hash, of all. Up to those of line and set it folds none",
			func(m *Machine) any { return &m.TCP.SetHashBits }),
		leaf("tcp.return_bytes_per_cycle", "B/cycle", pow2(4, 4096), "data path to the registers",
			func(m *Machine) any { return &m.TCP.ReturnBytesPerCycle }),
		leaf("tcp.store_line_cycles", "cycles", from(1, 1024), "per line segment written through",
			func(m *Machine) any { return &m.TCP.StoreLineCycles }),
		leaf("tcp.store_queue_entries", "", from(1, 65536), "line segments written through and not acknowledged, per CU",
			func(m *Machine) any { return &m.TCP.StoreQueueEntries }),
	}
}

func l2Leaves() []leafSpec {
	return []leafSpec{
		leaf("l2.bytes", "B", from(4*kib, 1*gib), "capacity of an XCD",
			func(m *Machine) any { return &m.L2.Bytes }),
		leaf("l2.line_bytes", "B", line, "line",
			func(m *Machine) any { return &m.L2.LineBytes }),
		leaf("l2.ways", "", from(1, 4096), "associativity",
			func(m *Machine) any { return &m.L2.Ways }),
		leaf("l2.channels", "", pow2(1, 256), "channels of an XCD",
			func(m *Machine) any { return &m.L2.Channels }),
		leaf("l2.read_bytes_per_cycle", "B/cycle", pow2(4, 4096), "read width of a channel",
			func(m *Machine) any { return &m.L2.ReadBytesPerCycle }),
		leaf("l2.write_bytes_per_cycle", "B/cycle", pow2(4, 4096), "write width of a channel",
			func(m *Machine) any { return &m.L2.WriteBytesPerCycle }),
		leaf("l2.hit_latency_cycles", "cycles", some, "CU request to data at the CU's return port, hit, unloaded, without the TCP's own time",
			func(m *Machine) any { return &m.L2.HitLatencyCycles }),
		leaf("l2.mshrs_per_channel", "", from(1, 65536), "lines in flight to the fabric",
			func(m *Machine) any { return &m.L2.MSHRsPerChannel }),
		leaf("l2.queue_entries", "", from(1, 65536), "requests waiting per channel",
			func(m *Machine) any { return &m.L2.QueueEntries }),
		leaf("l2.latency_fifo_entries", "", upTo(8192), "reads of a channel between tags and data, which they pass in order; 0: each is answered when its line is here",
			func(m *Machine) any { return &m.L2.LatencyFIFOEntries }),
		leaf("l2.interleave_bytes", "B", pow2(32, 64*kib), "consecutive bytes of one channel",
			func(m *Machine) any { return &m.L2.InterleaveBytes }),
		leaf("l2.invalidate", "", onOff, "a launch's end invalidates it; off: it keeps its lines for the next kernel of the run, and for the first if there is a --warmup",
			func(m *Machine) any { return &m.L2.Invalidate }),
		leaf("l2.set_hash", "", onOff, "hash address bits into the set index",
			func(m *Machine) any { return &m.L2.SetHash }),
		leaf("l2.channel_hash", "", onOff, "hash address bits into the channel index",
			func(m *Machine) any { return &m.L2.ChannelHash }),
		leaf("l2.write_back_latency_cycles", "cycles", some, "store at the channel to its acknowledgement at the CU",
			func(m *Machine) any { return &m.L2.WriteBackLatencyCycles }),
		leaf("l2.atomic_bytes_per_cycle", "B/cycle", pow2(4, 4096), "operands that the atomic units of a channel take",
			func(m *Machine) any { return &m.L2.AtomicBytesPerCycle }),
		leaf("l2.replacement", "", oneOf("lru", "pseudo_lru", "random", "rrip"), "which line of a full set goes",
			func(m *Machine) any { return &m.L2.Replacement }),
		leaf("l2.random_seed", "", from(0, 1<<31-1), "seed of random replacement; XCDs differ by their number",
			func(m *Machine) any { return &m.L2.RandomSeed }),
	}
}

func tlbLeaves() []leafSpec {
	return []leafSpec{
		leaf("tlb.entries", "", from(0, 1<<24), "translations that an XCD keeps; 0: all",
			func(m *Machine) any { return &m.TLB.Entries }),
		leaf("tlb.ways", "", from(1, 4096), "associativity",
			func(m *Machine) any { return &m.TLB.Ways }),
		leaf("tlb.page_bytes", "B", pow2(4*kib, gib), "memory that an entry covers",
			func(m *Machine) any { return &m.TLB.PageBytes }),
		leaf("tlb.miss_ns", "ns", nanos, "added to an L2 miss whose translation is not at hand",
			func(m *Machine) any { return &m.TLB.MissNS }),
	}
}

func fabricLeaves() []leafSpec {
	return []leafSpec{
		leaf("fabric.latency_ns", "ns", nanos, "XCD to LLC, one way, mean over the slices",
			func(m *Machine) any { return &m.Fabric.LatencyNS }),
		leaf("fabric.read_gbs", "GB/s", gbs, "data towards an XCD",
			func(m *Machine) any { return &m.Fabric.ReadGBs }),
		leaf("fabric.write_gbs", "GB/s", gbs, "data from an XCD",
			func(m *Machine) any { return &m.Fabric.WriteGBs }),
		leaf("fabric.request_bytes", "B", pow2(16, 1024), "what a request takes of the link from an XCD, beside the data of a write-back",
			func(m *Machine) any { return &m.Fabric.RequestBytes }),
		leaf("fabric.hop_ns", "ns", nanos, "IOD to its neighbour, one way: how far slices lie apart about the mean",
			func(m *Machine) any { return &m.Fabric.HopNS }),
		leaf("fabric.east_west_gbs", "GB/s", gbs, "of a link between the IODs of a row, each way",
			func(m *Machine) any { return &m.Fabric.EastWestGBs }),
		leaf("fabric.north_south_gbs", "GB/s", gbs, "of a link between the IODs of a column, each way",
			func(m *Machine) any { return &m.Fabric.NorthSouthGBs }),
	}
}

func llcLeaves() []leafSpec {
	return []leafSpec{
		leaf("llc.bytes", "B", from(4*kib, 64*gib), "capacity of the chip",
			func(m *Machine) any { return &m.LLC.Bytes }),
		leaf("llc.line_bytes", "B", line, "line",
			func(m *Machine) any { return &m.LLC.LineBytes }),
		leaf("llc.ways", "", from(1, 4096), "associativity",
			func(m *Machine) any { return &m.LLC.Ways }),
		leaf("llc.slices", "", pow2(1, 4096), "slices of the chip",
			func(m *Machine) any { return &m.LLC.Slices }),
		leaf("llc.latency_ns", "ns", nanos, "lookup and data, unloaded, without the fabric",
			func(m *Machine) any { return &m.LLC.LatencyNS }),
		leaf("llc.gbs", "GB/s", gbs, "bandwidth of all slices",
			func(m *Machine) any { return &m.LLC.GBs }),
		leaf("llc.mshrs_per_slice", "", from(1, 65536), "lines in flight to HBM",
			func(m *Machine) any { return &m.LLC.MSHRsPerSlice }),
		leaf("llc.fetch_bytes", "B", upTo(64*kib), "of memory that a read miss brings: the block of its slice's lines in which the line lies; 0: the line",
			func(m *Machine) any { return &m.LLC.FetchBytes }),
		leaf("llc.prefetch_lines", "", upTo(64), "lines of memory that the LLC fetches ahead of a run of reads; 0: none",
			func(m *Machine) any { return &m.LLC.PrefetchLines }),
		leaf("llc.prefetch_block_bytes", "B", upTo(64*mib), "block of memory that fetching ahead does not leave",
			func(m *Machine) any { return &m.LLC.PrefetchBlockBytes }),
		leaf("llc.allocate_on_read", "", onOff, "a read miss takes a line",
			func(m *Machine) any { return &m.LLC.AllocateOnRead }),
		leaf("llc.allocate_on_write", "", onOff, "a write miss takes a line",
			func(m *Machine) any { return &m.LLC.AllocateOnWrite }),
		leaf("llc.set_hash", "", onOff, "hash address bits into the set index",
			func(m *Machine) any { return &m.LLC.SetHash }),
		leaf("llc.slice_hash", "", onOff, "hash address bits into the slice index",
			func(m *Machine) any { return &m.LLC.SliceHash }),
		leaf("llc.replacement", "", oneOf("lru", "pseudo_lru", "random", "rrip"), "which line of a full set goes",
			func(m *Machine) any { return &m.LLC.Replacement }),
		leaf("llc.random_seed", "", from(0, 1<<31-1), "seed of random replacement",
			func(m *Machine) any { return &m.LLC.RandomSeed }),
	}
}

func hbmLeaves() []leafSpec {
	return []leafSpec{
		leaf("hbm.capacity_gb", "GB", from(1, 65536), "capacity",
			func(m *Machine) any { return &m.HBM.CapacityGB }),
		leaf("hbm.stacks", "", pow2(1, 64), "stacks",
			func(m *Machine) any { return &m.HBM.Stacks }),
		leaf("hbm.channels_per_stack", "", pow2(1, 256), "channels of a stack",
			func(m *Machine) any { return &m.HBM.ChannelsPerStack }),
		leaf("hbm.gbs", "GB/s", gbs, "peak of all channels",
			func(m *Machine) any { return &m.HBM.GBs }),
		leaf("hbm.efficiency", "", limits{min: 0.01, max: 1}, "share of the peak that a channel's data bus reaches at best",
			func(m *Machine) any { return &m.HBM.Efficiency }),
		leaf("hbm.latency_ns", "ns", nanos, "row hit to data, unloaded, beyond the LLC",
			func(m *Machine) any { return &m.HBM.LatencyNS }),
		leaf("hbm.banks_per_channel", "", pow2(1, 1024), "banks of a channel",
			func(m *Machine) any { return &m.HBM.BanksPerChannel }),
		leaf("hbm.row_bytes", "B", pow2(64, 64*kib), "row of a bank",
			func(m *Machine) any { return &m.HBM.RowBytes }),
		leaf("hbm.row_miss_ns", "ns", nanos, "added for precharge and activate",
			func(m *Machine) any { return &m.HBM.RowMissNS }),
		leaf("hbm.write_queue", "", from(0, 4096), "writes on their way from the LLC to a channel; more stop the slices; 0: any number",
			func(m *Machine) any { return &m.HBM.WriteQueue }),
		leaf("hbm.turn_after", "", from(1, 4096), "accesses ready for the other direction before a channel's bus turns while it still has work",
			func(m *Machine) any { return &m.HBM.TurnAfter }),
		leaf("hbm.read_to_write_ns", "ns", nanos, "the bus stands still between the data of a read and of a write",
			func(m *Machine) any { return &m.HBM.ReadToWriteNS }),
		leaf("hbm.write_to_read_ns", "ns", nanos, "the bus stands still between the data of a write and of a read",
			func(m *Machine) any { return &m.HBM.WriteToReadNS }),
		leaf("hbm.refresh_interval_ns", "ns", from(1, 1e9), "between refreshes of a bank, or of a channel",
			func(m *Machine) any { return &m.HBM.RefreshIntervalNS }),
		leaf("hbm.refresh_ns", "ns", nanos, "a refresh blocks its bank or channel for this long; 0 switches refresh off",
			func(m *Machine) any { return &m.HBM.RefreshNS }),
		leaf("hbm.refresh_scope", "", oneOf("bank", "channel"), "what a refresh closes: the banks of a channel in turn, or all of them at once",
			func(m *Machine) any { return &m.HBM.RefreshScope }),
	}
}

func dispatchLeaves() []leafSpec {
	return []leafSpec{
		leaf("dispatch.order", "", oneOf("round_robin", "contiguous", "shader_engine"), "workgroups to XCDs: one each in turn, an equal run each, or one for each shader engine of an XCD in turn",
			func(m *Machine) any { return &m.Dispatch.Order }),
		leaf("dispatch.cu_order", "", oneOf("shader_engines", "fill", "spread"), "workgroups to the CUs of an XCD with room: shader engines in turn, the CU of the lowest number, or the least loaded of all",
			func(m *Machine) any { return &m.Dispatch.CUOrder }),
		leaf("dispatch.stagger_cycles", "cycles", from(0, 1_000_000), "between two workgroups that an XCD launches; 0: as fast as its shader engines launch waves",
			func(m *Machine) any { return &m.Dispatch.StaggerCycles }),
		leaf("dispatch.wave_stagger_cycles", "cycles", from(0, 100_000), "the same for each wave of the workgroup launched before, added to stagger_cycles: an XCD then launches a wave in so many cycles at most",
			func(m *Machine) any { return &m.Dispatch.WaveStaggerCycles }),
		leaf("dispatch.xcd_offset", "", from(0, 63), "XCD of the first workgroup",
			func(m *Machine) any { return &m.Dispatch.XCDOffset }),
		leaf("dispatch.wave_launch_cycles", "cycles", cycles, "between waves launched by a shader engine",
			func(m *Machine) any { return &m.Dispatch.WaveLaunchCycles }),
		leaf("dispatch.workgroup_gap_cycles", "cycles", cycles, "last wave's end to the first issue of the next workgroup on the CU",
			func(m *Machine) any { return &m.Dispatch.WorkgroupGapCycles }),
		leaf("dispatch.launch_overhead_us", "us", upTo(1e6), "added once to the time of a launch",
			func(m *Machine) any { return &m.Dispatch.LaunchOverheadUS }),
		leaf("dispatch.host_sync_us", "us", upTo(1e6), "added to the time of a launch after which the host waits for the device before the end is timed",
			func(m *Machine) any { return &m.Dispatch.HostSyncUS }),
	}
}
