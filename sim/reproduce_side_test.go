package sim

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestEachRow: every row runs once, the costly ones begin first, all share the
// threads, and the error is the first row's that has one.
func TestEachRow(t *testing.T) {
	for _, c := range []struct{ rows, threads, side, each int }{{5, 1, 1, 1}, {5, 2, 2, 1}, {2, 8, 2, 4}, {3, 0, 1, 1}, {40, 64, rowsAtOnce, 8}} {
		var mu sync.Mutex
		var began, threads []int
		running, most := 0, 0
		hold := make(chan bool)
		err := ReproduceOptions{Threads: c.threads}.eachRow(c.rows, func(i int) float64 { return float64(i % 2) }, func(o ReproduceOptions, i int) error {
			mu.Lock()
			began, threads = append(began, i), append(threads, o.Threads)
			running++
			most = max(most, running)
			if running == c.side && len(began) == c.side {
				close(hold) // as many as may run at once do
			}
			mu.Unlock()
			select {
			case <-hold:
			case <-time.After(20 * time.Second):
				return errors.New("too few rows run at once")
			}
			mu.Lock()
			running--
			mu.Unlock()
			return nil
		})
		if err != nil || most != c.side || slices.Min(threads) != c.each || slices.Max(threads) != c.each {
			t.Errorf("%+v: %v, %d at once, threads %v", c, err, most, threads)
		}
		if first := began[:min(c.side, c.rows/2)]; slices.ContainsFunc(first, func(i int) bool { return i%2 == 0 }) {
			t.Errorf("%+v: began with %v", c, first)
		}
		slices.Sort(began)
		for i, n := range began {
			if n != i || len(began) != c.rows {
				t.Fatalf("%+v: ran %v", c, began)
			}
		}
	}
	second, fourth := errors.New("second"), errors.New("fourth")
	ran := 0
	err := ReproduceOptions{Threads: 1}.eachRow(6, func(int) float64 { return 0 }, func(_ ReproduceOptions, i int) error {
		ran++
		return map[int]error{1: second, 3: fourth}[i]
	})
	if err != second || ran != 2 {
		t.Errorf("%v after %d rows, want that of the second after 2", err, ran)
	}
}

// TestRowsTellInTurn: what rows side by side say does not mix.
func TestRowsTellInTurn(t *testing.T) {
	var log bytes.Buffer
	told := map[string]int64{}
	o := ReproduceOptions{Threads: 8, Log: &log, Progress: func(row string, done, _, _ int64) { told[row] += done }}
	err := o.eachRow(8, func(int) float64 { return 0 }, func(o ReproduceOptions, i int) error {
		for range 200 {
			o.say("%s", strings.Repeat(fmt.Sprint(i), 50))
			o.Progress(fmt.Sprint(i), 1, 200, 0)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(log.String())
	for _, l := range lines {
		if l != strings.Repeat(l[:1], 50) {
			t.Fatalf("the line %q is mixed", l)
		}
	}
	if len(lines) != 8*200 || told["0"] != 200 || told["7"] != 200 {
		t.Errorf("%d lines, progress %v", len(lines), told)
	}
}
