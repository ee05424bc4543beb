package xcd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/cu"
)

// ErrDeadlock is wrapped by the error of a launch that cannot end.
var ErrDeadlock = errors.New("deadlock")

// dumpLines is how many lines of detail an error has at most: a full chip has
// thousands of waves, which mostly wait for the same.
const dumpLines = 64

// deadlock describes a chip in which nothing will ever happen again.
func (c *Chip) deadlock(k Kernel, begin int64) error {
	return c.stuck(k, begin, "nothing is under way in any die")
}

// livelock describes a chip whose waves run without getting anywhere.
func (c *Chip) livelock(k Kernel, begin, since int64) error {
	return c.stuck(k, begin, fmt.Sprintf("since cycle %d no wave has ended, passed a barrier, stored or asked for new data", since-begin))
}

// stuck says in one line when a launch got stuck and at what its waves are, and
// below it what each of them waits for.
func (c *Chip) stuck(k Kernel, begin int64, what string) error {
	at := ""
	if k.Waiting != nil {
		at = k.Waiting()
	}
	if at != "" {
		at = "; " + at
	}
	return fmt.Errorf("%w at cycle %d with %d of %d workgroups ended: %s%s\n%s", ErrDeadlock, c.now-begin, c.finished(), k.Workgroups, what, at, c.dump())
}

func (c *Chip) dump() string {
	var b strings.Builder
	for _, x := range c.xcds {
		if x.busy() {
			b.WriteString(x.dump())
		}
	}
	lines := strings.FieldsFunc(b.String(), func(r rune) bool { return r == '\n' })
	if n := len(lines) - dumpLines; n > 0 {
		lines = append(lines[:dumpLines], fmt.Sprintf("and %d lines more", n))
	}
	return "  " + strings.Join(lines, "\n  ")
}

// place is where a wave is and why it does not go on.
type place struct {
	inst   int
	reason cu.StallReason
	waves  int
}

// placesNamed is how many places the sentence about a deadlock names.
const placesNamed = 3

// waiting says at which instructions the resident waves are, those of most waves
// first.
func (g *GPU) waiting() string {
	var places []place
	for _, c := range g.cus {
		c.EachWave(func(inst int, reason cu.StallReason) {
			i := slices.IndexFunc(places, func(p place) bool { return p.inst == inst && p.reason == reason })
			if i < 0 {
				i = len(places)
				places = append(places, place{inst: inst, reason: reason})
			}
			places[i].waves++
		})
	}
	slices.SortStableFunc(places, func(a, b place) int {
		if a.waves != b.waves {
			return b.waves - a.waves
		}
		return a.inst - b.inst
	})
	var parts []string
	k, others := g.prog.Kernel, 0
	for i, p := range places {
		if i >= placesNamed {
			others += p.waves
			continue
		}
		in := &k.Insts[p.inst]
		parts = append(parts, fmt.Sprintf("%s %s at pc %#x, `%s` (%v)", count(p.waves, "wave"), verb(p.waves), in.PC, in.Text(k.CPU), p.reason))
	}
	if others > 0 {
		parts = append(parts, fmt.Sprintf("%s elsewhere", count(others, "wave")))
	}
	return strings.Join(parts, ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func verb(n int) string {
	if n == 1 {
		return "waits"
	}
	return "wait"
}
