package report

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Condition is what a comparison is failed for, such as cycles>+2%: a figure by
// its JSON key, < or >, and either a change (with a sign or a percent sign,
// B against A) or a bound of B itself.
type Condition struct {
	Text     string
	path     string
	greater  bool
	orEqual  bool
	bound    float64
	change   bool
	relative bool
}

var conditionPattern = regexp.MustCompile(`^\s*([A-Za-z_][\w.\- ]*?)\s*([<>])(=?)\s*([+-]?)([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*(%?)\s*$`)

// ParseCondition reads a condition.
func ParseCondition(text string) (Condition, error) {
	m := conditionPattern.FindStringSubmatch(text)
	if m == nil {
		return Condition{}, fmt.Errorf("%q is no condition; write KEY>+N%%, KEY<-N%% or KEY>N, such as cycles>+2%%", text)
	}
	n, err := strconv.ParseFloat(m[5], 64)
	if err != nil {
		return Condition{}, fmt.Errorf("%q: %s is no number", text, m[5])
	}
	if m[4] == "-" {
		n = -n
	}
	c := Condition{Text: text, path: m[1], greater: m[2] == ">", orEqual: m[3] == "=", bound: n, change: m[4] != "" || m[6] != "", relative: m[6] != ""}
	if c.relative {
		c.bound /= 100
	}
	return c, nil
}

// Holds reports whether the condition is met, and the figure that it was held
// against, worded.
func (c Condition) Holds(a, b *Run) (bool, string, error) {
	vb, err := Figure(b, c.path)
	if err != nil {
		return false, "", err
	}
	got, worded := vb.Value, fmt.Sprintf("%s is %g", c.path, vb.Value)
	if c.change {
		va, err := Figure(a, c.path)
		if err != nil {
			return false, "", err
		}
		got = vb.Value - va.Value
		worded = fmt.Sprintf("%s went from %g to %g, by %+g", c.path, va.Value, vb.Value, got)
		if c.relative {
			got = relative(va.Value, vb.Value)
			worded = fmt.Sprintf("%s went from %g to %g, by %+.3f %%", c.path, va.Value, vb.Value, 100*got)
		}
	}
	if c.orEqual && got == c.bound {
		return true, worded, nil
	}
	if c.greater {
		return got > c.bound, worded, nil
	}
	return got < c.bound, worded, nil
}

// relative is the change from a to b over a; from nothing to something it is
// beyond every bound.
func relative(a, b float64) float64 {
	switch {
	case a == b:
		return 0
	case a == 0:
		return math.Inf(int(math.Copysign(1, b)))
	}
	return (b - a) / math.Abs(a)
}
