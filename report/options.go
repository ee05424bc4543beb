package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// options has the fields of Options without its methods.
type options Options

// MarshalJSON writes the options as one object, those of Other behind the
// fields that are set.
func (o Options) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if len(o.Other) == 0 {
		return json.Marshal(options(o))
	}
	b.WriteByte('{')
	for i, s := range o.Other {
		if i > 0 {
			b.WriteByte(',')
		}
		v, err := json.Marshal(s.Value)
		if err != nil {
			return nil, fmt.Errorf("report: option %s: %w", s.Name, err)
		}
		fmt.Fprintf(&b, "%q:%s", s.Name, v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON writes: known keys go to their fields,
// and all of them to Other when there is one that has no field.
func (o *Options) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil {
		return err
	}
	known := map[string]bool{"m": true, "n": true, "k": true, "tile": true, "schedule": true, "mfma": true, "dtype": true, "window": true, "chunk": true}
	foreign := false
	var all []Setting
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var v any
		if err := dec.Decode(&v); err != nil {
			return err
		}
		if n, ok := v.(json.Number); ok {
			if whole, err := n.Int64(); err == nil {
				v = int(whole)
			} else if f, err := n.Float64(); err == nil {
				v = f
			}
		}
		name := fmt.Sprint(key)
		foreign = foreign || !known[name]
		all = append(all, Setting{name, v})
	}
	var own options
	if err := json.Unmarshal(data, &own); err != nil {
		return err
	}
	*o = Options(own)
	if foreign {
		o.Other = all
	}
	return nil
}

// String writes the options as a line: "seq 4096, dim 128".
func (o *Options) String() string {
	var parts []string
	for _, s := range o.Other {
		parts = append(parts, fmt.Sprintf("%s %v", s.Name, s.Value))
	}
	return strings.Join(parts, ", ")
}
