package sim

import "github.com/whisker-sim/whisker/report/timeline"

// Outputs are the files to write of a recording; an empty name writes nothing.
type Outputs struct {
	Record string // run file
}

// WriteOutputs writes a recording's files.
func WriteOutputs(r *timeline.Recording, o Outputs) error {
	if o.Record != "" {
		return timeline.WriteFile(o.Record, r)
	}
	return nil
}
