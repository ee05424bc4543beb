package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime/pprof"

	"github.com/alecthomas/kong"

	"github.com/whisker-sim/whisker/report/output"
	"github.com/whisker-sim/whisker/sim"
)

// profileFlags are of the program, whatever the command.
type profileFlags struct {
	CPUProfile string `name:"cpu-profile" placeholder:"FILE" help:"Write where whisker itself spends the host's time, for go tool pprof."`
}

// refuseShared refuses a profile that has the name of another flag's file, of
// which the second written would replace the first.
func refuseShared(ctx *kong.Context, profile string) error {
	if profile == "" {
		return nil
	}
	whole, err := filepath.Abs(profile)
	if err != nil {
		return &sim.UsageError{Err: err}
	}
	for _, p := range ctx.Path {
		if p.Flag == nil || p.Flag.Name == "cpu-profile" || p.Flag.Target.Kind() != reflect.String {
			continue
		}
		if other, err := filepath.Abs(p.Flag.Target.String()); err == nil && other == whole {
			return &sim.UsageError{Err: fmt.Errorf("%s is named by --cpu-profile and by --%s", profile, p.Flag.Name)}
		}
	}
	return nil
}

// profiled calls f and writes its profile to path; no path, no profile. A command
// that was used wrongly leaves none, one that ran and failed does.
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
	if _, usage := errors.AsType[*sim.UsageError](err); usage {
		return err
	}
	return errors.Join(err, out.Commit())
}
