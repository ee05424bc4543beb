package report

import "fmt"

// sample is a run whose figures are made up but add up.
func sample() *Run {
	r := &Run{
		Version: "0.1.0", Kernel: "gemm", KernelHash: "91ab03ffee120045", Arch: "mi355x", Mode: "timing", Seed: 1,
		Options: Options{M: 8192, N: 8192, K: 8192, Tile: "256x256x64", Schedule: "pingpong8", MFMA: "16x16x32", DType: "bf16", Window: 8, Chunk: 64},
		Machine: Machine{Name: "mi355x", CPU: "gfx950", Hash: "3f2a77c1d2e3f405", XCDs: 8, CUs: 256, Resolved: Tree{}},
		Launch:  Launch{Workgroups: 1024, WavesPerWorkgroup: 8},
		Cycles:  1_310_000, ClockMHz: 1905, LaunchOverheadUS: 3, FLOPs: 2 * 8192 * 8192 * 8192, PeakTFLOPSAtClock: 1997.5,
		Clock:             Clock{Law: "sustained", Class: "calibrated", FittedOn: []string{"gemm bf16 8192"}},
		MatrixUtilization: 0.801, LoopMatrixUtilization: 0.822, LoopCyclesPerStep: 2491.5, VALUUtilization: 0.02,
		SALUUtilization: 0.05, IssueUtilization: 0.16,
		WaveInstructions: 170_000_000, WaveCycles: 2_600_000_000,
		Issued: NewCounts(IssueClasses), Stalls: NewCounts(StallReasons), Counters: NewCounts(CounterNames),
		Occupancy: Occupancy{WavesPerSIMD: 2, WorkgroupsPerCU: 1, Limiter: "lds", VGPRs: 208, SGPRs: 49, LDSBytes: 131072, MeanWavesPerSIMD: 1.96},
		LDS: LDS{Instructions: 25_165_824, BytesRead: 25_769_803_776, FillBytes: 8_589_934_592,
			BankUtilization: 0.6, PortUtilization: 0.31, FillUtilization: 0.1,
			Latency: NewLatency("cycles", []Bucket{{64, 128, 900}, {128, 256, 100}}, 110)},
		TCP: TCP{Instructions: 16_777_216, Requests: 67_108_864, Hits: 100, HitsInFlight: 64, Misses: 67_108_700, BytesRead: 8_589_934_592,
			Utilization: 0.3, Latency: NewLatency("cycles", []Bucket{{256, 512, 10}, {512, 1024, 980}, {1024, 2048, 10}}, 809),
			InstructionLatency: NewLatency("cycles", []Bucket{{512, 1024, 900}, {1024, 2048, 100}}, 839)},
		Scalar: ScalarCache{Requests: 16_384, Hits: 12_288}, Fetch: InstructionCache{Lookups: 900_000, Fetched: 64},
		L2: Cache{Requests: 67_108_700, Reads: 67_000_000, Writes: 108_700, Hits: 43_000_000, HitsInFlight: 10_000_000, ReadHits: 53_000_000, Misses: 14_108_700,
			Bytes: 8_589_913_600, Utilization: 0.55, Queue: NewLatency("cycles", []Bucket{{0, 1, 90}, {16, 32, 10}}, 2), Latency: NewLatency("cycles", []Bucket{{128, 256, 90}, {512, 1024, 10}}, 300)},
		Fabric: Fabric{BytesRead: 1_805_913_600, ReadUtilization: 0.25, Queue: NewLatency("ns", []Bucket{{0, 1, 90}, {16, 32, 10}}, 2),
			ReadLatency: NewLatency("ns", []Bucket{{64, 128, 40}, {128, 256, 60}}, 139), IODBytes: 902_956_800, IODUtilization: 0.12,
			IODQueue: NewLatency("ns", []Bucket{{0, 1, 80}, {8, 16, 20}}, 2)},
		Drift: Drift{Samples: 300, Mean: 0.5, Max: 2, Tenths: []float64{0.25, 0.5}},
		LLC: Cache{Requests: 14_108_700, Reads: 14_000_000, Writes: 108_700, Hits: 12_000_000, ReadHits: 12_000_000, Misses: 2_108_700, Bytes: 1_805_913_600,
			Utilization: 0.15, Queue: NewLatency("ns", []Bucket{{0, 1, 90}, {16, 32, 10}}, 3), Latency: NewLatency("ns", []Bucket{{64, 128, 90}, {256, 512, 10}}, 150)},
		HBM:   Memory{Requests: 2_108_700, Reads: 2_000_000, Writes: 108_700, Bytes: 269_913_600, Utilization: 0.05, Queue: NewLatency("ns", []Bucket{{0, 1, 40}, {16, 32, 60}}, 15), Latency: NewLatency("ns", []Bucket{{128, 256, 90}}, 200)},
		Notes: []string{"clock: fitted on the 8192 point alone"},
		Host:  &Host{WallSeconds: 100, Threads: 1, PeakMemoryBytes: 512_000_000},
	}
	fill(r.Issued, "mfma", 67_108_864)
	fill(r.Issued, "lds", 25_165_824)
	fill(r.Issued, "vmem", 77_725_312)
	fill(r.Stalls, "barrier", 900_000_000)
	fill(r.Stalls, "matrix_busy", 1_200_000_000)
	fill(r.Stalls, "waitcnt_lgkmcnt", 330_000_000)
	fill(r.Counters, "SQ_WAVES", 8192)
	r.Clusters = append(r.Clusters, Cluster{Name: "prologue", Visits: 8, Cycles: 1332.4})
	for i := range 8 {
		r.Clusters = append(r.Clusters,
			Cluster{Name: fmt.Sprintf("m%d", i), InLoop: true, Visits: 1000, Cycles: 290.2, LDSService: 192, LDSLatency: 64, Barrier: 130, ExposedWait: 34.2},
			Cluster{Name: fmt.Sprintf("c%d", i), InLoop: true, Visits: 1000, Cycles: 301, MatrixCycles: 256, Barrier: 30, Other: 12.5})
	}
	r.Derive()
	return r
}

func fill(c Counts, name string, v int64) {
	if err := c.Add(name, v); err != nil {
		panic(err)
	}
}
