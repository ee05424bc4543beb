package sim

import (
	"fmt"
	"math"

	"github.com/goccy/go-yaml"
)

// checkWhole refuses fractions where a launch file counts: the YAML library
// would cut them off.
func checkWhole(text []byte) error {
	var l struct {
		Grid       []any `yaml:"grid"`
		Workgroup  []any `yaml:"workgroup"`
		DynamicLDS any   `yaml:"dynamic_lds"`
		Seed       any   `yaml:"seed"`
		Args       []struct {
			Shape []any `yaml:"shape"`
		} `yaml:"args"`
	}
	if err := yaml.Unmarshal(text, &l); err != nil {
		return oneLine(err)
	}
	if err := whole("dynamic_lds", l.DynamicLDS); err != nil {
		return err
	}
	if err := whole("seed", l.Seed); err != nil {
		return err
	}
	if err := whole("grid", l.Grid...); err != nil {
		return err
	}
	if err := whole("workgroup", l.Workgroup...); err != nil {
		return err
	}
	for i, a := range l.Args {
		if err := whole("shape", a.Shape...); err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
	}
	return nil
}

// whole refuses a number with a fraction.
func whole(key string, values ...any) error {
	for _, v := range values {
		if f, ok := v.(float64); ok && f != math.Trunc(f) {
			return fmt.Errorf("%s holds %v; it counts in whole units", key, f)
		}
	}
	return nil
}
