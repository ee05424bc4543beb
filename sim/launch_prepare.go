package sim

import (
	"encoding/binary"
	"fmt"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/codeobj"
)

// prepared is a launch that can run.
type prepared struct {
	file   *LaunchFile
	object *codeobj.File
	meta   *codeobj.Meta
	launch *isa.Launch
	args   []*LaunchArg
	bases  map[string]isa.Region // by argument name; unnamed ones by their number
}

// prepare opens the code object, allocates and fills the buffers and builds the
// argument segment.
func (l *LaunchFile) prepare() (*prepared, error) {
	path := l.resolve(l.CodeObject)
	f, err := openObject(path)
	if err != nil {
		return nil, usagef("%s: code_object: %w", l.path, err)
	}
	k, m, err := f.Kernel(l.Kernel)
	if err != nil {
		return nil, usagef("%s: %w", l.path, err)
	}
	p := &prepared{file: l, object: f, meta: m, bases: map[string]isa.Region{}}
	g, err := l.shape(k, m)
	if err == nil {
		p.args, err = l.order(m)
	}
	if err != nil {
		return nil, usagef("%s: %w", l.path, err)
	}
	k.LDSBytes += l.DynamicLDS
	p.launch = &isa.Launch{Kernel: k, Workgroups: g.Workgroups, Memory: isa.NewMemory()}
	if err := k.Load(p.launch.Memory); err != nil {
		return nil, err
	}
	values := make([][]byte, len(p.args))
	explicit := m.Explicit()
	for i, a := range p.args {
		if explicit[i].InLDS() {
			if values[i], err = a.inLDS(k, &explicit[i]); err != nil {
				return nil, usagef("%s: %s: %w", l.path, a.place(i), err)
			}
			continue
		}
		if !a.buffer() {
			if values[i], err = a.bytes(); err != nil {
				return nil, usagef("%s: %s: %w", l.path, a.place(i), err)
			}
			continue
		}
		name := a.label(i)
		r, err := l.allocate(p.launch.Memory, a, name, i)
		if err != nil {
			return nil, usagef("%s: %s: %w", l.path, a.place(i), err)
		}
		p.bases[name] = r
		values[i] = binary.LittleEndian.AppendUint64(nil, r.Base)
	}
	if p.launch.Kernarg, err = codeobj.Kernarg(m, values, g); err != nil {
		return nil, usagef("%s: %w", l.path, err)
	}
	if mem := p.launch.Memory; k.ABI.DispatchPtr {
		p.launch.DispatchPacket = mem.Alloc("dispatch packet", codeobj.PacketBytes)
		mem.Write(p.launch.DispatchPacket, codeobj.Packet(m, g, 0))
	}
	return p, nil
}

// ldsAlign is where a buffer in LDS may begin: where the widest access can.
const ldsAlign = 16

// inLDS puts a buffer behind what the workgroup has in LDS already and gives its
// offset there.
func (a *LaunchArg) inLDS(k *isa.Kernel, m *codeobj.Arg) ([]byte, error) {
	n, err := a.elements()
	if err != nil {
		return nil, err
	}
	at := (k.LDSBytes + ldsAlign - 1) / ldsAlign * ldsAlign
	if n *= elementBytes[a.Type]; n > maxLDSBytes-at || m.Size < 4 {
		return nil, fmt.Errorf("%d bytes of LDS behind %d others, for a pointer of %d bytes", n, at, m.Size)
	}
	k.LDSBytes = at + n
	b := make([]byte, m.Size)
	binary.LittleEndian.PutUint32(b, uint32(at))
	return b, nil
}

// label is the name of an argument, or its number.
func (a *LaunchArg) label(i int) string {
	if a.Name != "" {
		return a.Name
	}
	return fmt.Sprintf("arg%d", i)
}

// place names an argument in a message.
func (a *LaunchArg) place(i int) string {
	if a.Name == "" {
		return fmt.Sprintf("argument %d", i)
	}
	return fmt.Sprintf("argument %d (%s)", i, a.Name)
}

// shape settles grid and workgroup.
func (l *LaunchFile) shape(k *isa.Kernel, m *codeobj.Meta) (codeobj.Grid, error) {
	g := codeobj.Grid{DynamicLDS: l.DynamicLDS}
	var err error
	if g.Workgroups, err = l.grid(); err != nil {
		return g, err
	}
	required := k.WorkgroupSize() > 0
	switch {
	case len(l.Workgroup) > 0:
		if g.Workgroup, err = dims("workgroup", l.Workgroup, maxWorkgroupItems); err != nil {
			return g, err
		}
		if required && g.Workgroup != k.Workgroup {
			return g, fmt.Errorf("workgroup is %v, but kernel %s requires %v", l.Workgroup, k.Name, k.Workgroup)
		}
	case required:
		g.Workgroup = k.Workgroup
	default:
		return g, fmt.Errorf("workgroup is missing; kernel %s takes %s", k.Name, mostWorkItems(m))
	}
	k.Workgroup = g.Workgroup
	if n := k.WorkgroupSize(); m.MaxWorkgroup > 0 && n > m.MaxWorkgroup {
		return g, fmt.Errorf("workgroup is %v, %d work-items, but kernel %s takes %s", l.Workgroup, n, k.Name, mostWorkItems(m))
	}
	return g, nil
}

// maxWorkgroupItems is the most work-items of a workgroup: 16 waves.
const maxWorkgroupItems = 1024

// mostWorkItems says how many work-items of a workgroup a kernel takes. Metadata
// that other tools wrote may leave it open.
func mostWorkItems(m *codeobj.Meta) string {
	if m.MaxWorkgroup == 0 {
		return fmt.Sprintf("at most %d work-items, the hardware's limit: the code object gives none", maxWorkgroupItems)
	}
	return fmt.Sprintf("at most %d work-items", m.MaxWorkgroup)
}
