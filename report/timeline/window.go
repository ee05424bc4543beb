package timeline

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Window bounds what is recorded or exported: CUs and cycles.
type Window struct {
	CUs  string // as ParseWindow takes them
	From int64  // first cycle
	To   int64  // first cycle after the window

	sets []cuSet
}

// cuSet is a range of CUs of a range of XCDs, both ends included.
type cuSet struct{ xcd, cu [2]int }

// AllCUs names every CU.
const AllCUs = "all"

// ParseWindow reads a window: CUs as a list of XCD.CU, in which either part may
// be a number, a range A-B or *, or "all"; cycles as FROM:TO, in which either end
// may be left out. An empty cycles text is the whole run.
func ParseWindow(cus, cycles string) (Window, error) {
	w := Window{CUs: cus, To: math.MaxInt64}
	if err := w.Parse(); err != nil {
		return w, err
	}
	if cycles == "" {
		return w, nil
	}
	from, to, ok := strings.Cut(cycles, ":")
	if !ok {
		return w, fmt.Errorf("cycles are %q; write them as FROM:TO, such as 1000:5000", cycles)
	}
	for _, e := range []struct {
		text string
		at   *int64
	}{{from, &w.From}, {to, &w.To}} {
		if e.text == "" {
			continue
		}
		v, err := strconv.ParseInt(strings.ReplaceAll(e.text, "_", ""), 10, 64)
		if err != nil || v < 0 {
			return w, fmt.Errorf("cycles are %q; %q is no cycle number from 0", cycles, e.text)
		}
		*e.at = v
	}
	if w.From >= w.To {
		return w, fmt.Errorf("cycles are %q; the window is empty, since it must begin before it ends", cycles)
	}
	return w, nil
}

// Parse reads the CUs field; a window that was read from a file needs it before
// Has.
func (w *Window) Parse() error {
	w.sets = nil
	if w.CUs == AllCUs {
		w.sets = []cuSet{{[2]int{0, math.MaxInt}, [2]int{0, math.MaxInt}}}
		return nil
	}
	for _, item := range strings.Split(w.CUs, ",") {
		x, c, ok := strings.Cut(strings.TrimSpace(item), ".")
		var s cuSet
		if ok {
			ok = parseRange(x, &s.xcd) && parseRange(c, &s.cu)
		}
		if !ok {
			return fmt.Errorf("CUs are %q; write them as XCD.CU, such as 0.0 or 0.0-3,1.*, or as all", w.CUs)
		}
		w.sets = append(w.sets, s)
	}
	return nil
}

func parseRange(text string, r *[2]int) bool {
	if text == "*" {
		*r = [2]int{0, math.MaxInt}
		return true
	}
	a, b, two := strings.Cut(text, "-")
	if !two {
		b = a
	}
	var err [2]error
	r[0], err[0] = strconv.Atoi(a)
	r[1], err[1] = strconv.Atoi(b)
	return err[0] == nil && err[1] == nil && r[0] >= 0 && r[0] <= r[1]
}

// Has reports whether the window holds CU cu of XCD xcd.
func (w *Window) Has(xcd, cu int) bool {
	for _, s := range w.sets {
		if s.xcd[0] <= xcd && xcd <= s.xcd[1] && s.cu[0] <= cu && cu <= s.cu[1] {
			return true
		}
	}
	return false
}

// Count is how many CUs of a machine the window holds. A part of the window that
// the machine lacks is an error.
func (w *Window) Count(xcds, cusPerXCD int) (int, error) {
	for _, s := range w.sets {
		if s.xcd[0] >= xcds || s.cu[0] >= cusPerXCD || s.xcd[1] < math.MaxInt && s.xcd[1] >= xcds || s.cu[1] < math.MaxInt && s.cu[1] >= cusPerXCD {
			return 0, fmt.Errorf("CUs are %q; the machine has XCDs 0 to %d with CUs 0 to %d each", w.CUs, xcds-1, cusPerXCD-1)
		}
	}
	n := 0
	for x := range xcds {
		for c := range cusPerXCD {
			if w.Has(x, c) {
				n++
			}
		}
	}
	return n, nil
}

// Whole reports whether the window leaves no cycle out.
func (w *Window) Whole() bool { return w.From == 0 && w.To == math.MaxInt64 }
