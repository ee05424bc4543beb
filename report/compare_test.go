package report

import (
	"bytes"
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// comparableRun is a run with counts that do not divide its cycles.
func comparableRun(cycles, seed int64) *Run {
	r := &Run{Version: "1", Kernel: "k", Mode: "timing", Cycles: cycles, ClockMHz: 1000, FLOPs: 1e9,
		Issued: NewCounts(IssueClasses), Stalls: NewCounts(StallReasons), Counters: NewCounts(CounterNames)}
	random := rand.New(rand.NewSource(seed))
	for i := range 20 {
		n := random.Int63n(1 << 40)
		reason := StallReasons[random.Intn(len(StallReasons))].Name
		row := Instruction{PC: uint32(4 * i), Text: fmt.Sprintf("v_op%d v%d", i%3, i*int(1+seed%2)), Hits: 1, IssueCycles: 4, StallCycles: n, Stalls: Counts{{reason, n}}}
		r.Instructions = append(r.Instructions, row)
		r.WaveInstructions++
		r.WaveCycles += n + 4
		for _, err := range []error{r.Issued.Add("valu", 4), r.Stalls.Add(reason, n)} {
			if err != nil {
				panic(err)
			}
		}
	}
	r.Derive()
	if err := r.CheckSums(); err != nil {
		panic(err)
	}
	return r
}

// Every list of a comparison sums to the difference, in cycles and in
// wave-cycles, exactly.
func TestComparisonSums(t *testing.T) {
	for seed := range int64(8) {
		a, b := comparableRun(1_000_003+seed, seed), comparableRun(1_300_007, seed+1)
		c, err := Compare("a", a, "b", b)
		if err != nil {
			t.Fatal(err)
		}
		rows := []Attribution{}
		for _, r := range c.Instructions {
			rows = append(rows, r.Attribution)
		}
		for name, list := range map[string][]Attribution{"reasons": c.Reasons, "opcodes": c.Opcodes, "instructions": rows} {
			var sa, sb, change, waves int64
			for _, r := range list {
				if r.Change != r.B-r.A || r.WaveChange != r.WaveB-r.WaveA {
					t.Fatalf("%s: %+v", name, r)
				}
				sa, sb, change, waves = sa+r.A, sb+r.B, change+r.Change, waves+r.WaveChange
			}
			if sa != a.Cycles || sb != b.Cycles || change != b.Cycles-a.Cycles || waves != b.WaveCycles-a.WaveCycles {
				t.Errorf("seed %d: %s sum to %d, %d, %d and %d wave-cycles", seed, name, sa, sb, change, waves)
			}
		}
	}
}

func TestApportion(t *testing.T) {
	for _, c := range []struct {
		total   int64
		weights []int64
		want    string
	}{
		{10, []int64{1, 1, 1}, "[4 3 3]"},
		{10, []int64{0, 2, 1}, "[0 7 3]"},
		{0, []int64{5}, "[0]"},
		{7, []int64{0, 0}, "[0 0]"},
		{1 << 62, []int64{1 << 62, 1}, "[4611686018427387903 1]"},
	} {
		if got := fmt.Sprint(apportion(c.total, c.weights)); got != c.want {
			t.Errorf("apportion(%d, %v) = %s, want %s", c.total, c.weights, got, c.want)
		}
	}
}

func TestAlignText(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"a b c", "a b c", "0/0 1/1 2/2"},
		{"a b c", "a x c", "0/0 1/- -/1 2/2"},
		{"a b", "x a b", "-/0 0/1 1/2"},
		{"", "a", "-/0"},
		{"a", "", "0/-"},
		{"p n n n q", "p n n q", "0/0 1/1 2/2 3/- 4/3"},
		{"a b a b c", "b a b a d", "0/- 1/0 2/1 3/2 4/- -/3 -/4"},
	} {
		var got []string
		index := func(i int) string {
			if i < 0 {
				return "-"
			}
			return fmt.Sprint(i)
		}
		for _, p := range alignText(strings.Fields(c.a), strings.Fields(c.b)) {
			got = append(got, index(p.a)+"/"+index(p.b))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q with %q: %s, want %s", c.a, c.b, s, c.want)
		}
	}
}

