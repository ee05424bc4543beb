package device

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// field is a column that is understood.
type field int

const (
	fieldKernel field = iota
	fieldDispatch
	fieldCounter
	fieldValue
	fieldStart
	fieldEnd
	fieldDuration
	fieldAgent
	fieldGrid
	fieldWorkgroup
	fieldLDS
	fieldScratch
	fieldVGPR
	fieldAGPR
	fieldSGPR
	numFields
)

// spellings are the names that rocprof (1 to 3), rocprofv3 and rocprof-compute
// have given a column, as columnKey writes them; the first is rocprofv3's.
var spellings = [numFields][]string{
	fieldKernel:    {"kernelname", "kernel", "name"},
	fieldDispatch:  {"dispatchid", "dispatch", "index"},
	fieldCounter:   {"countername", "counter"},
	fieldValue:     {"countervalue", "value"},
	fieldStart:     {"starttimestamp", "beginns", "startns", "begintimestamp", "start"},
	fieldEnd:       {"endtimestamp", "endns", "end"},
	fieldDuration:  {"durationns", "duration"},
	fieldAgent:     {"agentid", "gpuid", "agent", "gpu"},
	fieldGrid:      {"gridsize", "grd"},
	fieldWorkgroup: {"workgroupsize", "wgr", "wgp"},
	fieldLDS:       {"ldsblocksize", "ldsperworkgroup", "ldsblocksizev", "lds"},
	fieldScratch:   {"scratchsize", "scratchperworkitem", "scr"},
	fieldVGPR:      {"vgprcount", "archvgpr", "vgpr", "archvgprcount"},
	fieldAGPR:      {"accumvgprcount", "accumvgpr"},
	fieldSGPR:      {"sgprcount", "sgpr"},
}

// display is how rocprofv3 writes the columns that a message may name.
var display = map[field]string{fieldKernel: "Kernel_Name", fieldDispatch: "Dispatch_Id", fieldCounter: "Counter_Name", fieldValue: "Counter_Value",
	fieldStart: "Start_Timestamp", fieldEnd: "End_Timestamp"}

// ignored are columns that say nothing about the kernel's speed.
var ignored = []string{"correlationid", "queueid", "queueindex", "processid", "threadid", "pid", "tid", "kernelid", "kind", "wavesize", "sig", "obj",
	"dispatchns", "completens", "privatesegmentsize", "groupsegmentsize", "gridsizex", "gridsizey", "gridsizez", "workgroupsizex",
	"workgroupsizey", "workgroupsizez", "streamid", "nodeid", "startstring", "endstring"}

// layout is the meaning of a CSV file's columns.
type layout struct {
	kind     string
	at       [numFields]int // column, -1 when absent
	grid     [3]int         // Grid_Size_X, Y, Z
	wg       [3]int
	counters []wideColumn
	columns  int
	unknown  []string
}

type wideColumn struct {
	name string
	at   int
}

// Kinds of CSV files.
const (
	kindLong     = "counters, a row a dispatch and counter"
	kindWide     = "counters, a row a dispatch"
	kindTrace    = "kernel trace"
	kindAgents   = "agent info"
	kindATTStats = "thread trace statistics"
	// kindOther says nothing about a dispatch: sums that follow from a kernel trace,
	// API calls, copies.
	kindOther = "sums or host activity, left out"
)

// layoutOf says what the columns of a header mean.
func layoutOf(header []string) (*layout, error) {
	l := &layout{columns: len(header)}
	keys := make([]string, len(header))
	for i, h := range header {
		keys[i] = columnKey(h)
	}
	has := func(k string) bool { return slices.Contains(keys, k) }
	switch {
	case has("gfxtargetversion") || has("agenttype") && has("cucount"):
		l.kind = kindAgents
		return l, nil
	case has("hitcount") && has("latency"):
		l.kind = kindATTStats
		return l, nil
	case has("averagens") || has("function") || has("direction"):
		l.kind = kindOther
		return l, nil
	}
	taken := make([]bool, len(header))
	for f := range l.at {
		l.at[f] = -1
		for _, s := range spellings[f] {
			if i := slices.Index(keys, s); i >= 0 && !taken[i] {
				l.at[f], taken[i] = i, true
				break
			}
		}
	}
	for d, letter := range []string{"x", "y", "z"} {
		l.grid[d], l.wg[d] = slices.Index(keys, "gridsize"+letter), slices.Index(keys, "workgroupsize"+letter)
	}
	for i, k := range keys {
		if !taken[i] && !slices.Contains(ignored, k) {
			l.counters = append(l.counters, wideColumn{header[i], i})
		}
	}
	return l, l.decide(header, has("kind"))
}

