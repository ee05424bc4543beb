package isa

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseVectors(t *testing.T) {
	bad := 0
	for _, v := range readVectors(t) {
		in, err := Parse(v.cpu, v.text)
		if err != nil {
			t.Errorf("%v", err)
			bad++
			continue
		}
		b, err := Encode(v.cpu, &in)
		if err != nil || !bytes.Equal(b, v.bytes) {
			t.Errorf("%v %s: encoded %x, want %x (%v)", v.cpu, v.text, b, v.bytes, err)
			bad++
		}
		want, err := Decode(v.cpu, v.bytes)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, in); d != "" {
			t.Errorf("%v %s: parsed and decoded differ (-decoded +parsed):\n%s", v.cpu, v.text, d)
			bad++
		}
		if bad > 20 {
			t.Fatal("too many differences")
		}
	}
}
