package device

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/report/att"
)

// write puts a file into a folder.
func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func ingest(t *testing.T, path string) *Measurement {
	t.Helper()
	m, err := Ingest(path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The real files of a MI355X are read to the last row.
func TestRealFiles(t *testing.T) {
	m := ingest(t, "testdata/rocprof")
	if len(m.Problems) > 0 || len(m.Notes) > 0 {
		t.Errorf("problems %v, notes %v", m.Problems, m.Notes)
	}
	rows := map[string]int64{"ds_read_b128_phase_test_counter_collection.csv": 6, "ds_read_b64_lds_conflict_agent_info.csv": 10,
		"ds_read_b64_lds_conflict_counter_collection.csv": 142, "ds_write_b64_bank_test_counter_collection.csv": 6}
	for _, s := range m.Sources {
		if want := rows[filepath.Base(s.File)]; s.Rows != want || s.Understood != want || len(s.Unknown) > 0 {
			t.Errorf("%s: %d of %d rows, want %d; unknown columns %v", s.File, s.Understood, s.Rows, want, s.Unknown)
		}
	}
	if len(m.Sources) != len(rows) || len(m.Agents) != 10 {
		t.Errorf("%d files, %d agents", len(m.Sources), len(m.Agents))
	}
	if a := m.Agents[2]; a.Name != "gfx950" || a.CUs != 256 || a.XCCs != 8 || a.LDSKiB != 160 || a.MaxMHz != 2400 || a.SIMDs != 1024 {
		t.Errorf("agent %+v", a)
	}
	k := m.byName["micro_tk(micro_globals)"]
	if k == nil || k.Dispatches != 3 || k.Counter("SQ_LDS_BANK_CONFLICT").Max != 1 || k.Counter("SQ_INSTS_LDS").Mean != 1 || k.Workgroup != 64 {
		t.Errorf("kernel %+v", k)
	}
}

const longHeader = `"Correlation_Id","Dispatch_Id","Agent_Id","Kernel_Name","Grid_Size","Workgroup_Size","VGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"`

// The same two dispatches in every form that profilers have written them in.
func TestForms(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"rocprofv3 long", longHeader + `
1,1,"Agent 2","k<1, 2>",512,256,8,"SQ_WAVES",8.0,1000,3000
1,1,"Agent 2","k<1, 2>",512,256,8,"TCC_HIT_sum",100,1000,3000
2,2,"Agent 2","k<1, 2>",512,256,8,"SQ_WAVES",10,5000,9000
2,2,"Agent 2","k<1, 2>",512,256,8,"TCC_HIT_sum",300,5000,9000
`},
		{"a row a die", longHeader + `
1,1,"Agent 2","k<1, 2>",512,256,8,"SQ_WAVES",3.0,1000,3000
1,1,"Agent 2","k<1, 2>",512,256,8,"SQ_WAVES",5.0,1000,3000
1,1,"Agent 2","k<1, 2>",512,256,8,"TCC_HIT_sum",100,1000,3000
2,2,"Agent 2","k<1, 2>",512,256,8,"SQ_WAVES",10,5000,9000
2,2,"Agent 2","k<1, 2>",512,256,8,"TCC_HIT_sum",300,5000,9000
`},
		{"rocprof 1, wide", `Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,wave_size,sig,obj,DispatchNs,BeginNs,EndNs,CompleteNs,SQ_WAVES,TCC_HIT_sum
0,"k<1, 2>",2,0,0,1,1,512,256,0,0,8,0,16,64,0x0,0x7f,900,1000,3000,3100,8,100
1,"k<1, 2>",2,0,2,1,1,512,256,0,0,8,0,16,64,0x0,0x7f,4900,5000,9000,9100,10,300
`},
		{"rocprof 2, wide", `Dispatch_ID,GPU_ID,Queue_ID,Queue_Index,PID,TID,GRD,WGR,LDS,SCR,Arch_VGPR,ACCUM_VGPR,SGPR,Wave_Size,SIG,OBJ,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID,SQ_WAVES,TCC_HIT_sum
1,2,1,0,7,7,512,256,0,0,8,0,16,64,0,0,"k<1, 2>",1000,3000,0,8,100
2,2,1,0,7,7,512,256,0,0,8,0,16,64,0,0,"k<1, 2>",5000,9000,0,10,300
`},
		{"rocprof-compute pmc_perf", `Dispatch_ID,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Kernel_Name,Start_Timestamp,End_Timestamp,Kernel_ID,SQ_WAVES,TCC_HIT_sum
0,2,512,256,0,0,8,0,16,"k<1, 2>",1000,3000,3,8,100
1,2,512,256,0,0,8,0,16,"k<1, 2>",5000,9000,3,10,300
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := ingest(t, write(t, t.TempDir(), "c.csv", strings.ReplaceAll(c.text, "\n", "\r\n")))
			if len(m.Problems)+len(m.Notes) > 0 || len(m.Kernels) != 1 {
				t.Fatalf("problems %v, notes %v, %d kernels", m.Problems, m.Notes, len(m.Kernels))
			}
			k := m.Kernels[0]
			if k.Name != "k<1, 2>" || k.Dispatches != 2 || k.Grid != 512 || k.Workgroup != 256 || k.VGPRs != 8 || len(k.Counters) != 2 {
				t.Errorf("kernel %+v with %d counters", k, len(k.Counters))
			}
			w, h := k.Counter("SQ_WAVES"), k.Counter("TCC_HIT_sum")
			if w.Mean != 9 || w.Min != 8 || w.Max != 10 || w.N != 2 || w.Stddev != 1 || h.Mean != 200 || h.Median != 200 {
				t.Errorf("counters %+v %+v", w, h)
			}
			if k.ProfiledUS == nil || k.ProfiledUS.Mean != 3 || k.ProfiledUS.N != 2 {
				t.Errorf("time %+v", k.ProfiledUS)
			}
			if s := m.Sources[0]; len(s.Unknown) > 0 || s.Rows != s.Understood {
				t.Errorf("source %+v", s)
			}
		})
	}
}

func TestKernelTrace(t *testing.T) {
	m := ingest(t, write(t, t.TempDir(), "kernel_trace.csv", `"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"
"KERNEL_DISPATCH","Agent 4",1,0,99,1,12,"gemm",1,1000,2500,65536,0,128,4,48,512,1,1,1024,2,1
"KERNEL_DISPATCH","Agent 4",1,0,99,2,12,"gemm",2,3000,5500,65536,0,128,4,48,512,1,1,1024,2,1
`))
	k := m.Kernels[0]
	if len(m.Problems) > 0 || k.TraceUS == nil || k.TraceUS.Mean != 2 || k.Grid != 2048 || k.Workgroup != 512 || k.LDSBytes != 65536 || k.AGPRs != 4 {
		t.Errorf("problems %v, kernel %+v, time %+v", m.Problems, k, k.TraceUS)
	}
}

// What cannot be understood is said: which file, which row, why; the rest is read.
func TestBadRows(t *testing.T) {
	good := "1,1,A,k,64,64,8,SQ_WAVES,8,1000,3000\n"
	for _, c := range []struct {
		name, text string
		problem    string
		understood int64
	}{
		{"not a number", longHeader + "\n" + good + "2,2,A,k,64,64,8,SQ_WAVES,eight,1000,3000\n", `:3: Counter_Value of SQ_WAVES: "eight" is no number`, 1},
		{"NaN", longHeader + "\n" + good + "2,2,A,k,64,64,8,SQ_WAVES,NaN,1000,3000\n", `:3: Counter_Value of SQ_WAVES: "NaN" is no measurement`, 1},
		{"infinite", longHeader + "\n2,2,A,k,64,64,8,SQ_WAVES,-inf,1000,3000\n" + good, `:2: Counter_Value of SQ_WAVES: "-inf" is no measurement`, 1},
		{"bare thousands", longHeader + "\n" + good + "2,2,A,k,64,64,8,SQ_WAVES,1,024,1000,3000\n", ":3: 12 fields under 11 columns (a number with unquoted thousands separators?)", 1},
		{"below 0", longHeader + "\n" + good + "2,2,A,k,64,64,8,SQ_WAVES,-5,1000,3000\n", `:3: Counter_Value of SQ_WAVES: "-5" is below 0`, 1},
		{"bad groups", longHeader + "\n" + good + `2,2,A,k,64,64,8,SQ_WAVES,"10,24",1000,3000` + "\n", `"10,24" is no number`, 1},
		{"half written", longHeader + "\n" + good + "2,2,A,k,64,64,8,SQ_WA", ":3: the file ends in the middle of this row", 1},
		{"half written in a quote", longHeader + "\n" + good + `2,2,A,"k<`, ":3: the file ends in the middle of this row", 1},
		{"open quote", longHeader + "\n" + `2,2,A,"k,64,64,8,SQ_WAVES,8,1000,3000` + "\n" + good, ":2: a quote is not closed", 1},
		{"time runs backwards", longHeader + "\n" + good + "2,2,A,k,64,64,8,SQ_WAVES,8,3000,1000\n", "it ends, at 1000 ns, before it starts, at 3000 ns", 1},
		{"no kernel", longHeader + "\n" + good + "2,2,A,,64,64,8,SQ_WAVES,8,1000,3000\n", "the kernel has no name", 1},
		{"zero dispatches", longHeader + "\n", "no dispatch was recorded", 0},
		{"wide, text in a counter", "Dispatch_ID,Kernel_Name,SQ_WAVES\n1,k,8\n2,k,lots\n", `:3: SQ_WAVES: "lots" is no number`, 1},
		{"endless row", longHeader + "\n" + good + strings.Repeat("x", maxLine+10) + "\n", ":3: the row is longer than 1 MiB", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := ingest(t, write(t, t.TempDir(), "c.csv", c.text))
			if len(m.Problems) != 1 || !strings.Contains(m.Problems[0].String(), c.problem) {
				t.Errorf("problems %v, want %q", m.Problems, c.problem)
			}
			if s := m.Sources[0]; s.Understood != c.understood {
				t.Errorf("%d rows understood, want %d", s.Understood, c.understood)
			}
		})
	}
}

