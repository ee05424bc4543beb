package sim

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func goodOptions() RunOptions {
	return RunOptions{Kernel: "gemm", Arch: "mi355x", M: 512, N: 512, K: 512, Mode: "timing", Threads: 1}
}

func TestCheckAccepts(t *testing.T) {
	w, us := 8, 0.0
	for name, change := range map[string]func(*RunOptions){
		"as it is":   func(*RunOptions) {},
		"every flag": func(o *RunOptions) { o.Window, o.Chunk, o.LaunchOverheadUS = &w, &w, &us },
		"named choices": func(o *RunOptions) {
			o.Schedule, o.MFMA, o.DType, o.Tile = "interleave4", "16x16x32", "fp16", "256x128"
		},
		"verify": func(o *RunOptions) { o.Verify, o.Mode = true, "functional" },
	} {
		o := goodOptions()
		change(&o)
		if err := o.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	less, minus, nan := -1, -1.0, math.NaN()
	for _, c := range []struct {
		name   string
		change func(*RunOptions)
		want   string // in the message
	}{
		{"unknown kernel", func(o *RunOptions) { o.Kernel = "gem" }, "choose gemm"},
		{"no kernel", func(o *RunOptions) { o.Kernel = "" }, "choose gemm"},
		{"unknown mode", func(o *RunOptions) { o.Mode = "fast" }, "timing, functional or full"},
		{"no mode", func(o *RunOptions) { o.Mode = "" }, "timing, functional or full"},
		{"unknown schedule", func(o *RunOptions) { o.Schedule = "9-wave" }, "interleave4"},
		{"unknown mfma", func(o *RunOptions) { o.MFMA = "4x4x4" }, "16x16x32"},
		{"unknown dtype", func(o *RunOptions) { o.DType = "int3" }, "bf16"},
		{"zero size", func(o *RunOptions) { o.M, o.Options = 0, map[string]string{"m": "0"} }, "M = 0"},
		{"negative size", func(o *RunOptions) { o.K = -64 }, "K = -64"},
		{"enormous size", func(o *RunOptions) { o.N = 1 << 40 }, "beyond"},
		{"negative window", func(o *RunOptions) { o.Window = &less }, "--window is -1"},
		{"negative chunk", func(o *RunOptions) { o.Chunk = &less }, "--chunk is -1"},
		{"another kernel's option", func(o *RunOptions) { o.Options = map[string]string{"heads": "3"} }, "no option --heads"},
		{"a size that is no number", func(o *RunOptions) { o.K, o.Options = 0, map[string]string{"k": "big"} }, "whole number"},
		{"no threads", func(o *RunOptions) { o.Threads = 0 }, "--threads is 0"},
		{"half a tile", func(o *RunOptions) { o.Tile = "256" }, "such as 256x256"},
		{"negative overhead", func(o *RunOptions) { o.LaunchOverheadUS = &minus }, "--launch-overhead-us"},
		{"overhead that is no number", func(o *RunOptions) { o.LaunchOverheadUS = &nan }, "--launch-overhead-us"},
		{"verify without values", func(o *RunOptions) { o.Verify = true }, "--mode functional"},
	} {
		o := goodOptions()
		c.change(&o)
		err := buildable(o)
		if err == nil {
			t.Errorf("%s was accepted", c.name)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q does not say %q", c.name, err, c.want)
		}
		if usage, ok := errors.AsType[*UsageError](err); !ok || usage.ExitCode() != 2 {
			t.Errorf("%s: %T is not a usage error", c.name, err)
		}
	}
}

// buildable checks the options and builds the kernel that they ask for.
func buildable(o RunOptions) error {
	if err := o.Check(); err != nil {
		return err
	}
	machine, err := LoadMachine(o.Arch, o.Machine, o.Set)
	if err != nil {
		return err
	}
	if _, err := build(&o, machine.Machine()); err != nil {
		return &UsageError{err}
	}
	return nil
}
