package isa

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// llvmTool finds an LLVM 22 program. Without it the test is skipped, or fails
// when REQUIRE_LLVM=1 says that it must run.
func llvmTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("REQUIRE_LLVM") == "1" {
			t.Fatalf("REQUIRE_LLVM=1 and %v", err)
		}
		t.Skip(err)
	}
	return path
}

// assembled is what llvm-mc makes of one line: bytes and its own spelling, or
// an error.
type assembled struct {
	text  string
	bytes []byte
	err   string
}

var (
	errorLine    = regexp.MustCompile(`^<stdin>:(\d+):\d+: error: (.*)`)
	encodingLine = regexp.MustCompile(`^\t(.*?)\s*(?:;|//) encoding: \[(.*)\]`)
)

// llvmAssemble runs all lines through one llvm-mc.
func llvmAssemble(t *testing.T, cpu CPU, lines []string) []assembled {
	t.Helper()
	cmd := exec.Command(llvmTool(t, "llvm-mc-22"), "-triple=amdgcn-amd-amdhsa", "-mcpu="+cpu.String(), "-show-encoding")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && stderr.Len() == 0 {
		t.Fatal(err)
	}
	out := make([]assembled, len(lines))
	for _, l := range strings.Split(stderr.String(), "\n") {
		if m := errorLine.FindStringSubmatch(l); m != nil {
			n, _ := strconv.Atoi(m[1])
			out[n-1].err = m[2]
		}
	}
	next := 0
	for _, l := range strings.Split(stdout.String(), "\n") {
		m := encodingLine.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		for next < len(out) && out[next].err != "" {
			next++
		}
		b, err := hex.DecodeString(strings.NewReplacer("0x", "", ",", "", "A", "", "'", "").Replace(m[2]))
		if err != nil || next == len(out) {
			t.Fatalf("cannot match %q: %v", l, err)
		}
		out[next].text, out[next].bytes = strings.ReplaceAll(m[1], "\t", " "), b
		next++
	}
	return out
}

// llvmDisassemble runs all encodings through one llvm-mc and returns a text
// each. They must be valid: llvm-mc 22 crashes on some that are not.
func llvmDisassemble(t *testing.T, cpu CPU, codes [][]byte) []string {
	t.Helper()
	var stdin strings.Builder
	for _, c := range codes {
		for _, b := range c {
			fmt.Fprintf(&stdin, "%#x ", b)
		}
		stdin.WriteByte('\n')
	}
	cmd := exec.Command(llvmTool(t, "llvm-mc-22"), "-triple=amdgcn-amd-amdhsa", "-mcpu="+cpu.String(), "-disassemble")
	cmd.Stdin = strings.NewReader(stdin.String())
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range strings.Split(string(stdout), "\n") {
		if text, ok := strings.CutPrefix(l, "\t"); ok && !strings.HasPrefix(text, ".") {
			text, _, _ = strings.Cut(text, " //")
			out = append(out, strings.ReplaceAll(strings.TrimSpace(text), "\t", " "))
		}
	}
	if len(out) != len(codes) {
		t.Fatalf("%v: llvm-mc disassembles %d instructions as %d", cpu, len(codes), len(out))
	}
	return out
}

// TestEncodeAgainstLLVM prints random instructions of every opcode, has llvm-mc
// assemble the text, compares bytes and spelling, and has llvm-mc disassemble
// the bytes again: at least 100,000 instructions a CPU, a third with -short.
// What llvm-mc refuses is a legality rule that the generator does not know; few
// may be.
func TestEncodeAgainstLLVM(t *testing.T) {
	perOpcode, least := 90, 100_000
	if testing.Short() {
		perOpcode, least = 30, 30_000
	}
	for cpu := GFX942; cpu < numCPUs; cpu++ {
		var insts []Inst
		var lines []string
		rng := rand.New(rand.NewPCG(1, uint64(cpu)))
		for i := range layouts {
			l := &layouts[i]
			if !l.on(cpu) || l.flags&fAlias != 0 {
				continue
			}
			for range perOpcode {
				in := randomInst(rng, l)
				if _, err := Encode(cpu, &in); err != nil {
					t.Errorf("%v", err)
					continue
				}
				insts = append(insts, in)
				lines = append(lines, in.Text(cpu))
			}
		}
		refused, bad := map[string]int{}, 0
		n := 0
		var codes [][]byte
		for i, a := range llvmAssemble(t, cpu, lines) {
			if a.err != "" {
				refused[insts[i].Op.String()+": "+a.err]++
				n++
				if testing.Verbose() {
					t.Logf("%s: %s", lines[i], a.err)
				}
				continue
			}
			b, err := Encode(cpu, &insts[i])
			if err != nil || !bytes.Equal(a.bytes, b) || a.text != lines[i] {
				t.Errorf("%v: %q is %x, LLVM has %q as %x", cpu, lines[i], b, a.text, a.bytes)
				bad++
			} else if err := roundTrip(cpu, b, lines[i]); err != nil {
				t.Error(err)
				bad++
			} else {
				codes = append(codes, b)
			}
			if bad > 40 {
				t.Fatal("too many differences")
			}
		}
		for i, text := range llvmDisassemble(t, cpu, codes) {
			if in, _ := Decode(cpu, codes[i]); in.Listing(cpu) != text {
				t.Errorf("%v: %x is %q, LLVM disassembles %q", cpu, codes[i], in.Listing(cpu), text)
			}
		}
		t.Logf("%v: %d instructions agree, %d refused", cpu, len(codes), n)
		if len(codes) < least {
			t.Errorf("%v: only %d instructions compared, want %d", cpu, len(codes), least)
		}
		if n*50 > len(lines) {
			t.Errorf("%v: llvm-mc refuses %d of %d instructions: %v", cpu, n, len(lines), refused)
		}
	}
}

// roundTrip decodes and parses back to the same bytes and text.
func roundTrip(cpu CPU, b []byte, text string) error {
	d, err := Decode(cpu, b)
	if err != nil {
		return err
	}
	if got := d.Text(cpu); got != text {
		return fmt.Errorf("%v: %x decodes to %q, want %q", cpu, b, got, text)
	}
	p, err := Parse(cpu, text)
	if err != nil {
		return err
	}
	if p != d {
		return fmt.Errorf("%v: %q parses to %+v, decodes to %+v", cpu, text, p, d)
	}
	return nil
}