func TestBadFiles(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "the file is empty"},
		{"missing column", "Dispatch_Id,Kernel_Name,Counter_Name\n1,k,SQ_WAVES\n", "there is no column Counter_Value; it has Dispatch_Id, Kernel_Name, Counter_Name"},
		{"renamed column", "Dispatch_Id,Kern,Counter_Name,Counter_Value\n1,k,SQ_WAVES,8\n", "there is no column Kernel_Name; it has Dispatch_Id, Kern"},
		{"no dispatch column", "Kernel_Name,Counter_Name,Counter_Value\nk,SQ_WAVES,8\n", "there is no column Dispatch_Id"},
		{"no text", "a\x00\x01,\xff\n1,2\n", `it has "a\x00\x01", "\xff"`},
		{"another table", "a,b\n1,2\n", "there is no column Kernel_Name"},
		{"not JSON", "{", "no JSON object that the host program printed"},
		{"other JSON", `{"a": 1}`, "not what the host program"},
		{"cut database", string(sqliteMagic) + "rest", "damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, t.TempDir(), "c.csv", c.text)
			_, err := Ingest(path)
			if _, input := errors.AsType[*InputError](err); !input || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	if _, err := Ingest(t.TempDir()); err == nil || !strings.Contains(err.Error(), "there is no file that a profiler wrote") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Ingest("nowhere"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no folder: %v", err)
	}
}

