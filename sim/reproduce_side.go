package sim

import (
	"cmp"
	"io"
	"slices"
	"sync"
)

// rowsAtOnce bounds how many rows run side by side, whatever the threads: each
// holds a whole machine, some 0.4 GB.
const rowsAtOnce = 8

// eachRow calls run for rows 0 to n-1 of a table with the options that they are to
// use. Rows run side by side and share o's threads: two runs of one thread take less
// time than one run after the other on two. Those of the highest cost begin first.
// What rows give does not depend on it. The error is that of the first row, in order,
// that has one; no row begins after an error.
func (o ReproduceOptions) eachRow(n int, cost func(i int) float64, run func(o ReproduceOptions, i int) error) error {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cost(b), cost(a)) })
	side := max(1, min(o.Threads, n, rowsAtOnce))
	o.Threads = max(1, o.Threads/side)
	var mu sync.Mutex // of order, errs and what rows tell
	if tell := o.Progress; tell != nil {
		o.Progress = func(row string, done, total, cycle int64) {
			mu.Lock()
			defer mu.Unlock()
			tell(row, done, total, cycle)
		}
	}
	if o.Log != nil {
		o.Log = lockedWriter{&mu, o.Log}
	}
	errs, failed := make([]error, n), false
	var rows sync.WaitGroup
	for range side {
		rows.Go(func() {
			for {
				mu.Lock()
				if len(order) == 0 || failed {
					mu.Unlock()
					return
				}
				i := order[0]
				order = order[1:]
				mu.Unlock()
				err := run(o, i)
				mu.Lock()
				errs[i], failed = err, failed || err != nil
				mu.Unlock()
			}
		})
	}
	rows.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// lockedWriter takes the lines of rows that run side by side.
type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
