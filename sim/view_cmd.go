package sim

import (
	"io"

	"github.com/whisker-sim/whisker/report/html"
	"github.com/whisker-sim/whisker/report/timeline"
)

// Outputs are the files to write of a recording; an empty name writes nothing.
type Outputs struct {
	Record string // run file
	HTML   string // page
}

// WriteOutputs writes a recording's files.
func WriteOutputs(r *timeline.Recording, o Outputs) error {
	if o.Record != "" {
		if err := timeline.WriteFile(o.Record, r); err != nil {
			return err
		}
	}
	if o.HTML != "" {
		return timeline.Replace(o.HTML, func(w io.Writer) error { return html.Write(w, r) })
	}
	return nil
}
