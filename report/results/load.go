package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/report"
)

// maxRun bounds a run's JSON file.
const maxRun = 1 << 30

// LoadRun reads a run: a JSON file of whisker run --format json, or a point of a
// results file, as in results.sqlite#3.
func LoadRun(spec string) (*report.Run, error) {
	path, point, isPoint := cutPoint(spec)
	if isPoint {
		return loadPoint(path, point)
	}
	f, err := os.Open(spec)
	if err != nil {
		return nil, &Error{spec, fmt.Sprintf("cannot be opened: %v", reason(err))}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRun))
	if err != nil {
		return nil, &Error{spec, fmt.Sprintf("cannot be read: %v", reason(err))}
	}
	if bytes.HasPrefix(data, []byte("SQLite format 3\x00")) {
		return nil, &Error{spec, "is a results file: say which of its points, as in " + spec + "#0"}
	}
	run := new(report.Run)
	if err := json.Unmarshal(data, run); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			place := "as a whole"
			if wrong.Field != "" {
				place = "at " + wrong.Field
			}
			return nil, &Error{spec, fmt.Sprintf("is no run of whisker run --format json: it has a JSON %s %s", wrong.Value, place)}
		}
		return nil, &Error{spec, fmt.Sprintf("is no run of whisker run --format json: %v", err)}
	}
	if run.Version == "" || run.Kernel == "" {
		return nil, &Error{spec, "is JSON, but no run of whisker run --format json"}
	}
	return run, nil
}

// cutPoint takes FILE#N apart.
func cutPoint(spec string) (path string, point int, ok bool) {
	i := strings.LastIndexByte(spec, '#')
	if i < 0 {
		return spec, 0, false
	}
	n, err := strconv.Atoi(spec[i+1:])
	return spec[:i], n, err == nil
}

func loadPoint(path string, point int) (*report.Run, error) {
	f, err := Open(path, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := f.Get(point)
	if err != nil {
		return nil, err
	}
	if r == nil {
		s, err := f.Study()
		if err != nil {
			return nil, err
		}
		if point >= 0 && point < s.Points {
			return nil, &Error{path, fmt.Sprintf("point %d has not been run yet", point)}
		}
		return nil, &Error{path, fmt.Sprintf("has no point %d: its points are 0 to %d", point, s.Points-1)}
	}
	if r.Status != Done {
		return nil, &Error{path, fmt.Sprintf("point %d has no result: %s: %s", point, r.Status, r.Message)}
	}
	return r.GetRun()
}