// decide settles the kind, or says which column is missing.
func (l *layout) decide(header []string, kind bool) error {
	missing := func(fields ...field) error {
		var names []string
		for _, f := range fields {
			if l.at[f] < 0 {
				names = append(names, display[f])
			}
		}
		return fmt.Errorf("there is no column %s; it has %s", strings.Join(names, " and no "), list(header))
	}
	long := l.at[fieldCounter] >= 0 || l.at[fieldValue] >= 0
	switch {
	case long && (l.at[fieldKernel] < 0 || l.at[fieldCounter] < 0 || l.at[fieldValue] < 0 || l.at[fieldDispatch] < 0):
		return missing(fieldKernel, fieldDispatch, fieldCounter, fieldValue)
	case l.at[fieldKernel] < 0:
		return missing(fieldKernel)
	case long:
		l.kind = kindLong
		for _, c := range l.counters {
			l.unknown = append(l.unknown, c.name)
		}
		l.counters = nil
	case kind && l.at[fieldStart] >= 0 && l.at[fieldEnd] >= 0:
		l.kind = kindTrace
		for _, c := range l.counters {
			l.unknown = append(l.unknown, c.name)
		}
		l.counters = nil
	case len(l.counters) > 0:
		l.kind = kindWide
	case l.at[fieldStart] >= 0 && l.at[fieldEnd] >= 0:
		l.kind = kindTrace
	default:
		return missing(fieldCounter, fieldValue, fieldStart, fieldEnd)
	}
	return nil
}

// csvFile is a CSV file that is being read.
type csvFile struct {
	*ingester
	name   string
	number int // of the file, to tell dispatches of different passes apart
	rows   *rows
	l      *layout
	src    *Source

	problems int64
	text     map[string]*wideText // columns of a wide file that hold text
	last     map[*Kernel]int64    // dispatch whose duration was taken
	grouped  int64                // values with thousands separators
}

type wideText struct{ bad, good int64 }

// problem notes a row that was not understood.
func (f *csvFile) problem(format string, args ...any) {
	f.problems++
	f.ingester.problem(f.name, f.rows.line, f.problems, fmt.Sprintf(format, args...))
}

// ingestCSV reads one CSV file. The error is of the whole file.
func (g *ingester) ingestCSV(name string, in io.Reader) error {
	f := &csvFile{ingester: g, name: name, number: g.nextFile(), rows: newRows(in), text: map[string]*wideText{}, last: map[*Kernel]int64{}}
	first, err := f.rows.next()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	if err != nil {
		return fmt.Errorf("the header: %w", err)
	}
	var header []string
	for _, c := range first {
		header = append(header, string(c))
	}
	if f.l, err = layoutOf(header); err != nil {
		return err
	}
	g.m.Sources = append(g.m.Sources, Source{File: name, Kind: f.l.kind, Unknown: f.l.unknown})
	f.src = &g.m.Sources[len(g.m.Sources)-1]
	row := f.dispatchRow
	switch f.l.kind {
	case kindAgents:
		row = f.agentRow(header)
	case kindATTStats:
		row = f.attRow(header)
	case kindOther:
		row = func([][]byte) error { return nil }
	}
	for {
		fields, err := f.rows.next()
		if errors.Is(err, io.EOF) {
			break
		}
		f.src.Rows++
		switch {
		case err != nil && f.rows.cut:
			f.problem("the file ends in the middle of this row: it was not written to its end")
		case errors.Is(err, errLine) || errors.Is(err, errQuote):
			f.problem("%v", err)
		case err != nil && fields == nil && !isRowError(err):
			return err
		case err != nil:
			f.problem("%v", err)
		case len(fields) != f.l.columns && f.rows.cut:
			f.problem("the file ends in the middle of this row: it was not written to its end")
		case len(fields) != f.l.columns:
			f.problem("%d fields under %d columns (a number with unquoted thousands separators?)", len(fields), f.l.columns)
		default:
			if err := row(fields); err != nil {
				f.problem("%v", err)
			} else {
				f.src.Understood++
			}
		}
	}
	f.end()
	return nil
}

func isRowError(err error) bool { return strings.HasPrefix(err.Error(), "a quoted field") }

// end says what only shows at the end of a file.
func (f *csvFile) end() {
	if f.src.Rows == 0 && f.l.kind != kindAgents {
		f.m.Problems = append(f.m.Problems, Problem{File: f.name, Text: "it has a header and no rows: no dispatch was recorded"})
	}
	for _, c := range f.l.counters {
		if t := f.text[c.name]; t != nil && t.good == 0 {
			f.src.Unknown = append(f.src.Unknown, c.name)
		}
	}
	if f.grouped > 0 {
		f.m.Notes = append(f.m.Notes, fmt.Sprintf("%s: %d values have thousands separators, which were read as such", f.name, f.grouped))
	}
}

