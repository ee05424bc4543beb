// Package device is the way to real GPUs and back: it exports kernels as folders
// that build and run where there is an AMD GPU, runs such a folder, reads what
// AMD's profilers write, and holds it against a simulated run. It knows kernels,
// machines and reports, and no model.
package device

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// InputError is bad usage or bad input: a command exits with 2.
type InputError struct{ Err error }

// Error is the sentence.
func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *InputError) Unwrap() error { return e.Err }

func badInput(format string, args ...any) error {
	return &InputError{fmt.Errorf(format, args...)}
}

// MissingError says what a machine lacks to run kernels on a GPU: a command exits
// with 3.
type MissingError struct{ What []string }

// Error names everything that is missing.
func (e *MissingError) Error() string {
	s := "nothing was run, because this machine lacks what a run needs:"
	for _, w := range e.What {
		s += "\n  - " + w
	}
	return s
}

// Failure is a run or an expectation that did not hold: a command exits with 1.
type Failure struct{ Err error }

// Error is the sentence.
func (e *Failure) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *Failure) Unwrap() error { return e.Err }

// newFolder makes a folder beside dir to be filled in; done puts it in dir's
// place, drop removes it. An existing dir must be empty, or replace must be set
// and dir hold the file marker, which says that it came from here.
func newFolder(dir, marker string, replace bool) (partial string, done func() error, drop func(), err error) {
	dir = filepath.Clean(dir)
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", nil, nil, badInput("%s: %w", dir, cause(err))
	case len(entries) > 0:
		_, err := os.Stat(filepath.Join(dir, marker))
		switch {
		case err != nil:
			return "", nil, nil, badInput("%s is not empty and holds no %s: name a new folder", dir, marker)
		case !replace:
			return "", nil, nil, badInput("%s holds an earlier export: name a new folder, or give --force to replace it", dir)
		}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", nil, nil, badInput("%s: %w", dir, cause(err))
	}
	partial, err = os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".partial-")
	if err != nil {
		return "", nil, nil, badInput("%s: %w", dir, cause(err))
	}
	drop = func() { _ = os.RemoveAll(partial) } // what cannot be removed has a name that says what it is
	done = func() error {
		if err := os.Chmod(partial, 0o755); err != nil {
			return err
		}
		if len(entries) > 0 {
			old := partial + "-old"
			if err := os.Rename(dir, old); err != nil {
				return err
			}
			defer os.RemoveAll(old)
		} else if err == nil {
			_ = os.Remove(dir) // empty
		}
		return os.Rename(partial, dir)
	}
	return partial, done, drop, nil
}

// cause is a file error without the path, which the sentence already has.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
