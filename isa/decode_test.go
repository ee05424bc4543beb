package isa

import (
	"encoding/csv"
	"encoding/hex"
	"os"
	"testing"
)

// vector is one line of testdata/vectors.csv: what llvm-mc 22 makes of a text.
type vector struct {
	cpu   CPU
	text  string
	bytes []byte
}

func readVectors(t testing.TB) []vector {
	t.Helper()
	f, err := os.Open("testdata/vectors.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var v []vector
	for _, r := range rows[1:] {
		b, err := hex.DecodeString(r[2])
		if err != nil {
			t.Fatal(err)
		}
		cpu := GFX942
		if r[0] == "gfx950" {
			cpu = GFX950
		}
		v = append(v, vector{cpu, r[1], b})
	}
	return v
}

func TestDecodeVectors(t *testing.T) {
	bad := 0
	for _, v := range readVectors(t) {
		in, err := Decode(v.cpu, v.bytes)
		if err != nil {
			t.Errorf("%s: %v", v.text, err)
			bad++
		} else if got := in.Text(v.cpu); got != v.text || int(in.Size) != len(v.bytes) {
			t.Errorf("%v %x: got %q of %d bytes, want %q", v.cpu, v.bytes, got, in.Size, v.text)
			bad++
		}
		if err == nil {
			b, err := Encode(v.cpu, &in)
			if err != nil || string(b) != string(v.bytes) {
				t.Errorf("%s: encoded %x, want %x (%v)", v.text, b, v.bytes, err)
				bad++
			}
		}
		if bad > 60 {
			t.Fatal("too many")
		}
	}
}
