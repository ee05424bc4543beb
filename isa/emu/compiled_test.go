package emu

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math"
	"math/rand"
	"os"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// The kernels of testdata are Triton 3.6's, compiled from a few lines each; what
// they compute is checked against float64 on the host. Their arguments are
// pointers and numbers at natural alignment, then two null scratch pointers.

// loadKernel reads the one kernel of a code object.
func loadKernel(t *testing.T, file string, cpu isa.CPU, workgroup, dynamicLDS int) *isa.Kernel {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	syms, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	bytesAt := func(addr, n uint64) []byte {
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr+n <= p.Vaddr+p.Filesz {
				return raw[p.Off+addr-p.Vaddr:][:n]
			}
		}
		t.Fatalf("%s: nothing at %#x", file, addr)
		return nil
	}
	sizes := map[string]uint64{}
	for _, s := range syms {
		sizes[s.Name] = s.Size
	}
	for _, s := range syms {
		name, ok := strings.CutSuffix(s.Name, ".kd")
		if !ok {
			continue
		}
		d := bytesAt(s.Value, 64)
		insts, err := isa.DecodeAll(cpu, bytesAt(s.Value+binary.LittleEndian.Uint64(d[16:]), sizes[name]))
		if err != nil {
			t.Fatal(err)
		}
		k := fromDescriptor(d)
		k.Name, k.CPU, k.Insts, k.Workgroup = name, cpu, insts, [3]int{workgroup, 1, 1}
		k.LDSBytes += dynamicLDS
		return k
	}
	t.Fatalf("%s: no kernel", file)
	return nil
}

// fromDescriptor reads the fields of a kernel descriptor that a run needs.
func fromDescriptor(d []byte) *isa.Kernel {
	le := binary.LittleEndian
	rsrc3, rsrc1, rsrc2 := le.Uint32(d[44:]), le.Uint32(d[48:]), le.Uint32(d[52:])
	props, preload := le.Uint16(d[56:]), le.Uint16(d[58:])
	arch, total := int(rsrc3&63+1)*4, int(rsrc1&63+1)*8
	return &isa.Kernel{
		VGPRs: arch, AGPRs: max(total-arch, 0), SGPRs: 104,
		LDSBytes: int(le.Uint32(d)), ScratchBytes: int(le.Uint32(d[4:])),
		ABI: isa.ABI{
			DispatchPtr: props>>1&1 != 0, QueuePtr: props>>2&1 != 0, KernargPtr: props>>3&1 != 0, DispatchID: props>>4&1 != 0,
			PreloadDwords: int(preload & 127), PreloadOffset: int(preload >> 7), UserSGPRs: int(rsrc2 >> 1 & 31),
			WorkgroupID: [3]bool{rsrc2>>7&1 != 0, rsrc2>>8&1 != 0, rsrc2>>9&1 != 0},
		},
	}
}

// compiled is a launch of a compiled kernel being put together.
type compiled struct {
	t *testing.T
	r *rand.Rand
	l isa.Launch
}

func newCompiled(t *testing.T, k *isa.Kernel, x, y int) *compiled {
	return &compiled{t, rand.New(rand.NewSource(1)), isa.Launch{Kernel: k, Workgroups: [3]int{x, y, 1}, Memory: isa.NewMemory()}}
}

func (c *compiled) arg32(v uint32) { c.l.Kernarg = binary.LittleEndian.AppendUint32(c.l.Kernarg, v) }

func (c *compiled) arg64(v uint64) {
	for len(c.l.Kernarg)%8 != 0 {
		c.l.Kernarg = append(c.l.Kernarg, 0)
	}
	c.l.Kernarg = binary.LittleEndian.AppendUint64(c.l.Kernarg, v)
}

// input allocates n normally distributed bf16 and passes their address. Vector
// loads of masked rows may reach a few bytes past the end: allocations have room.
func (c *compiled) input(name string, n int) []float64 {
	base, v := c.output(name, n), make([]float64, n)
	b := make([]byte, 2*n)
	for i := range v {
		u := math.Float32bits(float32(c.r.NormFloat64())) & 0xffff0000
		v[i] = float64(math.Float32frombits(u))
		binary.LittleEndian.PutUint16(b[2*i:], uint16(u>>16))
	}
	c.l.Memory.Write(base, b)
	return v
}

func (c *compiled) output(name string, n int) uint64 {
	base := c.l.Memory.Alloc(name, uint64(2*n+64))
	c.arg64(base)
	return base
}

// run executes with every check and compares bf16 results at base; the error
// may be limit of the largest value.
func (c *compiled) run(base uint64, want []float64, limit float64) {
	c.t.Helper()
	c.arg64(0)
	c.arg64(0)
	if _, err := Run(&c.l, Options{Check: true}); err != nil {
		c.t.Fatal(err)
	}
	b := make([]byte, 2*len(want))
	c.l.Memory.Read(base, b)
	var worst, largest float64
	for i, w := range want {
		got := float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
		if d := math.Abs(got - w); d > worst || d != d {
			worst = d
		}
		largest = max(largest, math.Abs(w))
	}
	if !(worst <= limit*largest) {
		c.t.Errorf("error %g at values up to %g", worst, largest)
	}
}

