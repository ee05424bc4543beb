package device

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	_ "github.com/glebarez/go-sqlite" // rocprofv3's default output since ROCm 7 is a SQLite file
)

// rocpd reads a database of rocprofv3 --output-format rocpd. Its tables carry the
// process's GUID in their names, with views of the plain names beside them; files
// that were merged have several.
func (g *ingester) rocpd(path string) error {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&immutable=1")
	if err != nil {
		return err
	}
	defer db.Close()
	tables, err := strings1(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_%' ORDER BY name")
	if err != nil {
		return fmt.Errorf("the database is damaged or cut short: %w", err)
	}
	var guids []string
	for _, t := range tables {
		if s, ok := strings.CutPrefix(t, "rocpd_kernel_dispatch"); ok {
			guids = append(guids, s)
		}
	}
	if len(guids) == 0 {
		return errors.New("it is a SQLite file without a table rocpd_kernel_dispatch: no rocpd database")
	}
	src := Source{File: path, Kind: "rocpd database"}
	for _, guid := range guids {
		d := &rocpdFile{ingester: g, db: db, path: path, guid: guid, number: g.nextFile(), tables: tables, src: &src}
		if err := d.all(); err != nil {
			return fmt.Errorf("the database is damaged or of another version: %w", err)
		}
	}
	g.m.Sources = append(g.m.Sources, src)
	if src.Rows == 0 {
		g.whole(path, "no dispatch was recorded")
	}
	return nil
}

// strings1 is the first column of a query's rows.
func strings1(db *sql.DB, query string) ([]string, error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// rocpdFile is one process's part of a database.
type rocpdFile struct {
	*ingester
	db         *sql.DB
	path, guid string
	number     int
	tables     []string
	src        *Source
	problems   int64
}

// table is the name of a table of this process, quoted; empty when there is none.
func (d *rocpdFile) table(name string) string {
	if !slices.Contains(d.tables, name+d.guid) {
		return ""
	}
	return `"` + strings.ReplaceAll(name+d.guid, `"`, `""`) + `"`
}

// column is the first of names that a table has, as an SQL expression.
func (d *rocpdFile) column(table, alias string, names ...string) string {
	have, err := strings1(d.db, "SELECT name FROM pragma_table_info('"+strings.ReplaceAll(strings.Trim(table, `"`), "'", "''")+"')")
	if err == nil {
		for _, n := range names {
			if slices.Contains(have, n) {
				return alias + ".\"" + n + "\""
			}
		}
	}
	return "NULL"
}

func (d *rocpdFile) all() error {
	if err := d.agents(); err != nil {
		return err
	}
	if err := d.dispatches(); err != nil {
		return err
	}
	return d.counters()
}

// agents reads the GPUs.
func (d *rocpdFile) agents() error {
	t := d.table("rocpd_info_agent")
	if t == "" {
		return nil
	}
	rows, err := d.db.Query("SELECT " + strings.Join([]string{d.column(t, "a", "absolute_index", "id"), d.column(t, "a", "type"), d.column(t, "a", "name"), d.column(t, "a", "product_name")}, ", ") + " FROM " + t + " a ORDER BY 1")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var node sql.NullInt64
		var kind, name, product sql.NullString
		if err := rows.Scan(&node, &kind, &name, &product); err != nil {
			return err
		}
		a := Agent{Node: int(node.Int64), Type: kind.String, Name: name.String, Product: product.String}
		if !slices.Contains(d.m.Agents, a) {
			d.m.Agents = append(d.m.Agents, a)
		}
	}
	return rows.Err()
}

// kernelJoin is what names the kernel of dispatch k.
func (d *rocpdFile) kernelJoin() (name, join string) {
	t := d.table("rocpd_info_kernel_symbol")
	if t == "" {
		return "NULL", ""
	}
	return d.column(t, "s", "kernel_name", "display_name"), " LEFT JOIN " + t + " s ON s.id = k.kernel_id"
}

// dispatches reads times and launch properties.
func (d *rocpdFile) dispatches() error {
	t, s := d.table("rocpd_kernel_dispatch"), d.table("rocpd_info_kernel_symbol")
	name, join := d.kernelJoin()
	property := func(names ...string) string {
		if s == "" {
			return "NULL"
		}
		return d.column(s, "s", names...)
	}
	query := "SELECT " + strings.Join([]string{name, d.column(t, "k", "start"), d.column(t, "k", "end"),
		d.column(t, "k", "grid_size_x"), d.column(t, "k", "grid_size_y"), d.column(t, "k", "grid_size_z"),
		d.column(t, "k", "workgroup_size_x"), d.column(t, "k", "workgroup_size_y"), d.column(t, "k", "workgroup_size_z"),
		d.column(t, "k", "group_segment_size"), property("arch_vgpr_count"), property("accum_vgpr_count"), property("sgpr_count")}, ", ") +
		" FROM " + t + " k" + join + " ORDER BY k.id"
	rows, err := d.db.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name sql.NullString
		var v [12]sql.NullInt64
		to := []any{&name}
		for i := range v {
			to = append(to, &v[i])
		}
		d.src.Rows++
		if err := rows.Scan(to...); err != nil {
			d.row("dispatch %d: %v", d.src.Rows, err)
			continue
		}
		if !name.Valid || name.String == "" {
			d.row("dispatch %d is of a kernel without a name", d.src.Rows)
			continue
		}
		k, err := d.m.kernel(strings.TrimSuffix(name.String, ".kd"))
		if err != nil {
			d.row("%v", err)
			continue
		}
		if start, end := v[0].Int64, v[1].Int64; end > start {
			if k.TraceUS == nil {
				k.TraceUS = new(Stats)
			}
			k.TraceUS.Add(float64(end-start) / 1e3)
		} else {
			d.row("dispatch %d of %s ends, at %d ns, no later than it starts, at %d ns", d.src.Rows, k.Name, end, start)
			continue
		}
		k.set(&k.Grid, v[2].Int64*v[3].Int64*v[4].Int64)
		k.set(&k.Workgroup, v[5].Int64*v[6].Int64*v[7].Int64)
		for i, p := range []*int64{&k.LDSBytes, &k.VGPRs, &k.AGPRs, &k.SGPRs} {
			k.set(p, v[8+i].Int64)
		}
		k.seen = true
		d.src.Understood++
	}
	return rows.Err()
}

