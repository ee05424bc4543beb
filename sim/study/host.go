package study

import (
	"encoding/csv"
	"os"
	"strconv"

	"github.com/whisker-sim/whisker/report/results"
)

// hostLog keeps what the simulating computer did, beside the results and never
// in them: it differs from one repetition to the next.
type hostLog struct {
	f   *os.File
	csv *csv.Writer
}

// HostFile is the name of the host log of a results file.
func HostFile(out string) string { return out + ".host.csv" }

var hostColumns = []string{"point", "status", "wall_seconds", "wave_instructions_per_second", "threads", "peak_memory_bytes"}

func openHostLog(out string) (*hostLog, error) {
	f, err := os.OpenFile(HostFile(out), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, usagef("%v", err)
	}
	h := &hostLog{f, csv.NewWriter(f)}
	if st, err := f.Stat(); err == nil && st.Size() == 0 {
		h.write(hostColumns)
	}
	return h, nil
}

// write adds a row. The log is a convenience: a disk without room for it must
// not end a sweep.
func (h *hostLog) write(row []string) {
	_ = h.csv.Write(row)
	h.csv.Flush()
}

func (h *hostLog) add(r *results.Record) {
	row := []string{strconv.Itoa(r.Point), r.Status, "", "", "", ""}
	if m := r.Host; m != nil {
		row = []string{row[0], row[1], strconv.FormatFloat(m.WallSeconds, 'f', 3, 64), strconv.FormatFloat(m.WaveInstructionsPerSecond, 'f', 0, 64),
			strconv.Itoa(m.Threads), strconv.FormatInt(m.PeakMemoryBytes, 10)}
	}
	h.write(row)
}

func (h *hostLog) close() { h.f.Close() }
