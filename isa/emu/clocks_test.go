package emu

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// textLaunch is two waves of the lines; a branch names the line it goes to.
func textLaunch(t *testing.T, lines ...string) *isa.Launch {
	t.Helper()
	l := asm(2)
	k := l.Kernel
	k.Insts = nil
	for _, line := range lines {
		text, to, branch := strings.Cut(line, " @")
		if branch {
			text += " 0"
		}
		in, err := isa.Parse(k.CPU, text)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		in.PC, in.Target = uint32(8*len(k.Insts)), -1
		if branch {
			if _, err := fmt.Sscan(to, &in.Target); err != nil {
				t.Fatal(err)
			}
		}
		k.Insts = append(k.Insts, in)
	}
	return l
}

// Waves that meet through a flag: wave 0 writes and adds to the flag, wave 1
// polls it and reads; with one step missing the use is a hazard.
func TestFlagsOrderWaves(t *testing.T) {
	setup := []string{"v_lshlrev_b32_e32 v1, 2, v0", "v_mov_b32_e32 v5, 0x200", "v_mov_b32_e32 v6, 1", "v_xor_b32_e32 v8, 0x100, v1",
		"v_readfirstlane_b32 s2, v0", "s_cmp_lg_u32 s2, 0"}
	const write, wait, add, end = "ds_write_b32 v1, v0", "s_waitcnt lgkmcnt(0)", "ds_add_u32 v5, v6", "s_endpgm"
	// poll at line n until the flag is 64: one from each lane of the other wave.
	poll := func(n int) []string {
		return []string{"ds_read_b32 v7, v5", wait, "v_readfirstlane_b32 s3, v7", "s_cmp_lt_u32 s3, 64", fmt.Sprintf("s_cbranch_scc1 @%d", n)}
	}
	read := []string{"ds_read_b32 v9, v8", wait, end}
	// both joins wave 0's and wave 1's code.
	both := func(first, second []string) []string {
		all := append(append([]string{}, setup...), fmt.Sprintf("s_cbranch_scc1 @%d", len(setup)+1+len(first)))
		return append(append(all, first...), second...)
	}
	cat := func(parts ...[]string) (all []string) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	at := len(setup) + 1
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"write, add; poll, read", both([]string{write, wait, add, end}, cat(poll(at+4), read)), ""},
		{"the write is not awaited", both([]string{write, add, end}, cat(poll(at+3), read)), "had not waited"},
		{"add before the write", both([]string{add, write, wait, end}, cat(poll(at+4), read)), "reads LDS bytes at 0x0"},
		{"no poll", both([]string{write, wait, add, end}, read), "reads LDS bytes at 0x0"},
		{"a sum read without a barrier", both([]string{add, end}, []string{"ds_read_b32 v7, v5", wait, end}), "reads LDS bytes at 0x200"},
		// Wave 1 reads wave 0's words and says so; wave 0 overwrites them.
		{"read, add; poll, overwrite", both(cat(poll(at), []string{write, wait, end}), []string{"ds_read_b32 v9, v8", wait, add, end}), ""},
		{"overwrite without a poll", both([]string{"s_sleep 0", write, wait, end}, []string{"ds_read_b32 v9, v8", wait, add, end}), "no barrier or flag lies between"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := run(t, textLaunch(t, c.lines...))
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.Is(err, ErrHazard) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want a hazard with %q", err, c.want)
			}
		})
	}
}
