package configs_test

import (
	"fmt"

	"github.com/whisker-sim/whisker/configs"
)

func ExampleResolved_Set() {
	r, err := configs.Load("mi355x")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Set("lds.bytes=262144"), r.Machine().LDS.Bytes)
	fmt.Println(r.Set("lds.bytes=plenty"))
	fmt.Println(r.Set("lds.bnaks=32"))
	// Output:
	// <nil> 262144
	// lds.bytes is not a number: want an integer from 1024 to 16777216, got "plenty"
	// unknown key "bnaks" in lds; did you mean lds.banks? The keys of lds are bytes, granule_bytes, banks, pair_port_bytes_per_cycle, fifo_entries, latency_cycles, queue_cycles, write_bytes_per_cycle, unaligned_service_cycles.
}

func ExampleDiff() {
	a, err := configs.Load("mi355x")
	if err != nil {
		fmt.Println(err)
		return
	}
	b := a.Clone()
	if err := b.SetAll([]string{"lds.bytes=262144", "l2.bytes=8388608"}); err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range configs.Diff(a, b) {
		fmt.Println(d.Leaf, d.A, d.B, d.Unit)
	}
	// Output:
	// lds.bytes 163840 262144 B
	// l2.bytes 4194304 8388608 B
}
