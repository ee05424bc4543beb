package main

import (
	"bytes"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSwizzleExitCodes(t *testing.T) {
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"swizzle --help", 0, "whisker swizzle show --grid 48x36", ""},
		{"swizzle show --grid 48x36 -W 5 -C 25", 0, "bijective: every tile is computed once\ntail: the last 128 of 1728 workgroups keep their place", ""},
		{"swizzle show --grid 76x57 -W 8 -C 542", 0, "tail: the last 4332 of 4332 workgroups keep their place: a round of 8 chunks is longer than the grid", ""},
		{"swizzle show --grid 2x4 --order hilbert", 0, "0347\n1256\n", ""},
		{"swizzle show --grid 2x4 --order row-major --first 5 --set dispatch.xcd_offset=4", 0, "4567\n0...\n", ""},
		{"swizzle show --grid 2x8 --order full-range -W 1 --format csv", 0, "workgroup,xcd,row,col\n0,0,0,0\n1,1,0,2\n", ""},

		{"swizzle show --grid 48x36 -W 0 -C 25", 2, "", "window W is 0: it must be from 1 to the grid's 48 rows"},
		{"swizzle show --grid 48x36 --window=-3 -C 25", 2, "", "window W is -3"},
		{"swizzle show --grid 48x36 -W 49 -C 25", 2, "", "window W is 49"},
		{"swizzle show --grid 48x36 -W 5 -C 0", 2, "", "chunk C is 0"},
		{"swizzle show --grid 48x36 -W 5 -C 1729", 2, "", "chunk C is 1729"},
		{"swizzle show --grid 1x7", 2, "", "smaller than the 8 XCDs"},
		{"swizzle show --grid 76x57 --order full-range", 2, "", "is no bijection"},
		{"swizzle show --grid 76x57 --order spiral", 2, "", "unknown --order"},
		{"swizzle show --grid 76x57 --order hilbert -W 3", 2, "", "order hilbert has no window"},
		{"swizzle show --grid 48", 2, "", `--grid is "48"; write it as rows x columns`},
		{"swizzle show --grid 1000000x36", 2, "", `--grid is "1000000x36"; each size must be from 1 to 99999`},
		{"swizzle show --grid 48x0", 2, "", `--grid is "48x0"; each size must be from 1 to 99999`},
		{"swizzle show --grid 48x36 --first=-1", 2, "", "--first is -1"},
		{"swizzle show --grid 48x36 --png nowhere/map.png", 2, "", "nowhere/map.png"},
		{"swizzle estimate --tile 192", 2, "", "--tile"},
		{"swizzle estimate --m 0", 2, "", "--m is 0"},
		{"swizzle estimate --k=-1", 2, "", "--k is -1"},
		{"swizzle estimate --m 1000000 --n 1000000", 2, "", "hbm.capacity_gb"},
		{"swizzle estimate --drift 2", 2, "", "a drift of 2"},
		{"swizzle estimate --dtype int8", 2, "", "--dtype"},
		{"swizzle estimate -C 2000", 2, "", "chunk C is 2000"},
		{"swizzle tune --top=-1 --m 1024 --n 1024 --k 1024", 2, "", "--top is -1"},
		{"swizzle tune --m 256 --n 256", 2, "", "smaller than the 8 XCDs"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(strings.Fields(c.args), &stdout, &stderr); code != c.code {
				t.Errorf("exit code %d, want %d; %s", code, c.code, &stderr)
			}
			if !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("output %q, error %q; want %q and %q", &stdout, &stderr, c.stdout, c.stderr)
			}
		})
	}
}

// The estimates' JSON has the documented keys, the picture is one, and tune's
// first order is no worse than the kernel's own.
func TestSwizzleOutputs(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "map.png")
	var stdout, stderr bytes.Buffer
	if code := run([]string{"swizzle", "show", "--grid", "48x36", "-W", "7", "-C", "216", "--png", picture, "--format", "json"}, &stdout, &stderr); code != 0 {
		t.Fatal(stderr.String())
	}
	var m struct {
		Bijective bool
		Blocks    []struct{ Workgroup, XCD, Row, Col int }
	}
	if err := json.Unmarshal(stdout.Bytes(), &m); err != nil || !m.Bijective || len(m.Blocks) != 1728 {
		t.Errorf("%v: %+v", err, m)
	}
	f, err := os.Open(picture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Error(err)
	}

	type row struct {
		Window, Chunk      int
		Lockstep, Drifting *struct {
			L2  float64 `json:"l2_hit"`
			LLC float64 `json:"llc_hit"`
		}
		Traffic struct{ US float64 }
	}
	rows := func(args string) (r []row) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(args), &stdout, &stderr); code != 0 {
			t.Fatal(stderr.String())
		}
		if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	const size = " --m 4096 --n 4096 --k 1024 --format json"
	own := rows("swizzle estimate -W 8 -C 64" + size)
	if len(own) != 1 || own[0].Lockstep.L2 <= 0 || own[0].Lockstep.L2 >= 1 || own[0].Drifting == nil {
		t.Fatalf("%+v", own)
	}
	best := rows("swizzle tune" + size)
	if len(best) != 20 || best[0].Traffic.US > own[0].Traffic.US || best[0].Traffic.US > best[19].Traffic.US {
		t.Errorf("best of %d: %+v, own %+v", len(best), best[0], own[0])
	}
}
