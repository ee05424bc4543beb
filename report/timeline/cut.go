package timeline

import (
	"fmt"
	"math"
)

// Cut returns the part of a recording that lies within a window. A window that
// holds nothing of it is an error.
func (r *Recording) Cut(w Window) (*Recording, error) {
	c := *r
	c.CUs = nil
	c.Window = Window{CUs: w.CUs, sets: w.sets, From: max(w.From, r.Window.From), To: min(w.To, r.Window.To)}
	if end := min(c.Window.To, r.End); c.Window.From >= end {
		from, to := r.Window.From, min(r.Window.To, r.End)
		return nil, fmt.Errorf("the window of cycles %s lies outside the recording, which holds cycles %d to %d", w.cycles(), from, to)
	}
	c.End = min(r.End, c.Window.To)
	for i := range r.CUs {
		if u := &r.CUs[i]; w.Has(u.XCD, u.ID) {
			c.CUs = append(c.CUs, r.cutCU(u, c.Window))
		}
	}
	if len(c.CUs) == 0 {
		return nil, fmt.Errorf("the window of CUs %s lies outside the recording, which holds CUs %s", w.CUs, r.Window.CUs)
	}
	return &c, nil
}

func (w *Window) cycles() string {
	if w.To == math.MaxInt64 {
		return fmt.Sprintf("%d:", w.From)
	}
	return fmt.Sprintf("%d:%d", w.From, w.To)
}

func (r *Recording) cutCU(u *CU, w Window) CU {
	c := CU{XCD: u.XCD, ID: u.ID}
	for i := range u.Lanes {
		l := &u.Lanes[i]
		n := Lane{SIMD: l.SIMD, Slot: l.Slot}
		for _, v := range l.Waves {
			if v.Start < w.To && (v.End == 0 || v.End > w.From) {
				n.Waves = append(n.Waves, v)
			}
		}
		var enc laneEncoder
		l.EachSegment(r.Interval, func(s Segment) bool {
			if s.From >= w.To {
				return false
			}
			if s.To <= w.From || s.Kind == Issue && s.From < w.From {
				return true
			}
			if s.Kind != Issue {
				s.From, s.To = max(s.From, w.From), min(s.To, w.To)
			}
			enc.segment(s.From, s.To, int64(r.Interval), s.Kind, s.Inst)
			return true
		})
		n.Segments = enc.buf
		var last MemoryOp
		l.EachMemoryOp(func(m MemoryOp) {
			if m.Issued >= w.From && m.Issued < w.To {
				n.Memory = appendMemoryOp(n.Memory, &last, m)
			}
		})
		if len(n.Waves) > 0 || len(n.Segments) > 0 {
			c.Lanes = append(c.Lanes, n)
		}
	}
	var bank BankUse
	u.EachBankUse(func(b BankUse) {
		if b.From >= w.From && b.From < w.To {
			c.Banks = appendBankUse(c.Banks, &bank, b)
		}
	})
	var rel Release
	u.EachRelease(func(x Release) {
		if x.Arrived >= w.From && x.Arrived < w.To {
			c.Barriers = appendRelease(c.Barriers, &rel, x)
		}
	})
	return c
}
