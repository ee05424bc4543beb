package isa

import (
	"fmt"
	"strings"
)

// Assembly returns a complete source file for the kernel: code with labels at
// branch targets, the kernel descriptor and the metadata that the HSA runtime
// loads it by. llvm-mc and ld.lld turn it into a code object.
func Assembly(k *Kernel) (string, error) {
	if k.Name == "" || len(k.Insts) == 0 {
		return "", fmt.Errorf("isa: kernel %q has no name or no code", k.Name)
	}
	targets := make(map[int32]bool)
	for i := range k.Insts {
		in := &k.Insts[i]
		l := lookup(k.CPU, in.Op)
		if l == nil {
			if in.Op.IsExtension() {
				return "", fmt.Errorf("it cannot be exported: %w", errExtension(in.Op))
			}
			return "", fmt.Errorf("isa: kernel %s, instruction %d: %v is not on %v", k.Name, i, in.Op, k.CPU)
		}
		if !l.has('B') || in.Target < 0 {
			continue
		}
		if int(in.Target) >= len(k.Insts) {
			return "", fmt.Errorf("isa: kernel %s, instruction %d: branch target %d is outside the kernel", k.Name, i, in.Target)
		}
		targets[in.Target] = true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\t.amdgcn_target \"amdgcn-amd-amdhsa--%v\"\n\t.text\n\t.globl\t%s\n\t.p2align\t8\n\t.type\t%s,@function\n%s:\n",
		k.CPU, k.Name, k.Name, k.Name)
	for i := range k.Insts {
		if targets[int32(i)] {
			fmt.Fprintf(&b, "%s:\n", k.label(int32(i)))
		}
		fmt.Fprintf(&b, "\t%s\n", k.line(i))
	}
	fmt.Fprintf(&b, ".L%s_end:\n\t.size\t%s, .L%s_end-%s\n\n", k.Name, k.Name, k.Name, k.Name)
	k.descriptor(&b)
	k.metadata(&b)
	return b.String(), nil
}

// IsBranch reports whether an opcode goes to a distance that it carries:
// s_branch, s_cbranch_* and s_call_b64.
func IsBranch(op Op) bool { return op < numOps && byOp[op] != nil && byOp[op].has('B') }

func (k *Kernel) label(i int32) string { return fmt.Sprintf(".L%s_%d", k.Name, i) }

// line is the assembly of one instruction, with a label for a branch.
func (k *Kernel) line(i int) string {
	in := &k.Insts[i]
	text := in.Text(k.CPU)
	if in.Target < 0 || !byOp[in.Op].has('B') {
		return text
	}
	// The branch distance is the last operand.
	return text[:strings.LastIndexByte(text, ' ')+1] + k.label(in.Target)
}

// accumOffset is where accumulation registers start in a wave's allocation:
// the architectural ones rounded up to 4, of which there are at least 4.
func (k *Kernel) accumOffset() int { return max((k.VGPRs+3)&^3, 4) }

func (k *Kernel) totalVGPRs() int {
	if k.AGPRs > 0 {
		return k.accumOffset() + k.AGPRs
	}
	return max(k.VGPRs, 1)
}

// userSGPRs counts the SGPRs that the enabled initial values take.
func (a *ABI) userSGPRs() int {
	n := a.PreloadDwords
	for _, on := range []bool{a.DispatchPtr, a.QueuePtr, a.KernargPtr, a.DispatchID} {
		if on {
			n += 2
		}
	}
	if a.PrivateSegmentSize {
		n++
	}
	return max(n, a.UserSGPRs)
}

func bit(v bool) int {
	if v {
		return 1
	}
	return 0
}

