package isa

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// parseSimm16 is the inverse of simm16Text; every kind may also be written as a
// plain number.
func parseSimm16(kind byte, text string) (uint16, error) {
	if v, err := parseInt(text); err == nil {
		if v < -1<<15 || v > 0xffff {
			return 0, fmt.Errorf("%d does not fit 16 bits", v)
		}
		return uint16(v), nil
	}
	switch kind {
	case 'H':
		return parseHwreg(text)
	case 'G':
		return parseGPRIdx(text)
	case 'W':
		return parseWaitcnt(text)
	case 'M':
		return parseSendmsg(text)
	}
	return 0, fmt.Errorf("%q is not an integer", text)
}

func parseWaitcnt(text string) (uint16, error) {
	cnt := map[string]int64{"vmcnt": 63, "expcnt": 7, "lgkmcnt": 15}
	limit := map[string]int64{"vmcnt": 63, "expcnt": 7, "lgkmcnt": 15}
	for _, f := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '&' || r == ',' }) {
		name, value, _ := strings.Cut(f, "(")
		v, err := parseInt(strings.TrimSuffix(value, ")"))
		if _, ok := cnt[name]; !ok || err != nil || v < 0 || v > limit[name] {
			return 0, fmt.Errorf("unknown counter %q", f)
		}
		cnt[name] = v
	}
	return uint16(Waitcnt(int(cnt["vmcnt"]), int(cnt["expcnt"]), int(cnt["lgkmcnt"]))), nil
}

// call splits name(a, b, c) into its trimmed arguments.
func call(text, name string) ([]string, error) {
	if !wrapped(&text, name+"(", ")") {
		return nil, fmt.Errorf("want %s(...), got %q", name, text)
	}
	f := strings.Split(text, ",")
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	return f, nil
}

// nameOrInt looks a name up and falls back to a number.
func nameOrInt(names map[uint16]string, prefix, text string, limit uint64) (uint16, error) {
	for v, n := range names {
		if prefix+n == text {
			return v, nil
		}
	}
	v, err := strconv.ParseUint(text, 0, 16)
	if err != nil || v > limit {
		return 0, fmt.Errorf("unknown name or number %q", text)
	}
	return uint16(v), nil
}

func parseHwreg(text string) (uint16, error) {
	f, err := call(text, "hwreg")
	if err != nil {
		return 0, err
	}
	id, err := nameOrInt(hwregNames, "HW_REG_", f[0], 63)
	if err != nil {
		return 0, err
	}
	off, size := uint16(0), uint16(32)
	switch len(f) {
	case 1:
	case 3:
		v, err := smallInts(f[1]+","+f[2], 2, 32)
		if err != nil || v[0] > 31 || v[1] == 0 {
			return 0, fmt.Errorf("bad bit range in %q", text)
		}
		off, size = v[0], v[1]
	default:
		return 0, fmt.Errorf("want hwreg(id) or hwreg(id, offset, size), got %q", text)
	}
	return id | off<<6 | (size-1)<<11, nil
}

func parseGPRIdx(text string) (uint16, error) {
	f, err := call(text, "gpr_idx")
	if err != nil {
		return 0, err
	}
	var v uint16
next:
	for _, s := range f {
		if s == "" && len(f) == 1 {
			break
		}
		for i, n := range gprIdxNames {
			if s == n {
				v |= 1 << i
				continue next
			}
		}
		return 0, fmt.Errorf("unknown mode %q", s)
	}
	return v, nil
}

func parseSendmsg(text string) (uint16, error) {
	f, err := call(text, "sendmsg")
	if err != nil {
		return 0, err
	}
	id, err := nameOrInt(msgNames, "", f[0], 15)
	if err != nil {
		return 0, err
	}
	var op, stream uint16
	if len(f) > 1 {
		ops := sysOpNames
		if id != 15 {
			ops = map[uint16]string{}
			for i, n := range gsOpNames {
				ops[uint16(i)] = n
			}
		}
		if op, err = nameOrInt(ops, "", f[1], 7); err != nil {
			return 0, err
		}
	}
	if len(f) > 2 {
		if stream, err = nameOrInt(nil, "", f[2], 3); err != nil {
			return 0, err
		}
	}
	return id | op<<4 | stream<<8, nil
}

// parseFormat reads an MTBUF format: [names] or the combined number.
func parseFormat(text string) (uint8, error) {
	if v, err := parseInt(text); err == nil {
		if v < 0 || v > 127 {
			return 0, fmt.Errorf("format %d is not in 0..127", v)
		}
		return uint8(v), nil
	}
	if !wrapped(&text, "[", "]") {
		return 0, fmt.Errorf("want a number or names in brackets")
	}
	d, n := 1, 0
next:
	for _, f := range strings.Split(text, ",") {
		f = strings.TrimSpace(f)
		for i, s := range dataFormats {
			if f == "BUF_DATA_FORMAT_"+s {
				d = i
				continue next
			}
		}
		for i, s := range numFormats {
			if f == "BUF_NUM_FORMAT_"+s {
				n = i
				continue next
			}
		}
		return 0, fmt.Errorf("unknown format %q", f)
	}
	return uint8(d | n<<4), nil
}

// parseSwizzle is the inverse of swizzleText.
func parseSwizzle(text string) (uint16, error) {
	f, err := call(text, "swizzle")
	if err != nil {
		return 0, err
	}
	args := strings.Join(f[1:], ",")
	ints := func(n int, max uint64) []uint16 {
		var v []uint16
		if v, err = smallInts(args, n, max); err != nil {
			return make([]uint16, n)
		}
		return v
	}
	switch f[0] {
	case "FFT":
		return 0xe000 | ints(1, 31)[0], err
	case "ROTATE":
		v := ints(2, 31)
		return 0xc000 | v[0]<<10 | v[1]<<5, err
	case "QUAD_PERM":
		v := ints(4, 3)
		return 0x8000 | v[0] | v[1]<<2 | v[2]<<4 | v[3]<<6, err
	case "SWAP":
		return ints(1, 16)[0]<<10 | 31, err
	case "REVERSE":
		v := ints(1, 32)
		if v[0] == 0 || bits.OnesCount16(v[0]) != 1 {
			return 0, fmt.Errorf("REVERSE wants a power of two")
		}
		return (v[0]-1)<<10 | 31, err
	case "BROADCAST":
		v := ints(2, 32)
		return (32-v[0])&31 | v[1]<<5, err
	case "BITMASK_PERM":
		return parseBitmask(strings.Trim(args, `"`))
	}
	return 0, fmt.Errorf("unknown swizzle %q", f[0])
}

func parseBitmask(s string) (uint16, error) {
	if len(s) != 5 {
		return 0, fmt.Errorf("a bit mask has 5 characters")
	}
	var and, or, xor uint16
	for i := range 5 {
		bit := uint16(16 >> i)
		switch s[i] {
		case 'p':
			and |= bit
		case 'i':
			and |= bit
			xor |= bit
		case '1':
			or |= bit
		case '0':
		default:
			return 0, fmt.Errorf("unknown bit %q", s[i])
		}
	}
	return and | or<<5 | xor<<10, nil
}
