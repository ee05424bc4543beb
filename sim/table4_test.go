package sim

import (
	"errors"
	"os"
	"testing"
)

// Rows are chosen by their labels, in the table's order; an unknown one is the
// user's mistake.
func TestTable4Chosen(t *testing.T) {
	all, err := table4Chosen(nil)
	if err != nil || len(all) != len(table4Rows)+len(table4Variants) {
		t.Fatalf("%d rows, %v", len(all), err)
	}
	some, err := table4Chosen([]string{"14592 XCD W8 C64", "9216 row-major"})
	if err != nil || len(some) != 2 || some[0].label != "9216 row-major" || some[1].label != "14592 XCD W8 C64" {
		t.Fatalf("%v, %v", some, err)
	}
	var usage *UsageError
	if _, err := table4Chosen([]string{"9216"}); !errors.As(err, &usage) {
		t.Errorf("row 9216: %v", err)
	}
}

// A finished row is kept, and read under the same machine and options only.
func TestTable4Kept(t *testing.T) {
	row := &table4Rows[1]
	o := ReproduceOptions{Machine: "mi355x", Out: t.TempDir()}
	c := &rowCache{out: o.Out, table: "table4"}
	key, err := row.key(o)
	if err != nil {
		t.Fatal(err)
	}
	if readRow[table4Result](c, row.label, key) != nil {
		t.Fatal("a result before any was kept")
	}
	if err := writeRow(c, row.label, key, table4Result{L2: 0.79, TFLOPS: 991}); err != nil {
		t.Fatal(err)
	}
	if r := readRow[table4Result](c, row.label, key); r == nil || r.L2 != 0.79 || r.TFLOPS != 991 {
		t.Fatalf("read back %+v", r)
	}
	for name, other := range map[string]ReproduceOptions{
		"quick": {Machine: "mi355x", Quick: true}, "rounds": {Machine: "mi355x", Rounds: 2},
		"machine": {Machine: "mi350x"}, "set": {Machine: "mi355x", Set: []string{"l2.ways=8"}},
	} {
		if k, err := row.key(other); err != nil || k == key {
			t.Errorf("%s: the same key, %v", name, err)
		}
	}
	if err := os.WriteFile(c.path(row.label), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if readRow[table4Result](c, row.label, key) != nil {
		t.Error("a damaged file is a result")
	}
}

// A quick row goes on at its loop's rate: 36 more K steps of 1000 cycles in each
// of 7 rounds add 252,000 cycles.
func TestTable4QuickK(t *testing.T) {
	for size, want := range map[int]int{9216: 1152, 14592: 1792} {
		r := table4Row{size: size}
		if got := r.quickK(); got != want || got%128 != 0 {
			t.Errorf("%d: K %d, want %d", size, got, want)
		}
	}
}
