package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// flipped are the launches whose objects FuzzFlippedBits damages.
var flipped = []string{"triton_vadd.gfx950", "triton_layernorm.gfx942", "triton_rope.gfx950", "clang_hand.gfx950", "clang_abi.gfx942", "clang_indexed.gfx950", "triton_gemm.gfx950"}

// flipBits runs a launch with bits of its object flipped: it ends by itself, with
// one line that says why unless it runs.
func flipBits(t testing.TB, files map[string]string, name, mode string, bits ...uint32) error {
	text := files[name]
	_, after, _ := strings.Cut(text, "code_object: ")
	object, _, _ := strings.Cut(after, "\n")
	data, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bits {
		data[int(b/8)%len(data)] ^= 1 << (b % 8)
	}
	dir := t.TempDir()
	damaged, file := filepath.Join(dir, "damaged.co"), filepath.Join(dir, "l.yaml")
	for path, b := range map[string][]byte{damaged: data, file: []byte(strings.Replace(text, object, damaged, 1))} {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cpu := name[strings.LastIndexByte(name, '.')+1:]
	o := LaunchOptions{File: file, MaxCycles: 20_000, RunOptions: RunOptions{Arch: suiteMachines[cpu], Mode: mode, Threads: 1,
		Set: []string{"chip.xcds=1", "chip.cus_per_xcd=2", "chip.shader_engines=1"}}}
	_, err = RunLaunch(o)
	if err != nil {
		if first, rest, more := strings.Cut(err.Error(), "\n"); len(first) < 20 || more && !strings.Contains(first, "deadlock") {
			return fmt.Errorf("%s in %s mode with bits %d flipped: %q and %d bytes more", name, mode, bits, first, len(rest))
		}
	}
	return nil
}

// FuzzFlippedBits damages code objects anywhere and runs them in every mode.
func FuzzFlippedBits(f *testing.F) {
	files := launchFiles(f)
	for i, name := range flipped {
		if files[name] == "" {
			f.Fatalf("there is no launch %s", name)
		}
		f.Add(uint8(i), uint8(i), uint32(8*0x700+37*i), uint32(0))
	}
	f.Fuzz(func(t *testing.T, which, mode uint8, a, b uint32) {
		if err := flipBits(t, files, flipped[int(which)%len(flipped)], Modes[int(mode)%len(Modes)], a, b); err != nil {
			t.Error(err)
		}
	})
}
