package study

import (
	"fmt"
	"strconv"

	"github.com/whisker-sim/whisker/sim"
)

// setOptions gives the kernel its options.
func setOptions(o *sim.RunOptions, options map[string]string) error {
	o.M, o.N, o.K = sim.DefaultDim, sim.DefaultDim, sim.DefaultDim
	for key, value := range options {
		var err error
		switch key {
		case "m":
			o.M, err = strconv.Atoi(value)
		case "n":
			o.N, err = strconv.Atoi(value)
		case "k":
			o.K, err = strconv.Atoi(value)
		case "tile":
			o.Tile = value
		case "schedule":
			o.Schedule = value
		case "mfma":
			o.MFMA = value
		case "dtype":
			o.DType = value
		case "window", "chunk":
			var n int
			n, err = strconv.Atoi(value)
			if key == "window" {
				o.Window = &n
			} else {
				o.Chunk = &n
			}
		default:
			err = fmt.Errorf("the kernel does not take %s", key)
		}
		if err != nil {
			return fmt.Errorf("%s is %q: %w", key, value, err)
		}
	}
	return nil
}
