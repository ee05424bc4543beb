package workloads

import (
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/emu"
)

func buildBackward(t testing.TB, o map[string]string) *Job {
	t.Helper()
	j, err := buildBwd(Request{CPU: isa.GFX950, XCDs: 8, Seed: 3, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func runJob(t testing.TB, j *Job) float64 {
	t.Helper()
	j.FillInputs()
	for _, k := range j.Kernels {
		if _, err := emu.Run(k.Launch, emu.Options{Check: true}); err != nil {
			t.Fatal(err)
		}
	}
	e, err := j.Verify()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Every form computes the gradients, with waits and barriers checked.
func TestBackwardComputes(t *testing.T) {
	for _, o := range []map[string]string{
		{"batch": "1", "heads": "1", "seq": "256"},
		{"batch": "1", "heads": "2", "seq": "512"},
		{"batch": "2", "heads": "2", "kv-heads": "1", "seq": "256"},
		{"batch": "1", "heads": "2", "seq": "512", "causal": "true"},
		{"batch": "1", "heads": "4", "kv-heads": "2", "seq": "512", "causal": "true"},
	} {
		j := buildBackward(t, o)
		if e := runJob(t, j); e > j.Limit {
			t.Errorf("%v: error %g, limit %g", o, e, j.Limit)
		} else {
			t.Logf("%v: error %g, limit %g", o, e, j.Limit)
		}
	}
}
