package device

import (
	"fmt"
	"slices"
)

// agentRow reads rows of an agent info file.
func (f *csvFile) agentRow(header []string) func([][]byte) error {
	at := map[string]int{}
	for i, h := range header {
		at[columnKey(h)] = i
	}
	return func(c [][]byte) error {
		text := func(key string) string {
			if i, ok := at[key]; ok {
				return string(c[i])
			}
			return ""
		}
		a := Agent{Type: text("agenttype"), Name: text("name"), Product: text("productname")}
		for _, n := range []struct {
			key string
			to  *int
		}{{"nodeid", &a.Node}, {"cucount", &a.CUs}, {"simdcount", &a.SIMDs}, {"numxcc", &a.XCCs}, {"ldssizeinkb", &a.LDSKiB},
			{"maxengineclkfcompute", &a.MaxMHz}, {"maxwavespersimd", &a.WavesASIMD}, {"wavefrontsize", &a.Wavefront}} {
			i, ok := at[n.key]
			if !ok {
				continue
			}
			v, err := parseNumber(c[i])
			if err != nil {
				return fmt.Errorf("%s: %w", header[i], err)
			}
			*n.to = int(v)
		}
		if a.Name == "" {
			return fmt.Errorf("agent %d has no name", a.Node)
		}
		if !slices.Contains(f.m.Agents, a) {
			f.m.Agents = append(f.m.Agents, a)
		}
		return nil
	}
}

// attRow reads rows of stats_*.csv beside a thread trace.
func (f *csvFile) attRow(header []string) func([][]byte) error {
	at := map[string]int{}
	for i, h := range header {
		at[columnKey(h)] = i
	}
	t := &CodeTrace{Folder: f.name}
	f.m.Traces = append(f.m.Traces, t)
	return func(c [][]byte) error {
		var r TracedRow
		if i, ok := at["instruction"]; ok {
			r.ISA = string(c[i])
		}
		for _, n := range []struct {
			key string
			to  *int64
		}{{"vaddr", &r.Address}, {"hitcount", &r.Hits}, {"latency", &r.Latency}, {"stall", &r.Stall}, {"idle", &r.Idle}} {
			i, ok := at[n.key]
			if !ok {
				continue
			}
			v, err := parseNumber(c[i])
			if err != nil {
				return fmt.Errorf("%s: %w", header[i], err)
			}
			*n.to = int64(v)
		}
		t.Instructions = append(t.Instructions, r)
		return nil
	}
}
