// Package output writes the files that a user names: a regular file appears
// under its name only whole, a symbolic link keeps pointing where it did, and a
// device or a FIFO is written and never replaced.
package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// maxLinks is how many symbolic links a name may lead through, as in Linux.
const maxLinks = 40

// Check refuses a name that no file can be written to, before the work for it
// is done.
func Check(path string) error {
	_, err := find(path)
	return err
}

// Keep refuses a name under which one of a command's inputs lies: the output
// would replace it. A device may be read and written.
func Keep(path string, inputs ...string) error {
	out, err := os.Stat(path)
	if err != nil || !out.Mode().IsRegular() {
		return nil // nothing lies there that could be lost; Check says the rest
	}
	for _, in := range inputs {
		if st, err := os.Stat(in); err == nil && os.SameFile(st, out) {
			return fmt.Errorf("%s is also read; give the output another name", path)
		}
	}
	return nil
}

// target is where a name leads.
type target struct {
	path  string // of the file itself, links followed
	write bool   // it is there and is no regular file: it is opened and written
}

// find follows a name to its file, which need not exist.
func find(path string) (target, error) {
	if path == "-" { // elsewhere that means standard output
		return target{}, errors.New("- is no file name: give /dev/stdout for standard output, or ./- for a file of that name")
	}
	st, err := os.Stat(path)
	switch {
	case err == nil && st.IsDir() || strings.HasSuffix(path, "/"):
		return target{}, fmt.Errorf("%s is a directory; give the name of a file", path)
	case err == nil && (!st.Mode().IsRegular() || ofProcess(path)):
		return target{path, true}, nil
	}
	at := path
	for range maxLinks {
		link, err := os.Readlink(at)
		if err != nil { // no link: the file, or nothing yet
			if st, err := os.Stat(filepath.Dir(at)); err != nil || !st.IsDir() {
				return target{}, fmt.Errorf("%s cannot be written: there is no directory %s", path, filepath.Dir(at))
			}
			return target{at, false}, nil
		}
		if !filepath.IsAbs(link) {
			// Not Join, which would take "dir/.." away where dir is a link.
			link = filepath.Dir(at) + string(filepath.Separator) + link
		}
		at = link
	}
	return target{}, fmt.Errorf("%s cannot be written: it leads through more than %d symbolic links", path, maxLinks)
}

// ofProcess reports whether a name is one of an open file, such as /dev/stdout:
// the open file is meant, not the name that it was opened by.
func ofProcess(path string) bool {
	abs, err := filepath.Abs(path)
	return err == nil && (strings.HasPrefix(abs, "/dev/") || strings.HasPrefix(abs, "/proc/"))
}

// File is a file that is being written. It has its name after Commit only.
type File struct {
	*os.File
	path string
	to   target
}

// Create begins a file beside path, or where temporary files are when path is a
// device or a FIFO.
func Create(path string) (*File, error) {
	to, err := find(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(to.path)
	if to.write {
		dir = os.TempDir()
	}
	f, err := os.CreateTemp(dir, ".whisker-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written: %w", path, errors.Unwrap(err))
	}
	keep(f.Name())
	return &File{f, path, to}, nil
}

// Path is the name that the file is to get.
func (f *File) Path() string { return f.path }

// Commit gives the file its name.
func (f *File) Commit() error {
	err := f.Chmod(0o644)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = f.to.place(f.Name())
	}
	f.Discard()
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", f.path, plain(err))
	}
	return nil
}

// Discard removes what was written and has no name yet.
func (f *File) Discard() {
	f.Close()
	drop(f.Name())
}

// place moves a finished file to its name, or copies it into what is there.
func (t target) place(from string) error {
	if !t.write {
		return os.Rename(from, t.path)
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(t.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// plain leaves the temporary's name out of an error.
func plain(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}

// Replace writes a file through a buffer and gives it its name when all of it is
// written.
func Replace(path string, write func(w io.Writer) error) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	s := &sink{w: f}
	b := bufio.NewWriterSize(s, 1<<18)
	if err = write(b); err == nil {
		err = b.Flush()
	}
	if err == nil {
		return f.Commit()
	}
	f.Discard()
	if s.err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, plain(s.err))
	}
	return err
}

// sink keeps the error of the file apart from errors of what writes to it.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err != nil {
		s.err = err
	}
	return n, err
}

// WriteFile writes a file of known content.
func WriteFile(path string, data []byte) error {
	return Replace(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// temporaries are the files that are being written.
var (
	temporariesMu sync.Mutex
	temporaries   = map[string]bool{}
)

func keep(name string) {
	temporariesMu.Lock()
	defer temporariesMu.Unlock()
	temporaries[name] = true
}

// drop removes a temporary; one that got its name is not there any more.
func drop(name string) {
	temporariesMu.Lock()
	defer temporariesMu.Unlock()
	delete(temporaries, name)
	os.Remove(name)
}

// RemoveUnfinished removes every file that has no name yet, for a program that
// is told to end at once.
func RemoveUnfinished() {
	temporariesMu.Lock()
	defer temporariesMu.Unlock()
	for name := range temporaries {
		os.Remove(name)
	}
}
