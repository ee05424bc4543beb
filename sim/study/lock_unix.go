//go:build unix

package study

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock keeps a second sweep off a results file. The system drops the lock with
// its process, however that ends; the lock file stands beside the results, since
// the results file itself is replaced.
func lock(out string) (unlock func(), err error) {
	path := out + ".lock"
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, usagef("%s cannot be written: %v", out, errors.Unwrap(err))
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			f.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, usagef("another sweep is writing %s: wait for it, or sweep into another file", out)
			}
			return nil, fmt.Errorf("%s cannot be locked: %w", out, err)
		}
		// The file may have been removed by its last holder in between.
		ours, err1 := f.Stat()
		there, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(ours, there) {
			return func() { os.Remove(path); f.Close() }, nil
		}
		f.Close()
	}
}
