package sim

import "fmt"

// paperValue finds the value of a row of an embedded table.
func paperValue(file, table, row, shape, tile string) (float64, error) {
	all, err := readPublished(file)
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		if p.table == table && p.row == row && (shape == "" || p.shape == shape) && (tile == "" || p.tile == tile) {
			return p.value, nil
		}
	}
	return 0, fmt.Errorf("tables/%s has no row %q %q of table %s", file, row, shape, table)
}

// attentionShape is how the tables write a shape.
func attentionShape(seq int) string { return fmt.Sprintf("B16 H16 S%d D128 non-causal", seq) }

// table1 is attention backward with registers as a compiler and as the kernel
// allocates them.
func table1() ([]tableRow, error) {
	var rows []tableRow
	for _, r := range []struct{ row, registers string }{
		{"HK compiler-managed registers", "compiler"}, {"HK pinned registers", "pinned"}, {"AITER assembly", ""},
	} {
		for _, seq := range []int{4096, 8192} {
			v, err := paperValue("paper.csv", "1", r.row, attentionShape(seq), "")
			if err != nil {
				return nil, err
			}
			row := tableRow{table: "1", label: fmt.Sprintf("%s S%d", r.row, seq), paper: v, metric: "throughput", unit: "TFLOPS", kind: KindPredicted, arch: "mi355x",
				kernel: "attention-backward", options: kv("batch", "16", "heads", "16", "seq", fmt.Sprint(seq), "schedule", "interleave4", "registers", r.registers)}
			if r.registers == "" {
				row.kind, row.note = KindReference, "no public schedule"
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// table2 is the GEMM with producers and without. For each published row one
// form is compared, chosen before any was simulated; the others follow it.
func table2() ([]tableRow, error) {
	gemm := kv("m", "8192", "n", "8192", "k", "8192", "dtype", "bf16")
	// A compiler takes the branch between the roles for divergent and loops over the
	// lanes' descriptors around every load (counted in clang builds of the originals).
	pc := with(gemm, "schedule", "producer-consumer", "producers", "4", "descriptors", "vgpr")
	const ragged = "43 row tiles, the last one ragged"
	const script = "M = 7680, as the original's script has it: "
	const even = script + "40 whole row tiles"
	var rows []tableRow
	for _, f := range []struct {
		paper, tile, label, note string
		options                  map[string]string
	}{
		{"4P/8C", "128x256x64", "4P/8C 128x256, 3 stages", "what a fifth of its measured K step of 1.20 us goes to is not known (MODEL.md, BF16 GEMM schedules)", with(pc, "tile", "128x256", "consumers", "8", "stages", "3")},
		{"", "", "4P/8C 128x256, 2 stages", "other form", with(pc, "tile", "128x256", "consumers", "8", "stages", "2")},
		{"", "", "4P/8C 128x256, 3 stages, descriptors in SGPRs", "other form, as written by hand", with(pc, "tile", "128x256", "consumers", "8", "stages", "3", "descriptors", "sgpr")},
		{"", "", "4P/8C 128x256, 3 stages, M 7680", "other form; " + script + "60 row tiles", with(pc, "tile", "128x256", "consumers", "8", "stages", "3", "m", "7680")},
		{"4P/12C", "192x256x64", "4P/12C 192x256, LDS atomics", ragged + "; publishes with four loads of a wave under way, as the original", with(pc, "tile", "192x256", "consumers", "12", "handshake", "lds-atomic", "variant", "v1")},
		{"", "", "4P/12C 192x256, LDS atomics, v2", "other form, which publishes complete tiles; " + ragged, with(pc, "tile", "192x256", "consumers", "12", "handshake", "lds-atomic", "variant", "v2")},
		{"", "", "4P/12C 192x256, LDS atomics, descriptors in SGPRs", "other form, as written by hand; " + ragged, with(pc, "tile", "192x256", "consumers", "12", "handshake", "lds-atomic", "variant", "v1", "descriptors", "sgpr")},
		{"", "", "4P/12C 192x256, barrier", "other form; " + ragged, with(pc, "tile", "192x256", "consumers", "12", "handshake", "barrier")},
		{"", "", "4P/12C 192x256, LDS atomics, M 7680", "other form; " + even, with(pc, "tile", "192x256", "consumers", "12", "handshake", "lds-atomic", "variant", "v1", "m", "7680")},
		{"0P/8C", "192x256x64", "0P/8C 192x256, v2", ragged + "; which of the two versions was measured is not known, and neither makes the tie with 4P/12C (MODEL.md)", with(gemm, "tile", "192x256", "variant", "v2")},
		{"", "", "0P/8C 192x256, v1", "other form; " + ragged, with(gemm, "tile", "192x256", "variant", "v1")},
		{"", "", "0P/8C 192x256, v1, M 7680", "other form; " + even, with(gemm, "tile", "192x256", "variant", "v1", "m", "7680")},
		{"", "", "0P/8C 192x256, v2, M 7680", "other form; " + even, with(gemm, "tile", "192x256", "variant", "v2", "m", "7680")},
		{"0P/8C", "256x256x64", "0P/8C 256x256", "the clock law's 16-bit energy was fitted on this row", with(gemm, "schedule", "pingpong8")},
		{"", "", "0P/8C 256x256, 32x32x16", "other form", with(gemm, "mfma", "32x32x16")},
	} {
		row := tableRow{table: "2", label: f.label, metric: "throughput", unit: "TFLOPS", kind: KindPredicted, arch: "mi355x", kernel: "gemm", options: f.options, note: f.note}
		if f.paper != "" {
			v, err := paperValue("paper.csv", "2", f.paper, "", f.tile)
			if err != nil {
				return nil, err
			}
			row.paper = v
		}
		if f.tile == "256x256x64" {
			row.kind = KindCalibrated
		}
		rows = append(rows, row)
	}
	for _, name := range []string{"TK producer-consumer", "CUTLASS"} {
		v, err := paperValue("paper.csv", "2", name, "", "")
		if err != nil {
			return nil, err
		}
		rows = append(rows, tableRow{table: "2", label: name, paper: v, metric: "throughput", unit: "TFLOPS", kind: KindReference, note: "B200: another vendor's machine"})
	}
	return rows, nil
}

// table3 is 8 waves against 4 waves.
func table3() ([]tableRow, error) {
	fp8 := kv("m", "8192", "n", "8192", "k", "8192", "dtype", "fp8")
	bwd := kv("batch", "16", "heads", "16", "seq", "8192")
	var rows []tableRow
	for _, f := range []struct {
		name, kernel, kind, note string
		options                  map[string]string
	}{
		{"FP8 8-wave", "gemm", KindCalibrated, "the clock law's 8-bit energy was fitted on this row", with(fp8, "schedule", "pingpong8")},
		{"FP8 4-wave", "gemm", KindPredicted, "", with(fp8, "schedule", "interleave4")},
		{"MHA bwd 8-wave", "attention-backward", KindPredicted, "", with(bwd, "schedule", "pingpong8")},
		{"MHA bwd 4-wave", "attention-backward", KindPredicted, "", with(bwd, "schedule", "interleave4", "registers", "pinned")},
	} {
		v, err := paperValue("paper.csv", "3", f.name, "", "")
		if err != nil {
			return nil, err
		}
		rows = append(rows, tableRow{table: "3", label: f.name, paper: v, metric: "throughput", unit: "TFLOPS", kind: f.kind, arch: "mi355x", kernel: f.kernel,
			options: f.options, note: f.note})
	}
	return rows, nil
}

// kernelTargets are the published points of single kernels that no table has.
func kernelTargets() ([]tableRow, error) {
	all, err := readPublished("kernels.csv")
	if err != nil {
		return nil, err
	}
	var rows []tableRow
	for _, p := range all {
		row := tableRow{table: "kernels", label: p.device + " " + p.kernel + " " + p.shape, paper: p.value, metric: p.metric, unit: p.unit, kind: KindPredicted, arch: map[string]string{"MI355X": "mi355x", "MI325X": "mi325x"}[p.device]}
		switch p.kernel {
		case "gemm":
			var m, n, k int
			if _, err := fmt.Sscanf(p.shape, "%dx%dx%d", &m, &n, &k); err != nil {
				return nil, fmt.Errorf("tables/kernels.csv: shape %q: %w", p.shape, err)
			}
			row.kernel = "gemm"
			row.options = kv("m", fmt.Sprint(m), "n", fmt.Sprint(n), "k", fmt.Sprint(k), "schedule", p.schedule, "dtype", "bf16")
			if p.value > 2000 {
				row.options["dtype"] = "fp8"
				row.label += " fp8"
			}
			if m == 8192 && row.options["dtype"] == "bf16" { // of either generation
				row.kind, row.note = KindCalibrated, "the clock law's 16-bit energy was fitted on this row"
			}
		case "layernorm", "rotary":
			row.kernel, row.streams = p.kernel, true
			if p.kernel == "layernorm" {
				row.kind, row.note = KindCalibrated, "dispatch.host_sync_us was fitted on this row"
			} else {
				row.note = "that its launch function waits for the device, as the layer norm's does, is assumed"
			}
		default:
			row.kernel, row.options = attentionRow(p)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// attentionRow reads a shape such as "B16 Hq64 Hkv8 S4096 D64 non-causal".
func attentionRow(p published) (kernel string, options map[string]string) {
	kernel = "attention"
	if p.kernel == "mha_bwd" || p.kernel == "gqa_bwd" {
		kernel = "attention-backward"
	}
	var b, h, kvh, s, d int
	var causal string
	if _, err := fmt.Sscanf(p.shape, "B%d Hq%d Hkv%d S%d D%d %s", &b, &h, &kvh, &s, &d, &causal); err != nil {
		fmt.Sscanf(p.shape, "B%d H%d S%d D%d %s", &b, &h, &s, &d, &causal)
		kvh = h
	}
	return kernel, kv("batch", fmt.Sprint(b), "heads", fmt.Sprint(h), "kv-heads", fmt.Sprint(kvh), "seq", fmt.Sprint(s), "dim", fmt.Sprint(d), "causal", fmt.Sprint(causal == "causal"))
}
