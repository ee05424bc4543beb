package configs

// Complete resolves a machine that an earlier version of Whisker has written in
// full, as YAML does. Leaves that have come since take the value of the built-in
// machine of the same name, or else of the first built-in one of the same
// processor; added names them, and from that machine. Whatever else is wrong is
// refused as Parse does.
func Complete(label, text string) (r *Resolved, added []string, from string, err error) {
	f, err := parseFile(label, []byte(text))
	if err != nil {
		return nil, nil, "", err
	}
	chain, err := follow([]*file{f}, []string{label}, f, "")
	if err != nil {
		return nil, nil, "", err
	}
	r = apply(chain)
	if added = r.open(); len(added) == 0 {
		return r, nil, "", r.Validate()
	}
	donor, err := r.donor()
	if err != nil || donor == nil {
		return nil, nil, "", r.checkComplete(f.base != "")
	}
	for _, path := range added {
		spec := schemaIndex[path]
		text, _ := spec.text(&donor.machine)
		v, err := spec.parse(text)
		if err != nil {
			return nil, nil, "", errorAt(label, 0, "%s", err)
		}
		r.assign(spec, v, donor.prov[path])
	}
	return r, added, donor.machine.Name, r.Validate()
}

// donor is the built-in machine that r's open leaves are taken from; nil when r
// has neither the name nor the processor of one.
func (r *Resolved) donor() (*Resolved, error) {
	if contains(names, r.machine.Name) {
		return Load(r.machine.Name)
	}
	for _, n := range names {
		m, err := Load(n)
		if err != nil || r.machine.CPU != "" && m.machine.CPU == r.machine.CPU {
			return m, err
		}
	}
	return nil, nil
}
