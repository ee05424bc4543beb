package sim

import (
	"errors"
	"fmt"

	"github.com/whisker-sim/whisker/configs"
)

// UsageError is a request that cannot be carried out as it was made: a wrong
// flag value, an unknown name, a bad machine file. The program exits with
// code 2 for it, and with 1 for every other error.
type UsageError struct {
	Err error
}

// Error prints the cause.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// ExitCode is the program's exit code.
func (e *UsageError) ExitCode() int { return 2 }

// usagef makes a UsageError.
func usagef(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}

// asUsage marks faults of machine files and assignments as the user's and
// leaves other errors as they are.
func asUsage(err error) error {
	if _, ours := errors.AsType[*configs.Error](err); ours {
		return &UsageError{err}
	}
	return err
}
