package lds

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestReportText(t *testing.T) {
	for _, c := range []struct {
		golden string
		q      Query
	}{
		{"st_16x32_swizzled.txt", Query{Op: "ds_read_b128", Arch: "mi355x", Source: "st_16x32", Swizzle: true}},
		{"st_16x32_plain.txt", Query{Op: "ds_read_b128", Arch: "mi355x", Source: "st_16x32"}},
		{"stride256_b64.txt", Query{Op: "ds_read_b64", Arch: "gfx942", Source: "stride=256"}},
		{"unaligned.txt", Query{Op: "ds_read_b128", Arch: "gfx950", Source: "stride=20"}},
		{"st_cdna3_b128.txt", Query{Op: "ds_read_b128", Arch: "mi325x", Source: "st_cdna3"}},
	} {
		r, err := AnalyzeQuery(c.q)
		if err != nil {
			t.Fatalf("%s: %v", c.golden, err)
		}
		var b bytes.Buffer
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "report", c.golden)
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), b.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.golden, d)
		}
	}
}

func TestReportJSON(t *testing.T) {
	r, err := AnalyzeQuery(Query{Op: "ds_read_b128", Arch: "mi355x", Source: "st_16x32"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		ServiceCycles int `json:"service_cycles"`
		Conflicts     int `json:"conflicts"`
		WithSwizzle   struct {
			Conflicts int `json:"conflicts"`
		} `json:"with_swizzle"`
		Phases []struct {
			Lanes      string `json:"lanes"`
			Cycles     int    `json:"cycles"`
			WorstLanes []int  `json:"worst_lanes"`
		} `json:"phases"`
		Lanes []struct {
			FirstBank int `json:"first_bank"`
			LastBank  int `json:"last_bank"`
		} `json:"lanes"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.ServiceCycles != 8 || got.Conflicts != 4 || got.WithSwizzle.Conflicts != 0 || len(got.Phases) != 4 ||
		got.Phases[0].Lanes != "0-3,12-15,20-27" || got.Phases[0].Cycles != 2 || len(got.Phases[0].WorstLanes) != 2 ||
		len(got.Lanes) != 64 || got.Lanes[1].FirstBank != 16 || got.Lanes[1].LastBank != 19 {
		t.Errorf("%s", text)
	}
}

func TestQueryErrors(t *testing.T) {
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{Op: "ds_read_b7", Arch: "mi355x", Source: "stride=4"}, "unknown LDS instruction"},
		{Query{Op: "ds_read2_b32", Arch: "mi355x", Source: "stride=4"}, "two addresses"},
		{Query{Op: "ds_bpermute_b32", Arch: "mi355x", Source: "stride=4"}, "no bank"},
		{Query{Op: "ds_read_b64_tr_b16", Arch: "mi300x", Source: "stride=8"}, "gfx942 has no ds_read_b64_tr_b16"},
		{Query{Op: "ds_read_b32", Arch: "h100", Source: "stride=4"}, "mi300x"},
		{Query{Op: "ds_read_b32", Arch: "mi300x", Source: "st_9x9"}, "st_16x32"},
		{Query{Op: "ds_read_b32", Arch: "mi300x", Source: "strid=4"}, "address source"},
		{Query{Op: "ds_read_b32", Arch: "mi300x", Source: ""}, "unknown layout"},
		{Query{Op: "ds_read_b32", Arch: "mi300x", Source: "stride=-4"}, "stride=-4"},
		{Query{Op: "ds_read_b32", Arch: "mi300x", Source: "stride=4096"}, "lane 16 reaches"},
		{Query{Op: "ds_read_b32", Arch: "mi300x", Source: "addresses=testdata/absent"}, "no such file"},
		{Query{Op: "ds_read_b32", Arch: "mi300x", Source: "addresses=testdata"}, "directory"},
		{Query{Op: "ds_read_b128", Arch: "mi355x", Source: "st_16x32", Access: 1}, "numbered from 0"},
		{Query{Op: "ds_read_b128", Arch: "mi325x", Source: "st_cdna3", Swizzle: true}, "not contiguous"},
	} {
		if _, err := AnalyzeQuery(c.q); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.q, err, c.want)
		}
	}
}

func addressText(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d\n", i*4)
	}
	return b.String()
}

func TestParseAddresses(t *testing.T) {
	got, err := ParseAddresses(strings.NewReader("# a comment\n0x10, 8 # two\n"+addressText(62)), "f", 65536, 4)
	if err != nil || got[0] != 16 || got[1] != 8 || got[63] != 61*4 {
		t.Errorf("%v, %v", got, err)
	}
	for _, c := range []struct{ text, want string }{
		{"", "f:1: 0 addresses"},
		{addressText(63), "f:63: 63 addresses"},
		{addressText(65), "f:65: more than"},
		{"0\n4 x\n", `f:2: "x" is no address`},
		{"-4\n", "f:1:"},
		{"65534\n", "f:1: address 65534 of lane 0"},
		{"0xffffffffffffffff\n", "beyond the 65536 bytes"},
		{"99999999999999999999999\n", "f:1:"},
	} {
		if _, err := ParseAddresses(strings.NewReader(c.text), "f", 65536, 4); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func FuzzParseAddresses(f *testing.F) {
	f.Add(addressText(64))
	f.Add("0x1,2 3#4\n")
	f.Add("-1 99999999999999999999")
	f.Fuzz(func(t *testing.T, text string) {
		addr, err := ParseAddresses(strings.NewReader(text), "f", 65536, 16)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("%q: error without a place: %v", text, err)
			}
			return
		}
		for i, a := range addr {
			if a > 65536-16 {
				t.Errorf("lane %d: address %d accepted", i, a)
			}
		}
	})
}
