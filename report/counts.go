package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Count is one named number.
type Count struct {
	Name  string
	Value int64
}

// Counts is an ordered set of named numbers. It is a JSON object whose keys
// keep their order, so that equal runs give equal bytes.
type Counts []Count

// Name is a name that Counts may hold, with its meaning.
type Name struct{ Name, Doc string }

// IssueClasses are the names of Run.Issued, in order.
var IssueClasses = []Name{
	{"valu", "vector ALU, transcendentals and conversions included"},
	{"mfma", "matrix instructions"},
	{"salu", "scalar ALU"},
	{"smem", "scalar memory"},
	{"vmem", "vector memory"},
	{"lds", "local data share"},
	{"branch", "branches"},
	{"internal", "s_nop, s_waitcnt, s_barrier, s_setprio, s_sleep, s_endpgm"},
}

// StallReasons are the names of Run.Stalls, in order.
var StallReasons = []Name{
	{"waitcnt_vmcnt", "s_waitcnt held by vmcnt"},
	{"waitcnt_lgkmcnt", "s_waitcnt held by lgkmcnt"},
	{"barrier", "waiting at s_barrier for other waves"},
	{"dependency", "an operand's producer is not done"},
	{"matrix_busy", "the SIMD's matrix pipe is occupied"},
	{"valu_busy", "the SIMD's vector ALU is occupied"},
	{"lds_queue_full", "no room in the LDS queue"},
	{"vmem_queue_full", "no room in the vector-memory queue"},
	{"arbitration", "ready, but another wave was chosen or the SIMD was not visited"},
	{"fetch", "the instruction buffer is empty"},
	{"sleep", "inside s_sleep or s_nop"},
}

// CounterNames are the names of Run.Counters, in order. A name is rocprof's
// only where the meaning is rocprof's
// (ROCm documentation, MI300 and MI200 performance counters).
var CounterNames = []Name{
	{"GRBM_GUI_ACTIVE", "cycles the GPU was active"},
	{"SQ_WAVES", "waves launched"},
	{"SQ_WAVE_CYCLES", "wave-cycles in units of four cycles, rounded down"},
	{"SQ_INSTS_VALU", "vector ALU instructions, matrix instructions included"},
	{"SQ_INSTS_MFMA", "matrix instructions"},
	{"SQ_VALU_MFMA_BUSY_CYCLES", "cycles that matrix pipes were busy, summed over SIMDs"},
	{"SQ_INSTS_SALU", "scalar ALU instructions"},
	{"SQ_INSTS_SMEM", "scalar memory instructions"},
	{"SQ_INSTS_VMEM", "vector memory instructions"},
	{"SQ_INSTS_LDS", "LDS instructions"},
	{"SQ_INSTS_BRANCH", "branch instructions"},
	{"SQ_LDS_BANK_CONFLICT", "LDS cycles lost to bank conflicts"},
	{"TCP_TOTAL_CACHE_ACCESSES_sum", "vector L1 lookups, reads and writes"},
	{"TCP_TCC_READ_REQ_sum", "vector L1 reads sent to L2"},
	{"TCP_TCC_WRITE_REQ_sum", "vector L1 writes sent to L2"},
	{"TCC_REQ_sum", "L2 requests"},
	{"TCC_READ_sum", "L2 read requests"},
	{"TCC_WRITE_sum", "L2 write requests"},
	{"TCC_ATOMIC_sum", "L2 atomics"},
	{"TCC_HIT_sum", "L2 hits, on lines in flight too"},
	{"TCC_MISS_sum", "L2 misses"},
}

// NewCounts returns one zero per name, in order.
func NewCounts(names []Name) Counts {
	c := make(Counts, len(names))
	for i, n := range names {
		c[i].Name = n.Name
	}
	return c
}

// Add adds v to a name. A name that the set does not have is an error: the
// names are documented, and a new one must be documented first.
func (c Counts) Add(name string, v int64) error {
	for i := range c {
		if c[i].Name == name {
			c[i].Value += v
			return nil
		}
	}
	return fmt.Errorf("report: no count is called %q", name)
}

// Get returns a name's value, 0 when it is absent.
func (c Counts) Get(name string) int64 {
	for i := range c {
		if c[i].Name == name {
			return c[i].Value
		}
	}
	return 0
}

// Sum adds all values.
func (c Counts) Sum() int64 {
	var s int64
	for i := range c {
		s += c[i].Value
	}
	return s
}

// NonZero returns the entries that are not zero.
func (c Counts) NonZero() Counts {
	out := make(Counts, 0, len(c))
	for _, e := range c {
		if e.Value != 0 {
			out = append(out, e)
		}
	}
	return out
}

// MarshalJSON writes an object with the keys in order.
func (c Counts) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range c {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%d", e.Name, e.Value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object and keeps its order.
func (c *Counts) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("report: counts want an object of numbers, have %.40s", data)
	}
	*c = Counts{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return fmt.Errorf("report: counts: %w", err)
		}
		var v int64
		if err := d.Decode(&v); err != nil {
			return fmt.Errorf("report: count %v: %w", key, err)
		}
		*c = append(*c, Count{key.(string), v})
	}
	return nil
}

// Tree is a nested object of settings; encoding sorts its keys.
type Tree map[string]any

// Set puts a value at a dotted path and makes the objects on the way. Text
// that spells a number or a truth value becomes one.
func (t Tree) Set(path string, value any) {
	head, rest, nested := strings.Cut(path, ".")
	if !nested {
		t[head] = typed(value)
		return
	}
	sub, ok := t[head].(Tree)
	if !ok {
		sub = Tree{}
		t[head] = sub
	}
	sub.Set(rest, value)
}

// typed reads text as JSON would.
func typed(value any) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	if text == "true" || text == "false" {
		return text == "true"
	}
	if n := json.Number(text); json.Valid([]byte(text)) {
		if _, err := n.Float64(); err == nil {
			return n
		}
	}
	return text
}
