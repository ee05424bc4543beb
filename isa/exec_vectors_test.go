package isa

import (
	"encoding/csv"
	"encoding/hex"
	"errors"
	"math/rand"
	"os"
	"testing"
)

// Every instruction of the encoding vectors runs or is refused with the right
// error: no operand form may panic.
func TestExecEveryVector(t *testing.T) {
	f, err := os.Open("testdata/vectors.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recs, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	run, refused := 0, map[Op]bool{}
	s := &State{VGPR: make([]VReg, 256), AGPR: make([]VReg, 256), LDS: make([]byte, 4096), Mem: NewMemory()}
	k := &Kernel{Name: "vectors", Insts: make([]Inst, 1), VGPRs: 256, AGPRs: 256}
	for _, r := range recs[1:] {
		cpu := GFX942
		if r[0] == "gfx950" {
			cpu = GFX950
		}
		b, err := hex.DecodeString(r[2])
		if err != nil {
			t.Fatal(err)
		}
		in, err := Decode(cpu, b)
		if err != nil {
			t.Errorf("%s: %v", r[1], err)
			continue
		}
		k.CPU, s.CPU, s.PC, s.Mode, s.Ended = cpu, cpu, 0, DefaultMode, false
		k.Insts[0] = in
		if err := CheckRegisters(k); err != nil {
			t.Errorf("%s: %v", r[1], err)
			continue
		}
		s.SetExec(0xffff0000ffff)
		err = exec1(t, k, &in, s, r[1])
		switch {
		case errors.Is(err, ErrUnsupported):
			refused[in.Op] = true
		case errors.Is(err, ErrOutOfBounds):
		default:
			run++
		}
	}
	if run < 8000 {
		t.Errorf("only %d of %d instructions ran", run, len(recs)-1)
	}
	t.Logf("%d ran; %d opcodes have no semantics", run, len(refused))
}

// FuzzExec: whatever decodes and passes CheckRegisters may fail, never panic.
func FuzzExec(f *testing.F) {
	r := rand.New(rand.NewSource(5))
	for range 2000 {
		b := make([]byte, 12)
		r.Read(b)
		f.Add(b, r.Intn(2) == 0)
	}
	s := &State{VGPR: make([]VReg, 256), AGPR: make([]VReg, 256), LDS: make([]byte, 4096), Mem: NewMemory()}
	k := &Kernel{Name: "fuzz", Insts: make([]Inst, 1), VGPRs: 256, AGPRs: 256}
	f.Fuzz(func(t *testing.T, b []byte, old bool) {
		cpu := GFX950
		if old {
			cpu = GFX942
		}
		in, err := Decode(cpu, b)
		if err != nil {
			return
		}
		k.CPU, s.CPU, s.PC, s.Mode = cpu, cpu, 0, DefaultMode
		k.Insts[0] = in
		if CheckRegisters(k) != nil {
			return
		}
		s.SetExec(^uint64(0))
		_ = exec1(t, k, &in, s, in.Text(cpu))
	})
}

func exec1(t *testing.T, k *Kernel, in *Inst, s *State, text string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: panic: %v", text, p)
		}
	}()
	return Exec(k, in, s)
}