// Whatever the texts, each line is there once, in order, and pairs are equal.
func TestAlignTextKeepsAll(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 300 {
		text := func() []string {
			s := make([]string, r.Intn(30))
			for i := range s {
				s[i] = fmt.Sprint(r.Intn(1 + r.Intn(20)))
			}
			return s
		}
		a, b := text(), text()
		i, j := 0, 0
		for _, p := range alignText(a, b) {
			if p.a >= 0 && p.a != i || p.b >= 0 && p.b != j || p.a >= 0 && p.b >= 0 && a[p.a] != b[p.b] {
				t.Fatalf("%v with %v: pair %v at %d, %d", a, b, p, i, j)
			}
			if p.a >= 0 {
				i++
			}
			if p.b >= 0 {
				j++
			}
		}
		if i != len(a) || j != len(b) {
			t.Fatalf("%v with %v: %d and %d lines paired", a, b, i, j)
		}
	}
}

func TestConditions(t *testing.T) {
	a, b := comparableRun(1000, 1), comparableRun(1021, 1)
	for text, want := range map[string]bool{
		"cycles>+2%": true, "cycles>+3%": false, "cycles>2%": true, "cycles > +2.1%": false, "cycles>=+2.1%": true, "cycles<+3%": true,
		"cycles>+20": true, "cycles>+21": false, "cycles>1020": true, "cycles>1021": false, "cycles>=1021": true, "cycles<-1%": false,
		"tflops<-1%": true, "tflops<-0.01": true, "tflops<-30": false, "l2.hit_rate<0.5": true, "l2.hit_rate>+1%": false, "cycles<1e9": true,
	} {
		c, err := ParseCondition(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, worded, err := c.Holds(a, b); err != nil || got != want {
			t.Errorf("%s: %v (%s), want %v: %v", text, got, worded, want, err)
		}
	}
	for _, text := range []string{"", "cycles", "cycles>", "cycles=3", "cycles>+2%%", "cycles>two", ">3"} {
		if _, err := ParseCondition(text); err == nil {
			t.Errorf("%q was read as a condition", text)
		}
	}
	if c, err := ParseCondition("cycls>+2%"); err != nil {
		t.Error(err)
	} else if _, _, err := c.Holds(a, b); err == nil || !strings.Contains(err.Error(), `no figure "cycls"`) {
		t.Error(err)
	}
}

// The page sums, however few rows it shows; every format has the same figures.
func TestComparisonPage(t *testing.T) {
	c, err := Compare("a.json", comparableRun(1000, 1), "b.json", comparableRun(1021, 2))
	if err != nil {
		t.Fatal(err)
	}
	var page, table bytes.Buffer
	if err := WriteComparison(&page, c, "table", 2); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), "+21\n"); n < 3 {
		t.Errorf("the page shows the sum %d times:\n%s", n, page.String())
	}
	if err := WriteComparison(&table, c, "csv", 2); err != nil || !strings.Contains(table.String(), "cycles,cycles,cycles,1000,1021,21\n") {
		t.Errorf("%v:\n%s", err, table.String())
	}
	a := comparableRun(10, 1)
	a.Instructions = nil
	if c, err = Compare("a", a, "b", a); err != nil || len(c.Notes) != 1 || c.Opcodes != nil {
		t.Errorf("without rows: %+v, %v", c, err)
	}
	if _, err := Compare("a", a, "b", &Run{}); err == nil {
		t.Error("a run without cycles was compared")
	}
}

// The end of a run, when no wave is there, is a reason of its own: it is not smeared over what
// waves did, and the sum is that of the cycles.
func TestCompareWriteBack(t *testing.T) {
	a, b := comparableRun(100_003, 1), comparableRun(107_003, 1)
	b.WriteBackCycles = 7000
	c, err := Compare("a", a, "b", b)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, r := range c.Reasons {
		sum += r.Change
		if want := map[bool]int64{true: 7000}[r.Kind == "end"]; r.Change != want {
			t.Errorf("%s %s: %+d cycles, want %+d", r.Kind, r.Name, r.Change, want)
		}
	}
	if sum != 7000 {
		t.Errorf("the changes sum to %d, want 7000", sum)
	}
	var page strings.Builder
	if err := c.writeText(&page, 10); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "end L2 write-back") {
		t.Errorf("the page does not name it:\n%s", &page)
	}
}
