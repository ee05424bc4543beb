package results

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/whisker-sim/whisker/report"
)

// putStudy writes meta and axes.
func putStudy(tx *sql.Tx, s *Study, complete bool) error {
	for _, m := range [][2]string{
		{"axes", strconv.Itoa(len(s.Axes))}, {"complete", strconv.FormatBool(complete)}, {"fingerprint", s.Fingerprint},
		{"name", s.Name}, {"points", strconv.Itoa(s.Points)}, {"schema_version", strconv.Itoa(SchemaVersion)},
		{"study", s.Text}, {"version", s.Version},
	} {
		if _, err := tx.Exec("INSERT INTO meta VALUES (?, ?)", m[0], m[1]); err != nil {
			return err
		}
	}
	for i, a := range s.Axes {
		values, err := json.Marshal(a.Values)
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO axes VALUES (?, ?, ?)", i, a.Key, string(values)); err != nil {
			return err
		}
	}
	return nil
}

// Study reads what the file says about itself.
func (f *File) Study() (*Study, error) {
	meta := map[string]string{}
	err := f.each("SELECT key, value FROM meta", func(rows *sql.Rows) error {
		var k, v string
		if err := rows.Scan(&k, &v); err != nil {
			return err
		}
		meta[k] = v
		return nil
	})
	if err != nil {
		return nil, err
	}
	s := &Study{Name: meta["name"], Fingerprint: meta["fingerprint"], Text: meta["study"], Version: meta["version"], Complete: meta["complete"] == "true"}
	if s.Points, err = strconv.Atoi(meta["points"]); err != nil {
		return nil, &Error{f.path, "is damaged: it does not say how many points it has"}
	}
	return s, f.each(`SELECT key, "values" FROM axes ORDER BY position`, func(rows *sql.Rows) error {
		var a Axis
		var values string
		if err := rows.Scan(&a.Key, &values); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(values), &a.Values); err != nil {
			return err
		}
		s.Axes = append(s.Axes, a)
		return nil
	})
}

// each runs a query and hands over its rows.
func (f *File) each(query string, row func(*sql.Rows) error, args ...any) error {
	rows, err := f.db.Query(query, args...)
	if err != nil {
		return &Error{f.path, fmt.Sprintf("cannot be read: %v", err)}
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	if err := rows.Err(); err != nil {
		return &Error{f.path, fmt.Sprintf("cannot be read: %v", err)}
	}
	return nil
}

// Put stores the outcome of a point, in the place of an earlier one. Once it
// returns, the point is on disk.
func (f *File) Put(r *Record) error {
	err := inTransaction(f.db, func(tx *sql.Tx) error {
		for _, table := range []string{"points", "settings", "metric_values"} {
			if _, err := tx.Exec("DELETE FROM "+table+" WHERE point = ?", r.Point); err != nil {
				return err
			}
		}
		return putRecord(tx, r, f.names)
	})
	if err != nil {
		clear(f.names) // what the transaction added to it is not in the file
		return fmt.Errorf("%s: point %d cannot be stored: %w", f.path, r.Point, err)
	}
	return nil
}

// names remembers the ids of metrics that are in the file.
type names map[report.Value]int64

func putRecord(tx *sql.Tx, r *Record, known names) error {
	run, err := r.GetRun()
	if err != nil {
		return err
	}
	var kernelHash, machineHash string
	var table []byte
	if run != nil {
		kernelHash, machineHash = run.KernelHash, run.Machine.Hash
		if table, err = pack(r.Instructions); err != nil {
			return err
		}
		if _, err = tx.Exec("INSERT OR IGNORE INTO machines VALUES (?, ?, ?, ?)", machineHash, r.Machine, run.Machine.CPU, string(r.Resolved)); err != nil {
			return err
		}
	}
	// A seed is stored as the signed number with the same bits: SQLite has no other.
	_, err = tx.Exec("INSERT INTO points VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", r.Point, r.ConfigHash, r.Status, r.Message, r.Kernel,
		kernelHash, r.Machine, machineHash, r.Version, int64(r.Seed), string(r.Run), emptyNotNull(table))
	if err != nil {
		return err
	}
	for i, s := range r.Settings {
		if _, err := tx.Exec("INSERT INTO settings VALUES (?, ?, ?, ?, ?)", r.Point, i, s.Key, s.Value, s.Axis); err != nil {
			return err
		}
	}
	if run == nil {
		return nil
	}
	return putMetrics(tx, r.Point, report.Values(run), known)
}

func emptyNotNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func putMetrics(tx *sql.Tx, point int, values []report.Value, known names) error {
	insert, err := tx.Prepare("INSERT INTO metric_values VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, v := range values {
		id, err := metricID(tx, v, known)
		if err != nil {
			return err
		}
		if _, err := insert.Exec(point, id, v.Value); err != nil {
			return err
		}
	}
	return nil
}

// metricID finds or makes the number of a metric's name.
func metricID(tx *sql.Tx, v report.Value, known names) (int64, error) {
	v.Value = 0
	if id, ok := known[v]; ok {
		return id, nil
	}
	var id int64
	err := tx.QueryRow("SELECT id FROM metric_names WHERE component = ? AND metric = ? AND unit = ?", v.Component, v.Metric, v.Unit).Scan(&id)
	if err == sql.ErrNoRows {
		err = tx.QueryRow("INSERT INTO metric_names (component, metric, unit) VALUES (?, ?, ?) RETURNING id", v.Component, v.Metric, v.Unit).Scan(&id)
	}
	if err != nil {
		return 0, err
	}
	known[v] = id
	return id, nil
}

// States gives the state of each point that has one.
func (f *File) States() (map[int]string, error) {
	states := map[int]string{}
	err := f.each("SELECT point, status FROM points", func(rows *sql.Rows) error {
		var p int
		var s string
		if err := rows.Scan(&p, &s); err != nil {
			return err
		}
		states[p] = s
		return nil
	})
	return states, err
}

// Get reads one point; nil when it is not there.
func (f *File) Get(point int) (*Record, error) {
	var found *Record
	err := f.each(`SELECT p.point, p.config_hash, p.status, p.message, p.kernel, p.machine, p.version, p.seed, p.run, p.instructions,
		coalesce(m.resolved, '') FROM points p LEFT JOIN machines m ON m.hash = p.machine_hash AND m.name = p.machine WHERE p.point = ?`,
		func(rows *sql.Rows) error {
			r := &Record{}
			var seed int64
			var run, resolved string
			var table []byte
			if err := rows.Scan(&r.Point, &r.ConfigHash, &r.Status, &r.Message, &r.Kernel, &r.Machine, &r.Version, &seed, &run, &table, &resolved); err != nil {
				return err
			}
			r.Seed, r.Run, r.Resolved = uint64(seed), json.RawMessage(run), json.RawMessage(resolved)
			var err error
			r.Instructions, err = unpack(table)
			found = r
			return err
		}, point)
	if err != nil || found == nil {
		return nil, err
	}
	return found, f.each("SELECT key, value, is_axis FROM settings WHERE point = ? ORDER BY position", func(rows *sql.Rows) error {
		var s Setting
		if err := rows.Scan(&s.Key, &s.Value, &s.Axis); err != nil {
			return err
		}
		found.Settings = append(found.Settings, s)
		return nil
	}, point)
}

// Points lists the points that the file has, in order.
func (f *File) Points() ([]int, error) {
	var out []int
	err := f.each("SELECT point FROM points ORDER BY point", func(rows *sql.Rows) error {
		var p int
		if err := rows.Scan(&p); err != nil {
			return err
		}
		out = append(out, p)
		return nil
	})
	return out, err
}