// One bad file does not keep the others from being read.
func TestMixedFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.csv", longHeader+"\n1,1,A,k,64,64,8,SQ_WAVES,8,1000,3000\n")
	write(t, dir, "b.csv", "nothing,here\n1,2\n")
	write(t, dir, "notes.txt", "left alone")
	m := ingest(t, dir)
	if len(m.Kernels) != 1 || len(m.Problems) != 1 || !strings.Contains(m.Problems[0].String(), "b.csv: there is no column Kernel_Name") {
		t.Errorf("%d kernels, problems %v", len(m.Kernels), m.Problems)
	}
}

func TestManyBadRowsAreCounted(t *testing.T) {
	m := ingest(t, write(t, t.TempDir(), "c.csv", longHeader+"\n"+strings.Repeat("1,1,A,k,64,64,8,SQ_WAVES,x,1000,3000\n", 100)))
	if len(m.Problems) != maxProblems || m.Problems[maxProblems-1].More != 100-maxProblems {
		t.Errorf("%d problems, the last %+v", len(m.Problems), m.Problems[len(m.Problems)-1])
	}
}

func TestThousandsAndLostRecords(t *testing.T) {
	m := ingest(t, write(t, t.TempDir(), "c.csv", longHeader+`
1,1,A,k,64,64,8,SQ_WAVES,"1,234,567",1000,3000
1,1,A,k,64,64,8,SQ_INSTS_LDS,5,1000,3000
2,2,A,k,128,64,8,SQ_WAVES,"1,234,567",1000,3000
`))
	k := m.Kernels[0]
	if w := k.Counter("SQ_WAVES"); w.Mean != 1234567 || k.Grid != 0 || k.Workgroup != 64 {
		t.Errorf("counter %+v of %+v", w, k)
	}
	text := strings.Join(m.Notes, "; ")
	for _, want := range []string{"2 values have thousands separators", "SQ_INSTS_LDS has values for 1 of 2 dispatches"} {
		if !strings.Contains(text, want) {
			t.Errorf("notes %q lack %q", text, want)
		}
	}
}

