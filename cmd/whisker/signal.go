package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/whisker-sim/whisker/report/output"
)

// removeAtSignal makes an interrupt, a hangup and a request to end remove the files that
// have no name yet, before the process ends as it would without this. The
// function that it returns undoes it.
func removeAtSignal() func() {
	var want []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as under nohup, or in the background of a script
			want = append(want, s)
		}
	}
	if len(want) == 0 {
		return func() {}
	}
	got := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(got, want...)
	go func() {
		select {
		case s := <-got:
			output.RemoveUnfinished()
			signal.Reset(s)
			if n, ok := s.(syscall.Signal); !ok || syscall.Kill(os.Getpid(), n) != nil {
				os.Exit(exitFailed)
			}
		case <-done:
		}
	}()
	return func() {
		signal.Stop(got)
		close(done)
	}
}
