package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// WriteText writes the run as one page of at most 100 columns: how close to
// the limits, how long, where the wave-cycles went, what memory did.
func WriteText(w io.Writer, r *Run) error {
	var b strings.Builder
	for _, section := range []func(*strings.Builder, *Run) error{
		writeTitle, writeLight, writeTime, writeWaveCycles, writeRegisters, writeClusters, writeMemory, writeLDS,
		writeInstructions, writeFoot,
	} {
		if err := section(&b, r); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeTitle(b *strings.Builder, r *Run) error {
	o := &r.Options
	if len(o.Other) > 0 {
		fmt.Fprintf(b, "%s on %s: %s\n", r.Kernel, r.Arch, o.String())
		return writeLaunch(b, r)
	}
	if o.M == 0 { // a code object: what it computes is not known
		fmt.Fprintf(b, "%s on %s\n", r.Kernel, r.Arch)
		return writeLaunch(b, r)
	}
	fmt.Fprintf(b, "%s %dx%dx%d %s on %s: tile %s, %s, %s, W %d, C %d\n", r.Kernel, o.M, o.N, o.K, o.DType, r.Arch,
		o.Tile, o.Schedule, o.MFMA, o.Window, o.Chunk)
	return writeLaunch(b, r)
}

// writeLaunch says how the launch fills the machine.
func writeLaunch(b *strings.Builder, r *Run) error {
	of := ""
	if r.Mode != "functional" && r.Launch.Workgroups < r.Machine.CUs { // each has a CU of its own
		of = fmt.Sprintf("%d of ", r.Launch.Workgroups)
	}
	fmt.Fprintf(b, "%s mode, %s of %s on %s%s", r.Mode, counted(r.Launch.Workgroups, "workgroup"), counted(r.Launch.WavesPerWorkgroup, "wave"), of, counted(r.Machine.CUs, "CU"))
	if occ := &r.Occupancy; occ.Limiter != "" {
		fmt.Fprintf(b, "; %s a SIMD, limited by %s", counted(occ.WavesPerSIMD, "wave"), occ.Limiter)
	}
	b.WriteByte('\n')
	return nil
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Thousands(int64(n)) + " " + thing
}

// writeLight draws the speed-of-light bars.
func writeLight(b *strings.Builder, r *Run) error {
	if r.Cycles == 0 {
		return nil
	}
	b.WriteString("\nSPEED OF LIGHT            0 %                                100 %\n")
	bar := func(name string, share float64, note string) {
		const width = 40
		n := max(0, min(width, int(share*width+0.5)))
		line := fmt.Sprintf("  %-22s  |%s%s| %6s  %s", name, strings.Repeat("#", n), strings.Repeat(".", width-n), Percent(share), note)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	loop := ""
	if r.LoopMatrixUtilization > 0 {
		loop = "main loop " + Percent(r.LoopMatrixUtilization)
	}
	bar("matrix pipe", r.MatrixUtilization, loop)
	bar("VALU", r.VALUUtilization, "")
	bar("instruction issue", r.IssueUtilization, "")
	bar("LDS banks", r.LDS.BankUtilization, "fills "+Percent(r.LDS.FillUtilization))
	bar("LDS ports", r.LDS.PortUtilization, "")
	bar("L1 tags", r.TCP.Utilization, "")
	bar("L2", r.L2.Utilization, fmt.Sprintf("%.2f TB/s", r.L2.BandwidthTBs))
	bar("fabric to the XCDs", r.Fabric.ReadUtilization, fmt.Sprintf("%.2f TB/s", r.Fabric.ReadTBs))
	if r.Fabric.IODBytes > 0 {
		bar("links between IODs", r.Fabric.IODUtilization, "")
	}
	bar("LLC", r.LLC.Utilization, fmt.Sprintf("%.2f TB/s", r.LLC.BandwidthTBs))
	bar("HBM", r.HBM.Utilization, fmt.Sprintf("%.2f TB/s", r.HBM.BandwidthTBs))
	return nil
}

func writeTime(b *strings.Builder, r *Run) error {
	if r.Cycles == 0 {
		return nil
	}
	clock := r.Clock.Class
	if len(r.Clock.FittedOn) > 0 {
		clock += " on " + strings.Join(r.Clock.FittedOn, ", ")
	}
	if r.Clock.Prediction {
		clock += "; this point is a prediction"
	}
	b.WriteString("\nTIME\n")
	fmt.Fprintf(b, "  %s cycles at %.0f MHz (%s)\n", Thousands(r.Cycles), r.ClockMHz, clock)
	if n := r.WriteBackCycles; n > 0 {
		fmt.Fprintf(b, "  of these %s (%s) after the last workgroup, while the L2s write back\n", Thousands(n), Percent(Ratio(float64(n), float64(r.Cycles))))
	}
	if p := r.Power; p != nil {
		e := &p.Energy
		fmt.Fprintf(b, "  power: %.0f of %.0f W, %.0f static; joules: %.2f x (matrix %.3g, CUs %.3g, VALU %.3g, LDS %.3g, L2 %.3g), fabric %.3g, HBM %.3g\n", p.Watts, p.LimitW,
			p.StaticW, p.CoreFactor, e.Matrix, e.CU, e.VALU, e.LDS, e.L2, e.Fabric, e.HBM)
	}
	wait := ""
	if r.HostSyncUS > 0 {
		wait = fmt.Sprintf(" + %.2f us host", r.HostSyncUS)
	}
	rate := ""
	switch {
	case r.FLOPs > 0:
		rate = fmt.Sprintf(": %.1f TFLOPS, %s of the %.1f at this clock", r.TFLOPS, Percent(r.PeakShare), r.PeakTFLOPSAtClock)
	case r.UsefulBytes > 0:
		rate = fmt.Sprintf(": %s of the %s that must move", rateOf(r.UsefulTBs), sizeOf(r.UsefulBytes))
	}
	launch, each := "launch", ""
	if n := r.launches(); n > 1 {
		launch, each = fmt.Sprintf("for %d launches", n), " a launch"
	}
	fmt.Fprintf(b, "  %.2f us = %.2f us + %.2f us %s%s%s\n", r.TimeUS, r.KernelTimeUS, r.LaunchOverheadUS, launch, wait, rate)
	if h := r.HostSync; h != nil {
		fmt.Fprintf(b, "  host: waits for the device after each launch, inside the time: %.2f us (%s)\n", r.HostSyncUS, h.origin())
	}
	parts := make([]string, 0, len(r.LaunchSensitivity))
	for _, p := range r.LaunchSensitivity {
		value := fmt.Sprintf("%.2f us", p.TimeUS)
		switch {
		case r.FLOPs > 0:
			value = fmt.Sprintf("%.1f TFLOPS", p.TFLOPS)
		case r.UsefulBytes > 0:
			value = rateOf(p.UsefulTBs)
		}
		parts = append(parts, fmt.Sprintf("%s at %g us%s", value, p.OverheadUS, each))
	}
	fmt.Fprintf(b, "  other launch overheads: %s\n", strings.Join(parts, ", "))
	if r.LoopCyclesPerStep > 0 {
		fmt.Fprintf(b, "  main loop: %.1f cycles a %s\n", r.LoopCyclesPerStep, r.step())
	}
	return nil
}

// rateOf is a bandwidth in the unit that has digits to show.
func rateOf(tbs float64) string {
	if tbs >= 0.1 {
		return fmt.Sprintf("%.2f TB/s", tbs)
	}
	return fmt.Sprintf("%.3g GB/s", tbs*1e3)
}

// sizeOf is a number of bytes likewise.
func sizeOf(bytes float64) string {
	if bytes >= 10e6 {
		return Thousands(int64(bytes/1e6+0.5)) + " MB"
	}
	return Thousands(int64(bytes/1e3+0.5)) + " kB"
}

// writeWaveCycles sets issue classes and stall reasons side by side, in their
// documented order; those without a cycle are left out.
func writeWaveCycles(b *strings.Builder, r *Run) error {
	if r.WaveCycles == 0 {
		return nil
	}
	fmt.Fprintf(b, "\nWAVE-CYCLES  %s, of which issued %s; %s wave instructions\n", Thousands(r.WaveCycles),
		Percent(Ratio(float64(r.Issued.Sum()), float64(r.WaveCycles))), Thousands(r.WaveInstructions))
	share := func(v int64) string { return Percent(Ratio(float64(v), float64(r.WaveCycles))) }
	t := Table{Header: []string{"issued", "wave-cycles", "share", "   stalled", "wave-cycles", "share"}, Left: []int{3}}
	issued, stalls := r.Issued.NonZero(), r.Stalls.NonZero()
	for i := range max(len(issued), len(stalls)) {
		row := []any{"", "", "", "", "", ""}
		if i < len(issued) {
			c := issued[i]
			row[0], row[1], row[2] = c.Name, Thousands(c.Value), share(c.Value)
		}
		if i < len(stalls) {
			c := stalls[i]
			row[3], row[4], row[5] = "   "+c.Name, Thousands(c.Value), share(c.Value)
		}
		t.Add(row...)
	}
	_, err := t.WriteTo(b)
	return err
}

func writeClusters(b *strings.Builder, r *Run) error {
	if len(r.Clusters) == 0 {
		return nil
	}
	inLoop := slices.ContainsFunc(r.Clusters, func(c Cluster) bool { return c.InLoop })
	title := "CLUSTERS"
	if inLoop {
		title = "MAIN LOOP BY CLUSTER"
	}
	fmt.Fprintf(b, "\n%s  cycles a visit\n", title)
	t := Table{Header: []string{"cluster", "cycles", "matrix", "LDS service", "lgkmcnt", "vmcnt", "barrier", "other", "exposed"}}
	for _, c := range r.Clusters {
		if inLoop && !c.InLoop {
			continue
		}
		t.Add(c.Name, tenth(c.Cycles), tenth(c.MatrixCycles), tenth(c.LDSService), tenth(c.LDSLatency), tenth(c.VMEMWait),
			tenth(c.Barrier), tenth(c.Other), tenth(c.ExposedWait))
	}
	_, err := t.WriteTo(b)
	return err
}

// step is what a turn of the main loop goes on by: K where there is one.
func (r *Run) step() string {
	if r.Options.K > 0 {
		return "K step"
	}
	return "loop step"
}

func writeMemory(b *strings.Builder, r *Run) error {
	if r.Cycles == 0 {
		return nil
	}
	b.WriteString("\nMEMORY\n")
	t := Table{Header: []string{"level", "requests", "hit", "in flight", "MB", "TB/s", "queue mean", "p99", "latency mean", "p50", "p99"}}
	mean := func(l *Latency) string {
		if l.Count == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f %s", l.Mean, l.Unit)
	}
	row := func(name string, requests int64, hit, flight string, bytes int64, tbs float64, q, l *Latency) {
		t.Add(name, Thousands(requests), hit, flight, megabytes(bytes), fmt.Sprintf("%.2f", tbs), mean(q), q.P99, mean(l), l.P50, l.P99)
	}
	row("L1", r.TCP.Requests, Percent(r.TCP.HitRate), Percent(r.TCP.HitInFlight), r.TCP.BytesRead+r.TCP.BytesWritten, r.TCP.BandwidthTBs, &Latency{}, &r.TCP.Latency)
	row("L2", r.L2.Requests, Percent(r.L2.HitRate), Percent(r.L2.HitInFlight), r.L2.Bytes, r.L2.BandwidthTBs, &r.L2.Queue, &r.L2.Latency)
	row("LLC", r.LLC.Requests, Percent(r.LLC.HitRate), Percent(r.LLC.HitInFlight), r.LLC.Bytes, r.LLC.BandwidthTBs, &r.LLC.Queue, &r.LLC.Latency)
	row("HBM", r.HBM.Requests, "-", "-", r.HBM.Bytes, r.HBM.BandwidthTBs, &r.HBM.Queue, &r.HBM.Latency)
	if _, err := t.WriteTo(b); err != nil {
		return err
	}
	if l := &r.TCP.InstructionLatency; l.Count > 0 {
		fmt.Fprintf(b, "  a vector-memory instruction takes %.0f cycles from issue to counter, p99 %d\n", l.Mean, l.P99)
	}
	var llc []string
	if start := map[string]string{LLCWarm: "starts warm, as an earlier launch leaves it", LLCLaunched: "starts as the launches before left it", LLCCold: "starts cold"}[r.LLCStart]; start != "" {
		llc = append(llc, start)
	}
	if c := &r.LLC; c.Writes > 0 && c.Reads > 0 {
		llc = append(llc, "has "+Percent(c.ReadHitRate)+" of hits for reads alone")
	}
	if c := &r.LLC; c.FetchedReads > 0 {
		llc = append(llc, "had fetched ahead "+Percent(Ratio(float64(c.FetchedReads), float64(c.Reads-c.ReadHits)))+" of what reads missed")
	}
	if len(llc) > 0 {
		fmt.Fprintf(b, "  the LLC %s\n", strings.Join(llc, "; "))
	}
	if n := r.L2.Atomics; n > 0 {
		fmt.Fprintf(b, "  L2 atomics: %s lines, %s of them fetched first; %s MB of operands; %.0f cycles of a channel each\n",
			Thousands(n), Percent(Ratio(float64(r.L2.AtomicMisses), float64(n))), megabytes(r.L2.AtomicBytes), Ratio(float64(r.L2.AtomicCycles), float64(n)))
	}
	if d := &r.Drift; d.Samples > 0 {
		fmt.Fprintf(b, "  CUs of an XCD are %.1f %ss apart in the mean, %.1f at most\n", d.Mean, r.step(), d.Max)
	}
	return nil
}

func writeLDS(b *strings.Builder, r *Run) error {
	l := &r.LDS
	if l.Instructions == 0 && l.FillBytes == 0 {
		return nil
	}
	latency := ""
	if l.Latency.Count > 0 {
		latency = fmt.Sprintf(", latency %.0f %s, p99 %d", l.Latency.Mean, l.Latency.Unit, l.Latency.P99)
	}
	fmt.Fprintf(b, "\nLDS  %s instructions, %s bank conflicts (%.2f an instruction)%s\n",
		Thousands(l.Instructions), Thousands(l.BankConflicts), l.ConflictsPer, latency)
	fmt.Fprintf(b, "  MB read %s, written %s, filled directly %s\n", megabytes(l.BytesRead), megabytes(l.BytesWritten), megabytes(l.FillBytes))
	return nil
}

// writeInstructions prints the per-instruction table, which makes the page a
// long one: it is there only when asked for.
func writeInstructions(b *strings.Builder, r *Run) error {
	if len(r.Instructions) == 0 {
		return nil
	}
	b.WriteString("\nINSTRUCTIONS  wave-cycles, summed over waves\n")
	header := []string{"pc", "instruction", "hits", "issued", "stalled", "mostly", "conflicts"}
	t := Table{Header: header, Left: []int{1, 5}}
	for i := range r.Instructions {
		n := &r.Instructions[i]
		if n.Kernel != "" && (i == 0 || n.Kernel != r.Instructions[i-1].Kernel) { // a table each
			if i > 0 {
				if _, err := t.WriteTo(b); err != nil {
					return err
				}
			}
			fmt.Fprintf(b, "  %s\n", n.Kernel)
			t = Table{Header: header, Left: []int{1, 5}}
		}
		var most Count
		for _, s := range n.Stalls {
			if s.Value > most.Value {
				most = s
			}
		}
		t.Add(fmt.Sprintf("%#06x", n.PC), clip(n.Text, 44), n.Hits, n.IssueCycles, n.StallCycles, most.Name, n.BankConflicts)
	}
	_, err := t.WriteTo(b)
	return err
}

func writeFoot(b *strings.Builder, r *Run) error {
	if v := r.Verify; v != nil {
		verdict := "passed"
		if !v.Passed {
			verdict = "FAILED"
		}
		fmt.Fprintf(b, "\nVERIFY  %s: %s values against %s, largest relative error %.3g (limit %g)\n", verdict,
			Thousands(v.Values), v.Reference, v.MaxRelativeError, v.Limit)
	}
	for i, n := range r.Notes {
		if i == 0 {
			b.WriteString("\nNOTES\n")
		}
		fmt.Fprintf(b, "  %s\n", n)
	}
	b.WriteByte('\n')
	if h := r.Host; h != nil {
		fmt.Fprintf(b, "SIMULATED in %.1f s", h.WallSeconds)
		if r.Cycles > 0 {
			fmt.Fprintf(b, ": %.2f M wave instructions/s, %s cycles/s", h.WaveInstructionsPerSecond/1e6, Thousands(int64(h.CyclesPerSecond)))
		}
		fmt.Fprintf(b, "; threads %d, %s MB\n", h.Threads, megabytes(h.PeakMemoryBytes))
	}
	fmt.Fprintf(b, "whisker %s, machine %s, kernel %s, seed %d\n", r.Version, short(r.Machine.Hash), short(r.KernelHash), r.Seed)
	return nil
}

// Percent prints a fraction of one.
func Percent(f float64) string { return strconv.FormatFloat(f*100, 'f', 1, 64) + " %" }

// Thousands prints an integer with a comma every three digits.
func Thousands(v int64) string {
	s := strconv.FormatInt(v, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// megabytes prints bytes in MB, with a decimal where it tells something.
func megabytes(bytes int64) string {
	if bytes < 100_000_000 {
		return tenth(float64(bytes) / 1e6)
	}
	return Thousands((bytes + 500_000) / 1_000_000)
}

func tenth(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

func short(hash string) string { return hash[:min(12, len(hash))] }

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n-3] + "..."
}
