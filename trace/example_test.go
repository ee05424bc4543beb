package trace_test

import (
	"bytes"
	"fmt"

	"github.com/whisker-sim/whisker/trace"
)

// A trace of one wave that runs a loop of three instructions four times, with a
// load of consecutive dwords in it, is written and read.
func Example() {
	program := trace.Program{
		{PC: 0, Target: -1, Code: []byte{0x00, 0x80, 0x50, 0xdc, 0x01, 0x00, 0x02, 0x00}}, // global_load_dword v0, v1, s[2:3]
		{PC: 8, Target: -1, Code: []byte{0x70, 0x0f, 0x8c, 0xbf}},                         // s_waitcnt vmcnt(0)
		{PC: 12, Target: 0, Code: []byte{0xfc, 0xff, 0x85, 0xbf}},                         // s_cbranch_scc1
		{PC: 16, Target: -1, Code: []byte{0x00, 0x00, 0x81, 0xbf}},                        // s_endpgm
	}
	dwords := &trace.Pattern{Lanes: ^uint64(0), Bytes: 4}
	for lane := range dwords.Offset {
		dwords.Offset[lane] = 4 * int64(lane)
	}
	wave := trace.NewBuilder(0, 0, ^uint64(0))
	for turn := range 4 {
		wave.Step(0)
		wave.Access(dwords, 0x1000+256*uint64(turn))
		wave.Step(1)
		wave.Step(2)
	}
	wave.Step(3)

	var file bytes.Buffer
	w, err := trace.NewWriter(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	w.Begin(&trace.Launch{Kernel: "copy", CPU: "gfx950", Workgroups: [3]int{1, 1, 1}, Workgroup: [3]int{64, 1, 1}}, program)
	w.Wave(wave.Wave())
	w.End(0)
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}

	r, err := trace.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()), trace.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	parts, err := r.Wave(0, 0, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Launch(0).Kernel, parts[0].Instructions, "instructions", parts[0].Jumps)
	for _, run := range parts[0].Accesses[0].Runs {
		step, _ := run.Pattern.Affine()
		fmt.Printf("%d loads from %#x, each %d bytes on, lanes %d bytes apart\n", run.Count, run.Base, run.Step, step)
	}
	// Output:
	// copy 13 instructions [{3 2 0}]
	// 4 loads from 0x1000, each 256 bytes on, lanes 4 bytes apart
}