// endless makes a CSV file of some bytes without holding it.
type endless struct {
	left int64
	row  int
	buf  bytes.Buffer
}

func (e *endless) Read(b []byte) (int, error) {
	for e.buf.Len() < len(b) && e.left > 0 {
		if e.row == 0 {
			e.buf.WriteString(longHeader + "\n")
		}
		at := e.buf.Len()
		fmt.Fprintf(&e.buf, "%d,%d,\"Agent 2\",\"void kernel_%d<float, int>(float*)\",512,256,8,\"SQ_WAVES\",%d.0,%d,%d\n", e.row, e.row, e.row%5, e.row%1000, e.row*10, e.row*10+9)
		e.row++
		e.left -= int64(e.buf.Len() - at)
	}
	if e.buf.Len() == 0 {
		return 0, io.EOF
	}
	return e.buf.Read(b)
}

// A file of any size takes the memory of its kernels, not of its rows.
func TestBoundedMemory(t *testing.T) {
	size := int64(16 << 20)
	g := &ingester{m: &Measurement{byName: map[string]*Kernel{}}}
	e := &endless{left: size}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := g.ingestCSV("big.csv", e); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grew := int64(after.HeapAlloc) - int64(before.HeapAlloc); grew > 4<<20 {
		t.Errorf("%d MB of rows leave %d KB in memory", size>>20, grew>>10)
	}
	g.m.finish()
	var n int64
	for _, k := range g.m.Kernels {
		n += k.Dispatches
	}
	if s := g.m.Sources[0]; n != int64(e.row) || s.Understood != n || len(g.m.Problems) > 0 {
		t.Errorf("%d dispatches of %d rows, %d understood, problems %v", n, e.row, s.Understood, g.m.Problems)
	}
	if c := g.m.Kernels[0].Counter("SQ_WAVES"); c.Median < 480 || c.Median > 520 {
		t.Errorf("median %g of values spread over 0 to 995", c.Median)
	}
}

func TestRocpd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range strings.Split(`
CREATE TABLE rocpd_info_agent_00a1 (id INTEGER PRIMARY KEY, guid TEXT, nid INT, pid INT, type TEXT, absolute_index INT, name TEXT, product_name TEXT);
INSERT INTO rocpd_info_agent_00a1 VALUES (1, 'g', 0, 1, 'CPU', 0, 'EPYC', ''), (2, 'g', 0, 1, 'GPU', 2, 'gfx950', 'MI355X');
CREATE TABLE rocpd_info_kernel_symbol_00a1 (id INTEGER PRIMARY KEY, guid TEXT, kernel_name TEXT, display_name TEXT, arch_vgpr_count INT, accum_vgpr_count INT, sgpr_count INT);
INSERT INTO rocpd_info_kernel_symbol_00a1 VALUES (7, 'g', 'gemm.kd', 'gemm', 128, 4, 48);
CREATE TABLE rocpd_kernel_dispatch_00a1 (id INTEGER PRIMARY KEY, guid TEXT, agent_id INT, kernel_id INT, dispatch_id INT, start BIGINT, "end" BIGINT, group_segment_size INT,
 workgroup_size_x INT, workgroup_size_y INT, workgroup_size_z INT, grid_size_x INT, grid_size_y INT, grid_size_z INT, event_id INT);
INSERT INTO rocpd_kernel_dispatch_00a1 VALUES (1, 'g', 2, 7, 1, 1000, 3000, 65536, 512, 1, 1, 1024, 1, 1, 11), (2, 'g', 2, 7, 2, 5000, 9000, 65536, 512, 1, 1, 1024, 1, 1, 12), (3, 'g', 2, 7, 3, 9500, 9500, 0, 512, 1, 1, 1024, 1, 1, 13);
CREATE TABLE rocpd_info_pmc_00a1 (id INTEGER PRIMARY KEY, guid TEXT, name TEXT, symbol TEXT);
INSERT INTO rocpd_info_pmc_00a1 VALUES (3, 'g', 'Waves', 'SQ_WAVES');
CREATE TABLE rocpd_pmc_event_00a1 (id INTEGER PRIMARY KEY, guid TEXT, event_id INT, pmc_id INT, value REAL);
INSERT INTO rocpd_pmc_event_00a1 VALUES (1, 'g', 11, 3, 6), (2, 'g', 11, 3, 2), (3, 'g', 12, 3, 10), (4, 'g', 12, 3, NULL)`, ";\n") {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%v in %s", err, q)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	m := ingest(t, path)
	k := m.byName["gemm"]
	if k == nil || k.TraceUS == nil || k.TraceUS.Mean != 3 || k.VGPRs != 128 || k.Workgroup != 512 || k.LDSBytes != 65536 {
		t.Fatalf("kernel %+v", k)
	}
	if c := k.Counter("SQ_WAVES"); c == nil || c.N != 2 || c.Mean != 9 {
		t.Errorf("counter %+v", c)
	}
	if len(m.Agents) != 2 || m.Agents[1].Name != "gfx950" {
		t.Errorf("agents %+v", m.Agents)
	}
	if len(m.Problems) != 2 || !strings.Contains(m.Problems[0].Text, "ends, at 9500 ns, no later") || !strings.Contains(m.Problems[1].Text, "no value") {
		t.Errorf("problems %v", m.Problems)
	}

	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := write(t, t.TempDir(), "cut.db", string(whole[:len(whole)/3]))
	if _, err := Ingest(cut); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a database that was cut short: %v", err)
	}
}

