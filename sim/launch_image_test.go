package sim

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/codeobj"
)

const imageObject = "../isa/emu/testdata/image.gfx950.co"

// writeNPY stores an array of 64 floats.
func writeNPY(t *testing.T, path string, value func(i int) float32) {
	t.Helper()
	head := "{'descr': '<f4', 'fortran_order': False, 'shape': (64,), }"
	head += strings.Repeat(" ", 128-10-1-len(head)) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
	b = append(b, head...)
	for i := range 64 {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(value(i)))
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Kernels reach a function before them, a constant table, a global and relocated
// pointers in every mode, in the same time whether values are computed or not.
func TestLaunchReachesItsObject(t *testing.T) {
	object, err := filepath.Abs(imageObject)
	if err != nil {
		t.Fatal(err)
	}
	primes := []float32{1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47}
	for kernel, value := range map[string]func(i int) float32{
		"call":  func(i int) float32 { return ((float32(i)*1.5+1)*1.5+1)*1.5 + 1 },
		"look":  func(i int) float32 { return primes[(i+3)&15] },
		"keep":  func(i int) float32 { return float32(63-i) * 3 },
		"point": func(i int) float32 { return []float32{3, 8}[i&1] },
	} {
		want := filepath.Join(t.TempDir(), "want.npy")
		writeNPY(t, want, value)
		text := fmt.Sprintf("code_object: %s\nkernel: %s\ngrid: [1]\nworkgroup: [64]\nargs:\n  - {name: out, type: f32, shape: [64]}\n  - {name: n, type: i32, value: 3}\nexpect: {output: out, file: %s}\n", object, kernel, want)
		cycles := map[string]int64{}
		for _, mode := range []string{"functional", "full", "timing"} {
			r, err := launch(t, text, mode)
			if err != nil {
				t.Errorf("%s, %s mode: %v", kernel, mode, err)
				continue
			}
			if mode != "timing" && (!r.Verify.Passed || r.Verify.Values != 64) {
				t.Errorf("%s, %s mode: %+v", kernel, mode, r.Verify)
			}
			cycles[mode] = r.Cycles
		}
		if cycles["timing"] == 0 || cycles["timing"] != cycles["full"] {
			t.Errorf("%s: %d cycles in timing mode, %d in full", kernel, cycles["timing"], cycles["full"])
		}
	}
}

// An image is loaded once, so that globals keep their values between launches,
// and code that does not ask for the pc has none.
func TestImageIsLoadedOnce(t *testing.T) {
	f, err := codeobj.Open(imageObject)
	if err != nil {
		t.Fatal(err)
	}
	k, _, err := f.Kernel("call")
	if err != nil {
		t.Fatal(err)
	}
	if e := k.Insts[k.Entry]; k.Image == nil || k.Entry == 0 || e.PC != 0x100 || k.Insts[0].PC != 0 {
		t.Errorf("the kernel begins with instruction %d at pc %#x", k.Entry, e.PC)
	}
	m := isa.NewMemory()
	buffer := m.Alloc("buffer", 64)
	for i := range uint32(2) {
		if err := k.Load(m); err != nil {
			t.Fatal(err)
		}
		if r, ok := m.Find(k.Image.Base, k.Image.Size); !ok || len(m.Regions()) != 2 || r.Base >= buffer {
			t.Fatalf("regions %+v", m.Regions())
		}
		const magic = 0x464c457f // the first segment holds the ELF header
		if got := m.Load32(k.Image.Base); got != magic+i {
			t.Errorf("load %d: the image begins with %#x", i, got)
		}
		m.Store32(k.Image.Base, magic+1)
	}
	plain, err := codeobj.Open("../workloads/suite/objects/hand.gfx950.co")
	if err != nil {
		t.Fatal(err)
	}
	if k, _, err = plain.Kernel(""); err != nil || k.Image != nil || k.CodeBase != 0 || k.Entry != 0 {
		t.Errorf("hand: image %v, base %#x, entry %d: %v", k.Image != nil, k.CodeBase, k.Entry, err)
	}
}

// A trace of a kernel with an image replays in the same cycles, and is told apart
// from code of another processor.
func TestReplayOfImage(t *testing.T) {
	object, err := filepath.Abs(imageObject)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, path := filepath.Join(dir, "l.yaml"), filepath.Join(dir, "l.trace")
	text := "code_object: " + object + "\nkernel: point\ngrid: [1]\nworkgroup: [64]\nargs:\n  - {name: out, type: f32, shape: [64]}\n  - {name: n, type: i32, value: 3}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	want, err := RunLaunch(LaunchOptions{File: file, RunOptions: RunOptions{Arch: "mi355x", Mode: "timing", Threads: 1, Trace: path}})
	if err != nil {
		t.Fatal(err)
	}
	if got := mustReplay(t, ReplayOptions{File: path, CodeObject: object}); got.Cycles != want.Cycles {
		t.Errorf("%d cycles, the run %d", got.Cycles, want.Cycles)
	}
	_, err = Replay(ReplayOptions{File: path, CodeObject: objects + "vadd.gfx942.co", Threads: 1})
	if err == nil || !strings.Contains(err.Error(), "recorded on gfx950") {
		t.Errorf("code of another processor, other kernel: %v", err)
	}
}
