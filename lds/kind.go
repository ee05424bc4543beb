package lds

import "strings"

// Lanes is the number of lanes of a wave.
const Lanes = 64

// Kind is what an LDS instruction asks of the banks: direction and bytes per
// lane and address. Two-address forms (ds_read2, ds_write2) are two accesses of
// the one-address kind.
type Kind uint8

// Access kinds.
const (
	ReadB8 Kind = iota
	ReadB16
	ReadB32
	ReadB64
	ReadB96
	ReadB128
	ReadB64Tr // ds_read_b64_tr_b16, _tr_b8, _tr_b4
	ReadB96Tr // ds_read_b96_tr_b6
	WriteB8
	WriteB16
	WriteB32
	WriteB64
	WriteB96
	WriteB128
	AtomicB32
	AtomicB64
	Permute // ds_permute, ds_bpermute, ds_swizzle: the crossbar, no banks
	NumKinds
)

// kindFacts are the properties of a kind that hold on every architecture.
type kindFacts struct {
	name  string
	bytes int // per lane
	align int // natural alignment in bytes: below it the request is split
	unit  int // bytes that the banks arbitrate as one
	write bool
}

// Conflicts are arbitrated on naturally aligned units: the bank sweeps of
// HipKittens show a conflict at exact multiples of the bank count only, never
// at the offsets between where dwords would overlap. A 96-bit access uses a
// 16-byte unit of which it leaves a quarter idle; a narrow one uses a dword.
var facts = [NumKinds]kindFacts{
	ReadB8:    {"read_b8", 1, 1, 4, false},
	ReadB16:   {"read_b16", 2, 2, 4, false},
	ReadB32:   {"read_b32", 4, 4, 4, false},
	ReadB64:   {"read_b64", 8, 8, 8, false},
	ReadB96:   {"read_b96", 12, 16, 16, false},
	ReadB128:  {"read_b128", 16, 16, 16, false},
	ReadB64Tr: {"read_b64_tr", 8, 8, 8, false},
	ReadB96Tr: {"read_b96_tr", 12, 16, 16, false},
	WriteB8:   {"write_b8", 1, 1, 4, true},
	WriteB16:  {"write_b16", 2, 2, 4, true},
	WriteB32:  {"write_b32", 4, 4, 4, true},
	WriteB64:  {"write_b64", 8, 8, 8, true},
	WriteB96:  {"write_b96", 12, 16, 16, true},
	WriteB128: {"write_b128", 16, 16, 16, true},
	AtomicB32: {"atomic_b32", 4, 4, 4, true},
	AtomicB64: {"atomic_b64", 8, 8, 8, true},
	Permute:   {"permute", 4, 1, 4, false},
}

// String returns the kind's name, as in "read_b128".
func (k Kind) String() string {
	if k < NumKinds {
		return facts[k].name
	}
	return "unknown"
}

// Bytes is the number of bytes per lane and address.
func (k Kind) Bytes() int { return facts[k].bytes }

// Write reports whether the access writes LDS; an atomic does.
func (k Kind) Write() bool { return facts[k].write }

// Atomic reports whether the access is a read-modify-write.
func (k Kind) Atomic() bool { return k == AtomicB32 || k == AtomicB64 }

// ReadKind returns the kind of a plain read of bytes per lane (1, 2, 4, 8, 12
// or 16).
func ReadKind(bytes int) (Kind, bool) { return bySize(bytes, ReadB8) }

// WriteKind returns the kind of a plain write of bytes per lane (1, 2, 4, 8,
// 12 or 16).
func WriteKind(bytes int) (Kind, bool) { return bySize(bytes, WriteB8) }

func bySize(bytes int, first Kind) (Kind, bool) {
	for i, b := range [...]int{1, 2, 4, 8, 12, 16} {
		if b != bytes {
			continue
		}
		if first == ReadB8 {
			return [...]Kind{ReadB8, ReadB16, ReadB32, ReadB64, ReadB96, ReadB128}[i], true
		}
		return [...]Kind{WriteB8, WriteB16, WriteB32, WriteB64, WriteB96, WriteB128}[i], true
	}
	return 0, false
}

var kindOfOp = map[string]Kind{
	"ds_read_u8": ReadB8, "ds_read_i8": ReadB8, "ds_read_u16": ReadB16, "ds_read_i16": ReadB16,
	"ds_read_u8_d16": ReadB8, "ds_read_u8_d16_hi": ReadB8, "ds_read_i8_d16": ReadB8, "ds_read_i8_d16_hi": ReadB8,
	"ds_read_u16_d16": ReadB16, "ds_read_u16_d16_hi": ReadB16,
	"ds_read_b32": ReadB32, "ds_read_b64": ReadB64, "ds_read_b96": ReadB96, "ds_read_b128": ReadB128,
	"ds_read_addtid_b32": ReadB32,
	"ds_read2_b32":       ReadB32, "ds_read2st64_b32": ReadB32, "ds_read2_b64": ReadB64, "ds_read2st64_b64": ReadB64,
	"ds_read_b64_tr_b16": ReadB64Tr, "ds_read_b64_tr_b8": ReadB64Tr, "ds_read_b64_tr_b4": ReadB64Tr,
	"ds_read_b96_tr_b6": ReadB96Tr,
	"ds_write_b8":       WriteB8, "ds_write_b8_d16_hi": WriteB8, "ds_write_b16": WriteB16, "ds_write_b16_d16_hi": WriteB16,
	"ds_write_b32": WriteB32, "ds_write_b64": WriteB64, "ds_write_b96": WriteB96, "ds_write_b128": WriteB128,
	"ds_write_addtid_b32": WriteB32,
	"ds_write2_b32":       WriteB32, "ds_write2st64_b32": WriteB32, "ds_write2_b64": WriteB64, "ds_write2st64_b64": WriteB64,
	"ds_append": AtomicB32, "ds_consume": AtomicB32, // one add for the wave
	"ds_permute_b32": Permute, "ds_bpermute_b32": Permute, "ds_swizzle_b32": Permute,
}

// atomicStems are the operations of the atomics, between "ds_" and the type.
var atomicStems = []string{
	"add", "sub", "rsub", "inc", "dec", "min", "max", "and", "or", "xor", "mskor",
	"cmpst", "wrxchg", "condxchg32", "wrap", "pk_add",
}

// KindOf returns the kind of an instruction by its mnemonic, and the number of
// addresses per lane (2 for the read2, write2 and wrxchg2 forms).
func KindOf(op string) (k Kind, addresses int, ok bool) {
	addresses = 1
	if strings.HasPrefix(op, "ds_read2") || strings.HasPrefix(op, "ds_write2") {
		addresses = 2
	}
	if k, ok = kindOfOp[op]; ok {
		return k, addresses, true
	}
	body, found := strings.CutPrefix(op, "ds_")
	if !found {
		return 0, 0, false
	}
	k = AtomicB32
	if strings.HasSuffix(body, "64") {
		k = AtomicB64
	}
	if strings.HasPrefix(body, "wrxchg2") {
		return k, 2, true
	}
	for _, stem := range atomicStems {
		if rest, found := strings.CutPrefix(body, stem); found && strings.HasPrefix(rest, "_") {
			return k, 1, true
		}
	}
	return 0, 0, false
}

// Unit is the number of bytes that the banks arbitrate as one.
func (k Kind) Unit() int { return facts[k].unit }
