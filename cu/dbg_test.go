package cu
import ("testing";"fmt";"github.com/whisker-sim/whisker/isa";"strings";"github.com/whisker-sim/whisker/lds")
func TestDbg(t *testing.T) {
	k,_ := assemble(isa.GFX950, "v_lshlrev_b32 v0, 4, v0\n"+strings.Repeat("ds_read_b128 v[4:7], v0\n",14)+"s_waitcnt lgkmcnt(0)\ns_endpgm")
	b := newBench(t,k,1,testSpec(isa.GFX950),false)
	b.cu.SetHook(func(now int64, simd, slot, inst int) { fmt.Println(now, inst, b.cu.lds.FIFOFree(0), b.cu.lds.Next(), b.cu.ldsNext) })
	b.run(t, 100000)
	for i := range b.st.Inst { fmt.Println(i, b.st.Inst[i].Service, b.st.Inst[i].Conflicts)}
	_ = lds.Never
}
