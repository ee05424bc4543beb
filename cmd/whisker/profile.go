package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/whisker-sim/whisker/report/output"
	"github.com/whisker-sim/whisker/sim"
)

// profileFlags are of the program, whatever the command.
type profileFlags struct {
	CPUProfile string `name:"cpu-profile" placeholder:"FILE" help:"Write where whisker itself spends the host's time, for go tool pprof."`
}

// writes are the flags that name a file which a command writes, wherever they mean
// that. A folder of the same flag is no regular file, and is not looked at.
var writes = []string{"cpu-profile", "out", "output", "png", "html", "perfetto", "konata", "akita-trace", "record", "trace", "keep"}

// named is a file that the command line names, and by what.
type named struct{ by, path string }

// files are what the command line names: of flags and arguments all values, since any may be a
// file that is read.
func files(ctx *kong.Context) (written, others []named) {
	for _, p := range ctx.Path {
		var v *kong.Value
		by := ""
		switch {
		case p.Flag != nil:
			v, by = p.Flag.Value, "--"+p.Flag.Name
		case p.Positional != nil:
			v, by = p.Positional, "<"+p.Positional.Name+">"
		default:
			continue
		}
		switch target := v.Target.Interface().(type) {
		case string:
			if p.Flag != nil && slices.Contains(writes, p.Flag.Name) {
				written = append(written, named{by, target})
			} else {
				others = append(others, named{by, target})
			}
		case []string:
			for _, value := range target {
				others = append(others, named{by, value})
			}
		}
	}
	return written, others
}

// refuseShared refuses a profile that has the name of another output, of which the
// second written would replace the first, and any output under whose name a file lies
// that the command reads.
func refuseShared(ctx *kong.Context, profile string) error {
	written, others := files(ctx)
	if profile != "" {
		whole, err := filepath.Abs(profile)
		if err != nil {
			return &sim.UsageError{Err: err}
		}
		for _, w := range written {
			if other, err := filepath.Abs(w.path); w.by != "--cpu-profile" && err == nil && other == whole {
				return &sim.UsageError{Err: fmt.Errorf("%s is named by --cpu-profile and by %s", profile, w.by)}
			}
		}
	}
	for _, w := range written {
		for _, o := range others {
			file, _, _ := strings.Cut(o.path, "#") // a point of a results file
			if err := output.Keep(w.path, o.path, file); err != nil {
				return &sim.UsageError{Err: err}
			}
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
		return &sim.UsageError{Err: err}
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