// A thread trace written by Whisker is read back, and one that a profiler left
// without waves or without code is said to be so.
func TestThreadTrace(t *testing.T) {
	dir := t.TempDir()
	f := &att.Folder{GFX: "gfx950", Dispatches: map[string]string{"1": "gemm"}, Occupancy: map[int][]att.Occupied{},
		Code: []att.CodeRow{{ISA: "s_nop 0", Line: 1, Address: 0, Hit: 2, Latency: 8, Stall: 0}, {ISA: "s_endpgm", Line: 2, Address: 4, Hit: 2, Latency: 16, Stall: 8, Idle: 4}},
		Waves: []att.Wave{{File: "se0_sm1_sl2_wv0.json", SE: 0, SIMD: 1, Slot: 2, Begin: 10, End: 40,
			Insts: []att.Inst{{Time: 10, Type: att.TypeImmediate, Duration: 4, Line: 1}, {Time: 20, Type: att.TypeMessage, Stall: 4, Duration: 4, Line: 2}}, Timeline: []att.Span{{State: att.StateExec, Length: 30}}}}}
	folder := filepath.Join(dir, att.FolderName(0, 1))
	if err := att.Write(dir, filepath.Base(folder), f); err != nil {
		t.Fatal(err)
	}
	m := ingest(t, dir)
	if len(m.Problems) > 0 || len(m.Traces) != 1 || m.Traces[0].Waves != 1 {
		t.Fatalf("problems %v, traces %+v", m.Problems, m.Traces)
	}
	if r := m.Traces[0].Instructions[1]; r != (TracedRow{"s_endpgm", 4, 2, 16, 8, 4}) {
		t.Errorf("row %+v", r)
	}

	waves, _ := filepath.Glob(filepath.Join(folder, "se*.json"))
	for _, w := range waves {
		if err := os.Remove(w); err != nil {
			t.Fatal(err)
		}
	}
	m = ingest(t, folder)
	if len(m.Traces) != 1 || m.Traces[0].Missing != 1 || len(m.Problems) != 1 || !strings.Contains(m.Problems[0].Text, "files of 1 of 1 waves are missing") {
		t.Errorf("without waves: %v, %+v", m.Problems, m.Traces)
	}

	write(t, folder, "code.json", `{"code": null, "version": "1"}`)
	if _, err := Ingest(folder); err == nil || !strings.Contains(err.Error(), "there is no code list, or it is null") {
		t.Errorf("without code: %v", err)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte(longHeader + "\n1,1,A,k,64,64,8,SQ_WAVES,8,1000,3000\n"))
	f.Add([]byte("Dispatch_ID,Kernel_Name,SQ_WAVES\n1,\"k\"\"x\",\"1,000\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		g := &ingester{m: &Measurement{byName: map[string]*Kernel{}}}
		if err := g.ingestCSV("f", bytes.NewReader(data)); err == nil {
			g.m.finish()
			g.lost()
			if s := g.m.Sources[0]; s.Understood > s.Rows {
				t.Errorf("%+v", s)
			}
		}
	})
}

// A file without a dispatch is read, and says that it has none.
func TestNoDispatch(t *testing.T) {
	m := ingest(t, write(t, t.TempDir(), "none.csv", longHeader+"\n"))
	if len(m.Kernels) != 0 || len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "none.csv: there is no dispatch in it") {
		t.Errorf("notes %v, %d kernels", m.Notes, len(m.Kernels))
	}
}
