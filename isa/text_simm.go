package isa

import (
	"fmt"
	"strconv"
	"strings"
)

// simm16Text prints the 16-bit immediate of SOPK and SOPP by slot kind.
func simm16Text(kind byte, v uint16) string {
	switch kind {
	case 'I':
		return fmt.Sprintf("%#x", v)
	case 'N':
		// Values that an inline constant could hold are decimal.
		if v <= 64 {
			return strconv.Itoa(int(v))
		}
		return fmt.Sprintf("%#x", v)
	case 'B':
		return strconv.Itoa(int(v))
	case 'H':
		return hwregText(v)
	case 'G':
		return gprIdxText(v)
	case 'W':
		return waitcntText(v)
	case 'M':
		return sendmsgText(v)
	}
	return "?"
}

// waitcntText prints the counters that are waited for; vmcnt is split over bits
// 0-3 and 14-15 on gfx9.
func waitcntText(v uint16) string {
	vm, exp, lgkm := v&15|v>>14<<4, v>>4&7, v>>8&15
	all := vm == 63 && exp == 7 && lgkm == 15
	var s []string
	if all || vm != 63 {
		s = append(s, fmt.Sprintf("vmcnt(%d)", vm))
	}
	if all || exp != 7 {
		s = append(s, fmt.Sprintf("expcnt(%d)", exp))
	}
	if all || lgkm != 15 {
		s = append(s, fmt.Sprintf("lgkmcnt(%d)", lgkm))
	}
	return strings.Join(s, " ")
}

// Waitcnt packs the three counters into the immediate of s_waitcnt. A value of
// -1 does not wait.
func Waitcnt(vm, exp, lgkm int) int32 {
	if vm < 0 {
		vm = 63
	}
	if exp < 0 {
		exp = 7
	}
	if lgkm < 0 {
		lgkm = 15
	}
	return int32(int16(vm&15 | vm>>4<<14 | exp&7<<4 | lgkm&15<<8))
}

var hwregNames = map[uint16]string{
	1: "MODE", 2: "STATUS", 3: "TRAPSTS", 4: "HW_ID", 5: "GPR_ALLOC", 6: "LDS_ALLOC", 7: "IB_STS",
	15: "SH_MEM_BASES", 16: "TBA_LO", 17: "TBA_HI", 18: "TMA_LO", 19: "TMA_HI", 20: "XCC_ID",
	21: "SQ_PERF_SNAPSHOT_DATA", 22: "SQ_PERF_SNAPSHOT_DATA1",
	23: "SQ_PERF_SNAPSHOT_PC_LO", 24: "SQ_PERF_SNAPSHOT_PC_HI",
}

func hwregText(v uint16) string {
	id, off, size := v&63, v>>6&31, v>>11+1
	name := strconv.Itoa(int(id))
	if n, ok := hwregNames[id]; ok {
		name = "HW_REG_" + n
	}
	if off == 0 && size == 32 {
		return "hwreg(" + name + ")"
	}
	return fmt.Sprintf("hwreg(%s, %d, %d)", name, off, size)
}

var gprIdxNames = [...]string{"SRC0", "SRC1", "SRC2", "DST"}

func gprIdxText(v uint16) string {
	if v > 15 {
		return fmt.Sprintf("%#x", v)
	}
	var s []string
	for i, n := range gprIdxNames {
		if v>>i&1 != 0 {
			s = append(s, n)
		}
	}
	return "gpr_idx(" + strings.Join(s, ",") + ")"
}

var msgNames = map[uint16]string{
	1: "MSG_INTERRUPT", 2: "MSG_GS", 3: "MSG_GS_DONE", 4: "MSG_SAVEWAVE", 5: "MSG_STALL_WAVE_GEN",
	6: "MSG_HALT_WAVES", 7: "MSG_ORDERED_PS_DONE", 8: "MSG_EARLY_PRIM_DEALLOC",
	9: "MSG_GS_ALLOC_REQ", 10: "MSG_GET_DOORBELL", 15: "MSG_SYSMSG",
}

var gsOpNames = [...]string{"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"}

var sysOpNames = map[uint16]string{
	1: "SYSMSG_OP_ECC_ERR_INTERRUPT", 2: "SYSMSG_OP_REG_RD", 4: "SYSMSG_OP_TTRACE_PC",
}

// sendmsgText prints message, operation and stream. As in LLVM, names win even
// when bits outside the three fields are set; what has no name is printed as
// three numbers, or as one when such bits would be lost.
func sendmsgText(v uint16) string {
	id, op, stream := v&15, v>>4&7, v>>8&3
	name, ok := msgNames[id]
	switch {
	case !ok:
	case id == 2 || id == 3:
		switch {
		case op == 0 && stream == 0 && id == 3:
			return "sendmsg(" + name + ", " + gsOpNames[0] + ")"
		case op > 0 && op < 4:
			return fmt.Sprintf("sendmsg(%s, %s, %d)", name, gsOpNames[op], stream)
		}
	case id == 15:
		if s, ok := sysOpNames[op]; ok && stream == 0 {
			return "sendmsg(" + name + ", " + s + ")"
		}
	case op == 0 && stream == 0:
		return "sendmsg(" + name + ")"
	}
	if v != id|op<<4|stream<<8 {
		return strconv.Itoa(int(v))
	}
	return fmt.Sprintf("sendmsg(%d, %d, %d)", id, op, stream)
}

var dataFormats = [16]string{"INVALID", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10",
	"10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"}

var numFormats = [8]string{"UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT"}

// tbufferFormat names an MTBUF format; the default, 8-bit UNORM, is empty.
func tbufferFormat(v uint8) string {
	d, n := v&15, v>>4&7
	var s []string
	if d != 1 {
		s = append(s, "BUF_DATA_FORMAT_"+dataFormats[d])
	}
	if n != 0 {
		s = append(s, "BUF_NUM_FORMAT_"+numFormats[n])
	}
	return strings.Join(s, ",")
}
