//go:build !unix

package study

import (
	"errors"
	"os"
)

// lock keeps a second sweep off a results file: the lock file exists while a
// sweep runs. A sweep that was killed leaves it behind, and says so.
func lock(out string) (unlock func(), err error) {
	path := out + ".lock"
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, usagef("another sweep is writing %s; if none is, remove %s", out, path)
	}
	if err != nil {
		return nil, usagef("%s cannot be written: %v", out, errors.Unwrap(err))
	}
	return func() { f.Close(); os.Remove(path) }, nil
}
