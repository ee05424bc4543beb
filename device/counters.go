package device

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/whisker-sim/whisker/report"
)

// counterHeader is the header of rocprofv3's counter_collection.csv.
var counterHeader = []string{"Correlation_Id", "Dispatch_Id", "Agent_Id", "Queue_Id", "Process_Id", "Thread_Id", "Grid_Size", "Kernel_Id", "Kernel_Name",
	"Workgroup_Size", "LDS_Block_Size", "Scratch_Size", "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count", "Counter_Name", "Counter_Value", "Start_Timestamp", "End_Timestamp"}

// WriteCounterCSV writes a run's counters as rocprofv3 writes those of one dispatch,
// so that scripts for its files read a simulated run too. GRBM_GUI_ACTIVE counts in
// every XCD, as the profiler adds it up.
func WriteCounterCSV(w io.Writer, r *report.Run) error {
	n := strconv.Itoa
	c := csv.NewWriter(w)
	rows := [][]string{counterHeader}
	wg := 64 * r.Launch.WavesPerWorkgroup
	end := strconv.FormatInt(int64(r.KernelTimeUS*1e3+0.5), 10)
	for _, x := range r.Counters {
		v := x.Value
		if x.Name == "GRBM_GUI_ACTIVE" {
			v *= int64(max(r.Machine.XCDs, 1))
		}
		o := &r.Occupancy
		rows = append(rows, []string{"1", "1", "Agent 1", "1", "1", "1", n(r.Launch.Workgroups * wg), "1", r.Kernel, n(wg), n(o.LDSBytes), "0",
			n(o.VGPRs), n(o.AGPRs), n(o.SGPRs), x.Name, strconv.FormatFloat(float64(v), 'e', 8, 64), "0", end})
	}
	return c.WriteAll(rows)
}
