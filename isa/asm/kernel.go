package asm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/codeobj"
)

// directives is one .amdhsa_kernel block (LLVM AMDGPUUsage, "AMDHSA Kernel
// Assembler Directives").
type directives struct {
	name   string
	values map[string]int
}

// defaults are the values of directives that a block leaves out. Those that are
// absent here are 0.
var defaults = map[string]int{
	"system_sgpr_workgroup_id_x": 1, "float_denorm_mode_16_64": 3, "dx10_clamp": 1, "ieee_mode": 1,
	"reserve_vcc": 1, "reserve_xnack_mask": 1,
}

// known lists the directives and the largest value of each.
var known = map[string]int{
	"group_segment_fixed_size": 1 << 20, "private_segment_fixed_size": 1 << 22, "kernarg_size": 1 << 16,
	"next_free_vgpr": 512, "next_free_sgpr": 102, "accum_offset": 256,
	"user_sgpr_count": 16, "user_sgpr_dispatch_ptr": 1, "user_sgpr_queue_ptr": 1, "user_sgpr_kernarg_segment_ptr": 1,
	"user_sgpr_dispatch_id": 1, "user_sgpr_kernarg_preload_length": 16, "user_sgpr_kernarg_preload_offset": 511,
	"user_sgpr_private_segment_size": 1, "enable_private_segment": 1, "uses_dynamic_stack": 1,
	"system_sgpr_workgroup_id_x": 1, "system_sgpr_workgroup_id_y": 1, "system_sgpr_workgroup_id_z": 1,
	"system_sgpr_workgroup_info": 1, "system_vgpr_workitem_id": 2,
	"float_round_mode_32": 0, "float_round_mode_16_64": 0, "float_denorm_mode_32": 3, "float_denorm_mode_16_64": 3,
	"dx10_clamp": 1, "ieee_mode": 1, "fp16_overflow": 1, "tg_split": 0, "reserve_vcc": 1, "reserve_xnack_mask": 1,
	"exception_fp_ieee_invalid_op": 0, "exception_fp_denorm_src": 0, "exception_fp_ieee_div_zero": 0, "exception_fp_ieee_overflow": 0,
	"exception_fp_ieee_underflow": 0, "exception_fp_ieee_inexact": 0, "exception_int_div_zero": 0,
}

func newDirectives(name string) *directives {
	return &directives{name: name, values: map[string]int{}}
}

// set reads one line of the block.
func (d *directives) set(line string) error {
	key, arg, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	arg = strings.TrimSpace(arg)
	name, ok := strings.CutPrefix(key, ".amdhsa_")
	if !ok {
		return fmt.Errorf("%s does not belong into the description of kernel %s", key, d.name)
	}
	limit, ok := known[name]
	if !ok {
		return fmt.Errorf("unknown directive %s", key)
	}
	if _, twice := d.values[name]; twice {
		return fmt.Errorf("%s is given twice", key)
	}
	v, err := strconv.Atoi(arg)
	if err != nil {
		return fmt.Errorf("%s %s: write a number", key, arg)
	}
	if v < 0 || v > limit {
		return fmt.Errorf("%s is %d; it must be from 0 to %d", key, v, limit)
	}
	d.values[name] = v
	return nil
}

func (d *directives) get(name string) int {
	if v, ok := d.values[name]; ok {
		return v
	}
	return defaults[name]
}

// apply fills in what the block says of a kernel.
func (d *directives) apply(k *isa.Kernel) error {
	for _, must := range []string{"next_free_vgpr", "next_free_sgpr", "accum_offset"} {
		if _, ok := d.values[must]; !ok {
			return fmt.Errorf("its description lacks .amdhsa_%s", must)
		}
	}
	on := func(name string) bool { return d.get(name) != 0 }
	accum := d.get("accum_offset")
	if accum < 4 || accum%4 != 0 {
		return fmt.Errorf(".amdhsa_accum_offset is %d; it must be a multiple of 4 from 4 to 256", accum)
	}
	k.VGPRs = min(max(d.get("next_free_vgpr"), 1), accum)
	k.AGPRs = max(d.get("next_free_vgpr")-accum, 0)
	if k.AGPRs > 256 {
		return fmt.Errorf(".amdhsa_next_free_vgpr leaves %d accumulation registers; there are 256", k.AGPRs)
	}
	k.SGPRs = d.get("next_free_sgpr")
	k.LDSBytes, k.ScratchBytes, k.KernargBytes = d.get("group_segment_fixed_size"), d.get("private_segment_fixed_size"), d.get("kernarg_size")
	k.ABI = isa.ABI{
		DispatchPtr: on("user_sgpr_dispatch_ptr"), QueuePtr: on("user_sgpr_queue_ptr"), KernargPtr: on("user_sgpr_kernarg_segment_ptr"),
		DispatchID: on("user_sgpr_dispatch_id"), PrivateSegmentSize: on("user_sgpr_private_segment_size"),
		PreloadDwords: d.get("user_sgpr_kernarg_preload_length"), PreloadOffset: d.get("user_sgpr_kernarg_preload_offset"),
		UserSGPRs:     d.get("user_sgpr_count"),
		WorkgroupID:   [3]bool{on("system_sgpr_workgroup_id_x"), on("system_sgpr_workgroup_id_y"), on("system_sgpr_workgroup_id_z")},
		WorkgroupInfo: on("system_sgpr_workgroup_info"), WorkitemIDDims: d.get("system_vgpr_workitem_id"),
	}
	const dx10, ieee, fp16 = 8, 9, 23 // bits of MODE
	k.ABI.Mode = uint32(d.get("float_denorm_mode_32")<<4 | d.get("float_denorm_mode_16_64")<<6 | d.get("dx10_clamp")<<dx10 |
		d.get("ieee_mode")<<ieee | d.get("fp16_overflow")<<fp16)
	return nil
}

