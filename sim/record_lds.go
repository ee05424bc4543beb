package sim

import (
	"github.com/whisker-sim/whisker/lds"
	"github.com/whisker-sim/whisker/report/timeline"
)

// viewOps are the accesses that layouts are shown with.
var viewOps = []string{"ds_read_b128", "ds_read_b64", "ds_read_b64_tr_b16", "ds_write_b128", "ds_write_b64"}

// layoutViews shows every layout with and without its swizzle, HipKittens'
// st_16x32 first: the 16x32 bf16 tile of the paper's Figure 4.
func layoutViews(cpu string) []timeline.LayoutView {
	names := []string{"st_16x32"}
	for _, l := range lds.Layouts() {
		if l.Name != names[0] {
			names = append(names, l.Name)
		}
	}
	var out []timeline.LayoutView
	for _, name := range names {
		for _, op := range viewOps {
			for n := 0; ; n++ {
				q := lds.Query{Op: op, Arch: cpu, Source: name, Access: n}
				off, err := lds.AnalyzeQuery(q)
				if err != nil {
					break // no such access, or not on this machine
				}
				v := timeline.LayoutView{Layout: name, Op: op, Access: n, RowBytes: off.Layout.RowBytes, Rows: off.Layout.Rows,
					SwizzleText: off.Layout.SwizzleText, Off: accessOf(off)}
				q.Swizzle = true
				if on, err := lds.AnalyzeQuery(q); err == nil && off.Layout.Swizzled() {
					v.On = accessOf(on)
				}
				out = append(out, v)
			}
		}
	}
	return out
}

func accessOf(r *lds.Report) *timeline.LDSAccess {
	kind, _, _ := lds.KindOf(r.Op)
	a := &timeline.LDSAccess{Inst: -1, Lanes: ^uint64(0), Service: int32(r.ServiceCycles), Conflicts: int32(r.Conflicts), Bytes: kind.Bytes(), Banks: r.Banks, Unit: r.UnitBytes}
	for _, l := range r.Lanes {
		a.Addresses = append(a.Addresses, l.Address)
		a.Phase = append(a.Phase, l.Phase)
	}
	return a
}
