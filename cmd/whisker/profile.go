package main

import (
	"runtime/pprof"

	"github.com/whisker-sim/whisker/report/output"
)

// profileFlags are of the program, whatever the command.
type profileFlags struct {
	CPUProfile string `name:"cpu-profile" placeholder:"FILE" help:"Write where whisker itself spends the host's time, for go tool pprof."`
}

// profiled calls f and writes its profile to path; no path, no profile.
func profiled(path string, f func() error) error {
	if path == "" {
		return f()
	}
	out, err := output.Create(path)
	if err != nil {
		return err
	}
	defer out.Discard()
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	err = f()
	pprof.StopCPUProfile()
	if err != nil {
		return err
	}
	return out.Commit()
}