// descriptor writes the .amdhsa_kernel block.
func (k *Kernel) descriptor(b *strings.Builder) {
	fmt.Fprintf(b, "\t.rodata\n\t.p2align\t6\n\t.amdhsa_kernel %s\n", k.Name)
	a := &k.ABI
	mode := a.Mode
	if mode == 0 {
		mode = DefaultMode
	}
	for _, d := range []struct {
		name  string
		value int
	}{
		{"group_segment_fixed_size", k.LDSBytes},
		{"private_segment_fixed_size", k.ScratchBytes},
		{"kernarg_size", k.KernargBytes},
		{"user_sgpr_count", a.userSGPRs()},
		{"user_sgpr_dispatch_ptr", bit(a.DispatchPtr)},
		{"user_sgpr_queue_ptr", bit(a.QueuePtr)},
		{"user_sgpr_kernarg_segment_ptr", bit(a.KernargPtr)},
		{"user_sgpr_dispatch_id", bit(a.DispatchID)},
		{"user_sgpr_kernarg_preload_length", a.PreloadDwords},
		{"user_sgpr_kernarg_preload_offset", a.PreloadOffset},
		{"user_sgpr_private_segment_size", bit(a.PrivateSegmentSize)},
		{"enable_private_segment", bit(k.ScratchBytes > 0)},
		{"system_sgpr_workgroup_id_x", bit(a.WorkgroupID[0])},
		{"system_sgpr_workgroup_id_y", bit(a.WorkgroupID[1])},
		{"system_sgpr_workgroup_id_z", bit(a.WorkgroupID[2])},
		{"system_sgpr_workgroup_info", bit(a.WorkgroupInfo)},
		{"system_vgpr_workitem_id", a.WorkitemIDDims},
		{"next_free_vgpr", k.totalVGPRs()},
		{"next_free_sgpr", max(k.SGPRs, 1)},
		{"accum_offset", k.accumOffset()},
		{"float_denorm_mode_32", int(mode >> 4 & 3)},
		{"float_denorm_mode_16_64", int(mode >> 6 & 3)},
		{"dx10_clamp", int(mode >> 8 & 1)},
		{"ieee_mode", int(mode >> 9 & 1)},
	} {
		fmt.Fprintf(b, "\t\t.amdhsa_%s %d\n", d.name, d.value)
	}
	b.WriteString("\t.end_amdhsa_kernel\n\n")
}

// metadata writes the code object's metadata, version 1.2 (code object V5).
func (k *Kernel) metadata(b *strings.Builder) {
	fmt.Fprintf(b, "\t.amdgpu_metadata\n---\namdhsa.version: [ 1, 2 ]\namdhsa.target: amdgcn-amd-amdhsa--%v\namdhsa.kernels:\n  - .name: %s\n    .symbol: %s.kd\n",
		k.CPU, k.Name, k.Name)
	for _, m := range []struct {
		name  string
		value int
	}{
		{"kernarg_segment_size", k.KernargBytes},
		{"kernarg_segment_align", 8},
		{"group_segment_fixed_size", k.LDSBytes},
		{"private_segment_fixed_size", k.ScratchBytes},
		{"wavefront_size", Lanes},
		{"sgpr_count", max(k.SGPRs, 1)},
		{"vgpr_count", k.totalVGPRs()},
		{"agpr_count", k.AGPRs},
		{"max_flat_workgroup_size", k.WorkgroupSize()},
	} {
		fmt.Fprintf(b, "    .%s: %d\n", m.name, m.value)
	}
	if k.WorkgroupSize() > 0 {
		fmt.Fprintf(b, "    .reqd_workgroup_size: [ %d, %d, %d ]\n", k.Workgroup[0], k.Workgroup[1], k.Workgroup[2])
	}
	if k.KernargBytes > 0 {
		b.WriteString("    .args:\n")
		for _, a := range k.Arguments() {
			b.WriteString("      - { ")
			if a.Name != "" {
				fmt.Fprintf(b, ".name: %q, ", a.Name)
			}
			fmt.Fprintf(b, ".offset: %d, .size: %d, .value_kind: ", a.Offset, a.Size)
			if a.Pointer {
				b.WriteString("global_buffer, .address_space: global }\n")
			} else {
				b.WriteString("by_value }\n")
			}
		}
	}
	b.WriteString("...\n\t.end_amdgpu_metadata\n")
}
