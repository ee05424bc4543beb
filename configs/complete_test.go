package configs

import (
	"strings"
	"testing"
)

// TestComplete: a machine that was written before a leaf came resolves with the
// built-in machine's value of it, and nothing else changes.
func TestComplete(t *testing.T) {
	whole := mustLoad(t, "mi325x")
	if err := whole.Set("lds.bytes=32768"); err != nil {
		t.Fatal(err)
	}
	drop := func(text string, keys ...string) string {
		var out []string
		for _, line := range strings.Split(text, "\n") {
			gone := false
			for _, k := range keys {
				gone = gone || strings.HasPrefix(strings.TrimSpace(line), k+": {")
			}
			if !gone {
				out = append(out, line)
			}
		}
		return strings.Join(out, "\n")
	}
	for _, c := range []struct {
		name, text, from string
		added            string
	}{
		{"nothing is missing", whole.YAML(), "", ""},
		{"two leaves", drop(whole.YAML(), "barrier_cycles", "branch_taken_cycles"), "mi325x", "cu.barrier_cycles cu.branch_taken_cycles"},
		{"of another name", drop(strings.Replace(whole.YAML(), `"mi325x"`, `"mine"`, 1), "barrier_cycles"), "mi325x", "cu.barrier_cycles"},
	} {
		r, added, from, err := Complete("old", c.text)
		if err != nil || from != c.from || strings.Join(added, " ") != c.added {
			t.Errorf("%s: added %v from %q, %v", c.name, added, from, err)
			continue
		}
		if r.Hash() != whole.Hash() {
			t.Errorf("%s: it is another machine: %+v", c.name, Diff(whole, r))
		}
	}
	for name, text := range map[string]string{
		"no processor":   drop(strings.Replace(whole.YAML(), `"mi325x"`, `"mine"`, 1), "barrier_cycles", "cpu"),
		"an unknown key": whole.YAML() + "surprise: 1\n",
		"a wrong value":  strings.Replace(whole.YAML(), "value: 32768", "value: -1", 1),
	} {
		if _, _, _, err := Complete("old", text); err == nil || !strings.Contains(err.Error(), "old") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