// units makes the kernels once the whole file is read.
func (a *assembler) units() ([]codeobj.Unit, error) {
	if len(a.kernels) == 0 {
		return nil, fmt.Errorf("it describes no kernel: there is no .amdhsa_kernel")
	}
	targets := map[int]int{}
	for _, f := range a.fixups {
		to, ok := a.labels[f.label]
		if !ok {
			return nil, fmt.Errorf("line %d: there is no label %s", f.lineNo, f.label)
		}
		targets[f.inst] = to
	}
	var units []codeobj.Unit
	for _, d := range a.kernels {
		k, err := a.kernel(d, targets)
		if err != nil {
			return nil, fmt.Errorf("kernel %s: %w", d.name, err)
		}
		u := codeobj.Unit{Kernel: k}
		if i := slices.IndexFunc(a.metas, func(m codeobj.Meta) bool { return m.Name == d.name }); i >= 0 {
			u.Meta = &a.metas[i]
			if w := u.Meta.ReqdWorkgroup; len(w) == 3 {
				k.Workgroup = [3]int(w)
			}
		}
		units = append(units, u)
	}
	return units, nil
}

// span is the range of instructions of a function.
func (a *assembler) span(name string) (start, end int, err error) {
	start, ok := a.labels[name]
	if !ok {
		return 0, 0, fmt.Errorf("there is no label %s for its code", name)
	}
	end = len(a.insts)
	for f := range a.funcs {
		if at, ok := a.labels[f]; ok && at > start {
			end = min(end, at)
		}
	}
	if label := a.sizes[name]; label != "" {
		at, ok := a.labels[label]
		switch {
		case label == ".":
		case !ok:
			return 0, 0, fmt.Errorf("there is no label %s for the end of its code", label)
		default:
			end = at
		}
	}
	if end <= start {
		return 0, 0, fmt.Errorf("it has no code")
	}
	return start, end, nil
}

func (a *assembler) kernel(d *directives, targets map[int]int) (*isa.Kernel, error) {
	start, end, err := a.span(d.name)
	if err != nil {
		return nil, err
	}
	k := &isa.Kernel{Name: d.name, CPU: a.cpu, Insts: slices.Clone(a.insts[start:end])}
	if err := d.apply(k); err != nil {
		return nil, err
	}
	for i := range k.Insts {
		in := &k.Insts[i]
		in.PC -= a.insts[start].PC
		if !isa.IsBranch(in.Op) {
			continue
		}
		if to, ok := targets[start+i]; ok {
			if to < start || to >= end {
				return nil, fmt.Errorf("pc %#x: %s goes to a label outside the kernel", in.PC, in.Op)
			}
			dist := (int(a.insts[to].PC) - int(a.insts[start+i].PC) - 4) / 4
			if dist != int(int16(dist)) {
				return nil, fmt.Errorf("pc %#x: %s goes %d dwords away; 16 bits hold the distance", in.PC, in.Op, dist)
			}
			in.Offset = int32(int16(dist))
		}
	}
	if err := resolve(k); err != nil {
		return nil, err
	}
	if k.ABI.PreloadDwords > 0 {
		// Hardware that preloads starts after a prologue of 256 bytes.
		if k.Entry, err = k.At(256); err != nil {
			return nil, fmt.Errorf("its arguments are preloaded, but no code starts 256 bytes after its entry")
		}
	}
	return k, isa.CheckRegisters(k)
}

// resolve sets the targets of branches from their distances.
func resolve(k *isa.Kernel) error {
	for i := range k.Insts {
		in := &k.Insts[i]
		if !isa.IsBranch(in.Op) {
			continue
		}
		to, err := k.At(in.PC + 4 + uint32(int32(int16(in.Offset))*4))
		if err != nil {
			return fmt.Errorf("pc %#x: %s goes to no instruction of the kernel", in.PC, in.Text(k.CPU))
		}
		in.Target = int32(to)
	}
	return nil
}
