package isa

import "testing"

// FuzzDecode feeds arbitrary bytes to the decoder. It must not panic or read
// past its input, and what it accepts must encode to bytes that decode to the
// same instruction (reserved bits may differ).
func FuzzDecode(f *testing.F) {
	for i, v := range readVectors(f) {
		if i%40 == 0 {
			f.Add(uint8(v.cpu), v.bytes)
		}
	}
	f.Fuzz(func(t *testing.T, c uint8, b []byte) {
		cpu := CPU(c) % numCPUs
		in, err := Decode(cpu, b)
		if err != nil {
			return
		}
		if int(in.Size) > len(b) || in.Size == 0 {
			t.Fatalf("size %d of %d bytes", in.Size, len(b))
		}
		text := in.Text(cpu)
		out, err := Encode(cpu, &in)
		if err != nil {
			t.Fatalf("%x decodes to %q, which does not encode: %v", b, text, err)
		}
		again, err := Decode(cpu, out)
		if err != nil || again != in {
			t.Fatalf("%x decodes to\n%+v, encodes to %x and decodes to\n%+v (%v)", b, in, out, again, err)
		}
	})
}

// FuzzParse feeds arbitrary text to the parser; what it accepts must survive
// printing.
func FuzzParse(f *testing.F) {
	for i, v := range readVectors(f) {
		if i%40 == 0 {
			f.Add(uint8(v.cpu), v.text)
		}
	}
	f.Fuzz(func(t *testing.T, c uint8, text string) {
		cpu := CPU(c) % numCPUs
		in, err := Parse(cpu, text)
		if err != nil {
			return
		}
		printed := in.Text(cpu)
		again, err := Parse(cpu, printed)
		if err != nil {
			t.Fatalf("%q prints as %q, which does not parse: %v", text, printed, err)
		}
		if p := again.Text(cpu); p != printed {
			t.Fatalf("%q prints as %q, then as %q", text, printed, p)
		}
	})
}