// dispatchRow reads a row of a dispatch.
func (f *csvFile) dispatchRow(c [][]byte) error {
	l := f.l
	name := string(c[l.at[fieldKernel]])
	if name == "" {
		return errors.New("the kernel has no name")
	}
	dispatch := f.src.Rows
	if at := l.at[fieldDispatch]; at >= 0 {
		v, err := parseNumber(c[at])
		if err != nil {
			return fmt.Errorf("%s %w", display[fieldDispatch], err)
		}
		dispatch = int64(v)
	}
	var value float64
	if l.kind == kindLong {
		var err error
		if value, err = f.number2(c[l.at[fieldValue]]); err != nil {
			return fmt.Errorf("%s of %s: %w", display[fieldValue], c[l.at[fieldCounter]], err)
		}
		if len(c[l.at[fieldCounter]]) == 0 {
			return errors.New("the counter has no name")
		}
	}
	start, end, timed, err := f.times(c)
	if err != nil {
		return err
	}
	k, err := f.m.kernel(name)
	if err != nil {
		return err
	}
	f.properties(k, c)
	if timed {
		f.duration(k, dispatch, start, end)
	}
	switch l.kind {
	case kindLong:
		k.count(string(c[l.at[fieldCounter]]), f.number, dispatch, value)
	case kindWide:
		return f.wide(k, dispatch, c)
	}
	return nil
}

// number2 reads a counter's value and counts thousands separators. Counters count
// up from 0, and no derived metric is below it.
func (f *csvFile) number2(b []byte) (float64, error) {
	v, err := parseNumber(b)
	if err == nil && v < 0 {
		err = fmt.Errorf("%q is below 0, which no counter can be", b)
	}
	if err == nil && slices.Contains(b, ',') {
		f.grouped++
	}
	return v, err
}

// times reads when a dispatch ran, in ns.
func (f *csvFile) times(c [][]byte) (start, end float64, ok bool, err error) {
	l := f.l
	if l.at[fieldStart] < 0 || l.at[fieldEnd] < 0 {
		if at := l.at[fieldDuration]; at >= 0 {
			end, err = parseNumber(c[at])
			return 0, end, err == nil, err
		}
		return 0, 0, false, nil
	}
	if start, err = parseNumber(c[l.at[fieldStart]]); err == nil {
		end, err = parseNumber(c[l.at[fieldEnd]])
	}
	switch {
	case err != nil:
		return 0, 0, false, fmt.Errorf("timestamp: %w", err)
	case end < start:
		return 0, 0, false, fmt.Errorf("it ends, at %.0f ns, before it starts, at %.0f ns", end, start)
	}
	return start, end, end > 0, nil
}

// duration takes a dispatch's time once, though it may have many rows.
func (f *csvFile) duration(k *Kernel, dispatch int64, start, end float64) {
	if last, seen := f.last[k]; seen && last == dispatch {
		return
	}
	f.last[k] = dispatch
	to := &k.ProfiledUS
	if f.l.kind == kindTrace {
		to = &k.TraceUS
	}
	if *to == nil {
		*to = new(Stats)
	}
	(*to).Add((end - start) / 1e3)
}

// properties notes what a kernel was launched with.
func (f *csvFile) properties(k *Kernel, c [][]byte) {
	if at := f.l.at[fieldAgent]; at >= 0 && !slices.Contains(k.Agents, string(c[at])) {
		k.Agents = append(k.Agents, string(c[at]))
	}
	for _, p := range []struct {
		field field
		to    *int64
		parts *[3]int
	}{{fieldGrid, &k.Grid, &f.l.grid}, {fieldWorkgroup, &k.Workgroup, &f.l.wg}, {fieldLDS, &k.LDSBytes, nil}, {fieldVGPR, &k.VGPRs, nil}, {fieldAGPR, &k.AGPRs, nil}, {fieldSGPR, &k.SGPRs, nil}} {
		if at := f.l.at[p.field]; at >= 0 {
			if v, err := parseNumber(c[at]); err == nil {
				k.set(p.to, int64(v))
			}
		} else if p.parts != nil && p.parts[0] >= 0 && p.parts[1] >= 0 && p.parts[2] >= 0 {
			product := 1.0
			for _, at := range p.parts {
				v, err := parseNumber(c[at])
				if err != nil {
					v = 0
				}
				product *= v
			}
			k.set(p.to, int64(product))
		}
	}
	k.seen = true
}

// wide reads the counters of a dispatch. A column that never holds a number is no
// counter; an empty cell is one that was not read in this pass.
func (f *csvFile) wide(k *Kernel, dispatch int64, c [][]byte) error {
	var bad []string
	for _, w := range f.l.counters {
		t := f.text[w.name]
		if t == nil {
			t = new(wideText)
			f.text[w.name] = t
		}
		if len(c[w.at]) == 0 {
			continue
		}
		v, err := f.number2(c[w.at])
		if err != nil {
			if t.bad++; t.good > 0 || looksLikeCounter(w.name) {
				bad = append(bad, fmt.Sprintf("%s: %v", w.name, err))
			}
			continue
		}
		t.good++
		k.count(w.name, f.number, dispatch, v)
	}
	if len(bad) > 0 {
		return errors.New(strings.Join(bad, "; "))
	}
	return nil
}

// blocks are the hardware blocks that counters are named after.
var blocks = []string{"SQ", "SQC_", "TA_", "TD_", "TCP_", "TCC_", "GRBM_", "CPC_", "CPF_", "SPI_", "TCA_", "GL2C_", "TCC[", "TCP["}

func looksLikeCounter(name string) bool {
	return slices.ContainsFunc(blocks, func(b string) bool { return strings.HasPrefix(name, b) })
}