var compiledCPUs = []isa.CPU{isa.GFX942, isa.GFX950}

// halfUlp is half a unit of bf16's last place, with a little for summation.
const halfUlp = 0x1p-8 * 1.02

func TestCompiledGEMM(t *testing.T) {
	const m, n, k = 256, 256, 128
	for _, cpu := range compiledCPUs {
		t.Run(cpu.String(), func(t *testing.T) {
			c := newCompiled(t, loadKernel(t, "gemm_bf16_256x256x64."+cpu.String()+".hsaco", cpu, 512, 65536), 1, 1)
			a, b, out := c.input("A", m*k), c.input("B", n*k), c.output("C", m*n)
			for _, v := range []uint32{m, n, k, k, k, n} {
				c.arg32(v)
			}
			want := make([]float64, m*n)
			for i := range m {
				for j := range n {
					for x := range k {
						want[i*n+j] += a[i*k+x] * b[j*k+x]
					}
				}
			}
			c.run(out, want, halfUlp)
		})
	}
}

// Layer norm reduces across lanes with DPP moves and masks the tail of a row.
func TestCompiledLayerNorm(t *testing.T) {
	const rows = 3
	for _, cpu := range compiledCPUs {
		for _, n := range []int{2048, 1500} {
			t.Run(cpu.String(), func(t *testing.T) {
				c := newCompiled(t, loadKernel(t, "layernorm_2048."+cpu.String()+".hsaco", cpu, 256, 16), rows, 1)
				x, res := c.input("x", rows*n), c.input("residual", rows*n)
				w, bias, out := c.input("weight", n), c.input("bias", n), c.output("y", rows*n)
				c.arg32(uint32(n))
				c.arg32(math.Float32bits(1e-5))
				want := make([]float64, rows*n)
				for i := range rows {
					row := want[i*n : (i+1)*n]
					var mean, variance float64
					for j := range row {
						row[j] = x[i*n+j] + res[i*n+j]
						mean += row[j] / float64(n)
					}
					for _, v := range row {
						variance += (v - mean) * (v - mean) / float64(n)
					}
					for j := range row {
						row[j] = (row[j]-mean)/math.Sqrt(variance+1e-5)*w[j] + bias[j]
					}
				}
				c.run(out, want, halfUlp)
			})
		}
	}
}

func TestCompiledRotary(t *testing.T) {
	const seq, heads = 64, 2
	for _, cpu := range compiledCPUs {
		t.Run(cpu.String(), func(t *testing.T) {
			c := newCompiled(t, loadKernel(t, "rope_d128."+cpu.String()+".hsaco", cpu, 256, 0), heads, seq/32)
			x, cos, sin := c.input("x", heads*seq*128), c.input("cos", seq*64), c.input("sin", seq*64)
			out := c.output("y", heads*seq*128)
			c.arg32(seq)
			want := make([]float64, heads*seq*128)
			for row := range heads * seq {
				for d := range 64 {
					lo, s := row*128+d, row%seq*64+d
					want[lo] = x[lo]*cos[s] - x[lo+64]*sin[s]
					want[lo+64] = x[lo+64]*cos[s] + x[lo]*sin[s]
				}
			}
			c.run(out, want, halfUlp)
		})
	}
}

// Attention uses transposing LDS reads and lane swaps on gfx950, ds_bpermute on
// gfx942, and the division chain on both. P is rounded to bf16 on the way.
func TestCompiledAttention(t *testing.T) {
	const seq = 128
	for _, cpu := range compiledCPUs {
		t.Run(cpu.String(), func(t *testing.T) {
			c := newCompiled(t, loadKernel(t, "attn_fwd_d128."+cpu.String()+".hsaco", cpu, 256, 32768), seq/128, 1)
			q, k, v := c.input("q", seq*128), c.input("k", seq*128), c.input("v", seq*128)
			out := c.output("o", seq*128)
			scale := float32(math.Log2E / math.Sqrt(128))
			c.arg32(seq)
			c.arg32(math.Float32bits(scale))
			want := make([]float64, seq*128)
			for i := range seq {
				var p [seq]float64
				var sum float64
				for j := range p {
					for d := range 128 {
						p[j] += q[i*128+d] * k[j*128+d]
					}
					p[j] = math.Exp2(p[j] * float64(scale))
					sum += p[j]
				}
				for j := range p {
					for d := range 128 {
						want[i*128+d] += p[j] / sum * v[j*128+d]
					}
				}
			}
			c.run(out, want, 4*halfUlp)
		})
	}
}
