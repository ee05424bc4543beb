package sim

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// finishedJobs are the jobs of a validation that have ended: with a file, a line a
// job is appended as soon as it ends, and a validation that was ended goes on from
// them. A line counts only for the program, the options and the points that it
// was written with.
type finishedJobs struct {
	mu    sync.Mutex
	file  *os.File // nil: keeps nothing
	base  string
	known map[string]keptJob
	took  map[string]time.Duration // by set: what its jobs took, one after the other
}

type keptJob struct {
	Key     string          `json:"key"`
	Seconds float64         `json:"seconds"`
	Points  []ValidatePoint `json:"points"`
}

// maxKeptLine bounds a line of the file.
const maxKeptLine = 16 << 20

func openFinished(path string, o *ValidateOptions) (*finishedJobs, error) {
	f := &finishedJobs{known: map[string]keptJob{}, took: map[string]time.Duration{}}
	if path == "" {
		return f, nil
	}
	program, err := programHash()
	if err != nil {
		return nil, err
	}
	f.base = program + "\n" + strings.Join(o.Set, "\n")
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("%s cannot be read: %v", path, errors.Unwrap(err))
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxKeptLine)
	for lines.Scan() {
		var j keptJob
		if json.Unmarshal(lines.Bytes(), &j) == nil { // the last one of a killed process may be cut
			f.known[j.Key] = j
		}
	}
	if f.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return nil, usagef("%s cannot be written: %v", path, errors.Unwrap(err))
	}
	if n := len(data); n > 0 && data[n-1] != '\n' {
		if _, err := f.file.WriteString("\n"); err != nil {
			return nil, errors.Join(err, f.file.Close())
		}
	}
	return f, nil
}

// key identifies a job with everything that its points depend on.
func (f *finishedJobs) key(j *validationJob) string {
	h := sha256.New()
	fmt.Fprintln(h, f.base)
	for _, p := range j.points {
		fmt.Fprintf(h, "%q %q %q %g\n", p.Set, p.Name, p.Unit, p.Measured)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// take fills in the points of a job that has ended before.
func (f *finishedJobs) take(j *validationJob) bool {
	k, ok := f.known[f.key(j)]
	if !ok || f.file == nil || len(k.Points) != len(j.points) {
		return false
	}
	copy(j.points, k.Points)
	f.took[j.points[0].Set] += time.Duration(k.Seconds * float64(time.Second))
	return true
}

// add keeps a job that has ended.
func (f *finishedJobs) add(j *validationJob, took time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.took[j.points[0].Set] += took
	if f.file == nil {
		return nil
	}
	line, err := json.Marshal(keptJob{f.key(j), took.Seconds(), j.points})
	if err != nil {
		return err
	}
	_, err = f.file.Write(append(line, '\n'))
	return err
}

// times are what the sets took, in the order of the sets.
func (f *finishedJobs) times() []SetTime {
	var out []SetTime
	for _, name := range ValidateSets() {
		if d, ok := f.took[name]; ok {
			out = append(out, SetTime{name, d.Seconds()})
		}
	}
	return out
}

func (f *finishedJobs) close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// SetTime is the host's time for a set: what its points took, one after the other.
type SetTime struct {
	Set     string  `json:"set"`
	Seconds float64 `json:"seconds"`
}

// longestFirst orders the times for the eye.
func longestFirst(times []SetTime) []SetTime {
	out := slices.Clone(times)
	slices.SortStableFunc(out, func(a, b SetTime) int {
		switch {
		case a.Seconds > b.Seconds:
			return -1
		case a.Seconds < b.Seconds:
			return 1
		}
		return 0
	})
	return out
}