func (d *rocpdFile) row(format string, args ...any) {
	d.problems++
	d.problem(d.path, 0, d.problems, fmt.Sprintf(format, args...))
}

// counters reads the counters of each dispatch.
func (d *rocpdFile) counters() error {
	events, info := d.table("rocpd_pmc_event"), d.table("rocpd_info_pmc")
	if events == "" || info == "" {
		return nil
	}
	name, join := d.kernelJoin()
	rows, err := d.db.Query("SELECT " + name + ", k.id, " + d.column(info, "p", "symbol", "name") + ", e.value FROM " + events + " e JOIN " + info +
		" p ON p.id = e.pmc_id JOIN " + d.table("rocpd_kernel_dispatch") + " k ON k.event_id = e.event_id" + join + " ORDER BY k.id, p.id, e.id")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var kernel, counter sql.NullString
		var dispatch int64
		var value sql.NullFloat64
		d.src.Rows++
		if err := rows.Scan(&kernel, &dispatch, &counter, &value); err != nil {
			d.row("counter record %d: %v", d.src.Rows, err)
			continue
		}
		if !kernel.Valid || !counter.Valid || !value.Valid {
			d.row("counter record %d has no kernel, no name or no value", d.src.Rows)
			continue
		}
		k, err := d.m.kernel(strings.TrimSuffix(kernel.String, ".kd"))
		if err != nil {
			d.row("%v", err)
			continue
		}
		k.count(counter.String, d.number, dispatch, value.Float64)
		d.src.Understood++
	}
	return rows.Err()
}
