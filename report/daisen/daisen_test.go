package daisen_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sarchlab/akita/v4/datarecording"

	"github.com/whisker-sim/whisker/report/daisen"
	"github.com/whisker-sim/whisker/sim"
)

// task is a row of the trace table, as Daisen reads it.
type task struct {
	ID, ParentID, Kind, What, Location string
	StartTime, EndTime                 float64
}

// TestTrace: Akita's own reader and Daisen's queries find the run's tasks.
func TestTrace(t *testing.T) {
	o := sim.RunOptions{Kernel: "gemm", Arch: "teaching", Tile: "256x256", M: 256, N: 256, K: 256, Mode: "timing", Threads: 1, Seed: 1, Record: &sim.RecordOptions{}}
	if _, err := sim.Run(o); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.sqlite3")
	if err := daisen.Write(path, o.Record.Result); err != nil {
		t.Fatal(err)
	}
	reader := datarecording.NewReader(path)
	reader.MapTable("trace", task{})
	rows, n, err := reader.Query(context.Background(), "trace", datarecording.QueryParams{Where: "Kind = ?", Args: []any{"inst"}, Limit: 5})
	if err != nil || len(rows) != 5 || int64(n) != o.Record.Result.Run.WaveInstructions {
		t.Errorf("%d of %d instructions, want %d; %v", len(rows), n, o.Record.Result.Run.WaveInstructions, err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	count := func(query string) (n int) {
		t.Helper()
		if err := db.QueryRow(query).Scan(&n); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return n
	}
	for _, c := range []struct {
		kind string
		want int
	}{{"Simulation", 1}, {"kernel", 1}, {"workgroup", 1}, {"wavefront", 8}} {
		if got := count("select count(*) from trace where Kind = '" + c.kind + "'"); got != c.want {
			t.Errorf("%d tasks of kind %s, want %d", got, c.kind, c.want)
		}
	}
	// Every task lies within its parent, but for loads, whose data outlive the
	// instruction that asked for them.
	if n := count("select count(*) from trace a join trace b on a.ParentID = b.ID where a.Kind <> 'req_in' and (a.StartTime < b.StartTime - 1e-12 or a.EndTime > b.EndTime + 1e-12)"); n != 0 {
		t.Errorf("%d tasks lie outside their parents", n)
	}
	if n := count("select count(*) from trace where ParentID <> '' and ParentID not in (select ID from trace)"); n != 0 {
		t.Errorf("%d tasks have no parent", n)
	}
	if n := count("select count(*) from trace_milestones m join trace t on m.TaskID = t.ID where m.Time >= t.StartTime and m.Time <= t.EndTime + 1e-12 and m.Kind = 'data'"); n == 0 {
		t.Error("no wait is a milestone")
	}
	if n := count("select count(*) from trace where Kind = 'req_in'"); n == 0 {
		t.Error("no load is a task")
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// TestWindow: of waves that a window cuts, every task but loads lies within its
// parent, and none outside the window.
func TestWindow(t *testing.T) {
	o := sim.RunOptions{Kernel: "layernorm", Arch: "teaching", Options: map[string]string{"batch": "1", "seq": "64"}, Mode: "timing", Threads: 1, Seed: 1, Record: &sim.RecordOptions{Cycles: "4003:20001"}}
	if _, err := sim.Run(o); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.sqlite3")
	if err := daisen.Write(path, o.Record.Result); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	cycle := 1e-6 / o.Record.Result.Run.ClockMHz
	for _, c := range []struct {
		what, query string
		least       int
	}{
		{"instructions", "select count(*) from trace where Kind = 'inst'", 1000},
		{"tasks outside their parents", "select -count(*) from trace a join trace b on a.ParentID = b.ID where a.Kind <> 'req_in' and (a.StartTime < b.StartTime - 1e-12 or a.EndTime > b.EndTime + 1e-12)", 0},
		{"tasks without a parent", "select -count(*) from trace where ParentID <> '' and ParentID not in (select ID from trace)", 0},
		{"tasks outside the window", fmt.Sprintf("select -count(*) from trace where StartTime < %g or Kind <> 'req_in' and EndTime > %g", 4002.5*cycle, 20001.5*cycle), 0},
	} {
		var n int
		if err := db.QueryRow(c.query).Scan(&n); err != nil || n < c.least {
			t.Errorf("%d %s (%v)", n, c.what, err)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	if err := daisen.Write(filepath.Join(t.TempDir(), "no", "such", "place"), nil); err == nil {
		t.Error("a place that does not exist is written to")
	}
}
