package isa

import (
	"os"
	"strings"
	"testing"
)

// TestTableCoverage compares the opcode table with the mnemonics that llvm-mc
// 22 knows on each CPU, both ways. The counts are what the package promises;
// they may grow and must not fall.
func TestTableCoverage(t *testing.T) {
	for _, c := range []struct {
		cpu       CPU
		mnemonics int // that resolve, suffixed forms and old matrix names included
		opcodes   int
	}{{GFX942, 1537, 1153}, {GFX950, 1638, 1250}} {
		data, err := os.ReadFile("testdata/mnemonics_" + c.cpu.String() + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		known := map[Op]bool{}
		resolved, total := 0, 0
		for _, name := range strings.Fields(string(data)) {
			// DPP on VOP3 exists from gfx11 on; llvm-mc knows the spelling only.
			if strings.HasSuffix(name, "_e64_dpp") {
				continue
			}
			total++
			p := parser{cpu: c.cpu}
			if err := p.opcode(name); err != nil {
				t.Errorf("%v: %v", c.cpu, err)
				continue
			}
			resolved++
			known[p.in.Op] = true
		}
		opcodes := 0
		for op := Op(1); op < numOps; op++ {
			if !Supports(c.cpu, op) {
				continue
			}
			opcodes++
			if !known[op] {
				t.Errorf("%v: %v is not an LLVM mnemonic", c.cpu, op)
			}
		}
		t.Logf("%v: %d of %d mnemonics, %d opcodes", c.cpu, resolved, total, opcodes)
		if resolved < c.mnemonics || opcodes < c.opcodes {
			t.Errorf("%v: coverage fell to %d mnemonics and %d opcodes, want %d and %d",
				c.cpu, resolved, opcodes, c.mnemonics, c.opcodes)
		}
	}
}

// TestTableComplete checks that every opcode constant has a row and that no two
// rows decode from the same code.
func TestTableComplete(t *testing.T) {
	for op := Op(1); op < numOps; op++ {
		if byOp[op] == nil {
			t.Errorf("%v has no row", op)
		}
	}
	seen := map[codeKey]Op{}
	for i := range layouts {
		l := &layouts[i]
		for cpu := GFX942; cpu < numCPUs; cpu++ {
			if !l.on(cpu) || l.flags&fAlias != 0 || l.has('s') {
				continue
			}
			k := codeKey{cpu, l.enc, l.segment(), l.code}
			if other, ok := seen[k]; ok {
				t.Errorf("%v: %v and %v share %v code %#x", cpu, other, l.op, l.enc, l.code)
			}
			seen[k] = l.op
		}
	}
}

func TestSupports(t *testing.T) {
	for _, c := range []struct {
		op       Op
		on3, on4 bool
	}{
		{V_MFMA_F32_16X16X8_XF32, true, false},
		{V_MFMA_F32_16X16X32_BF16, false, true},
		{DS_READ_B64_TR_B16, false, true},
		{BUFFER_LOAD_DWORDX4, true, true},
		{OpInvalid, false, false},
		{numOps + 7, false, false},
	} {
		if a, b := Supports(GFX942, c.op), Supports(GFX950, c.op); a != c.on3 || b != c.on4 {
			t.Errorf("%v: on gfx942 %v, on gfx950 %v, want %v and %v", c.op, a, b, c.on3, c.on4)
		}
	}
}
