package results

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/whisker-sim/whisker/report"
)

// The states of a point.
const (
	Done   = "done"
	Failed = "failed" // the run said why, and would say it again
	Lost   = "lost"   // no answer came: killed, out of memory, a dead node; tried again when the study is continued
)

// Setting is one key of a point with its value as text.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Axis  bool   `json:"axis"`
}

// Axis is one axis of a study with its values as text.
type Axis struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// Record is the outcome of one point. It is kept as the bytes that the run gave,
// so that it is the same by whichever way it came: this process, another, or
// another computer.
type Record struct {
	Point      int       `json:"point"`
	ConfigHash string    `json:"config_hash"`
	Status     string    `json:"status"`
	Message    string    `json:"message,omitempty"`
	Kernel     string    `json:"kernel"`
	Machine    string    `json:"machine"`
	Version    string    `json:"version"`
	Seed       uint64    `json:"seed"`
	Settings   []Setting `json:"settings"`

	Run          json.RawMessage `json:"run,omitempty"`          // without machine.resolved, instructions and host
	Resolved     json.RawMessage `json:"resolved,omitempty"`     // machine.resolved
	Instructions json.RawMessage `json:"instructions,omitempty"` // the instruction table
	Host         *report.Host    `json:"host,omitempty"`         // never stored in the results
}

// SetRun takes a run apart into what the file keeps.
func (r *Record) SetRun(run *report.Run) error {
	part := *run
	part.Host, part.Instructions, part.Machine.Resolved = nil, nil, nil
	var err error
	if r.Run, err = json.Marshal(&part); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	if r.Resolved, err = json.Marshal(run.Machine.Resolved); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	if r.Instructions, err = json.Marshal(run.Instructions); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	r.Status, r.Kernel, r.Machine, r.Version, r.Host = Done, run.Kernel, run.Machine.Name, run.Version, run.Host
	r.Seed = run.Seed
	return nil
}

// GetRun puts the run together again, without the host's figures; nil for a
// point that has none.
func (r *Record) GetRun() (*report.Run, error) {
	if r.Status != Done {
		return nil, nil
	}
	run := new(report.Run)
	if err := json.Unmarshal(r.Run, run); err != nil {
		return nil, fmt.Errorf("results: point %d: %w", r.Point, err)
	}
	d := json.NewDecoder(bytes.NewReader(r.Resolved))
	d.UseNumber()
	if err := d.Decode(&run.Machine.Resolved); err != nil {
		return nil, fmt.Errorf("results: point %d: machine: %w", r.Point, err)
	}
	if err := json.Unmarshal(r.Instructions, &run.Instructions); err != nil {
		return nil, fmt.Errorf("results: point %d: instructions: %w", r.Point, err)
	}
	return run, nil
}

// pack compresses the instruction table, which repeats itself.
func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b) // no name and no time: equal tables give equal bytes
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// maxTable bounds what one instruction table may unpack to.
const maxTable = 1 << 30

func unpack(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return []byte("null"), nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxTable))
}
