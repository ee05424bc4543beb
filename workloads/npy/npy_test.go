package npy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func file(header, data string) []byte {
	for (len(header)+11)%64 != 0 {
		header += " "
	}
	header += "\n"
	return []byte("\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), byte(len(header) >> 8)}) + header + data)
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		header, data string
		want         Array
	}{
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }", "abcdefgh", Array{"f32", []int{2, 1}, []byte("abcdefgh")}},
		{"{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "abc", Array{"u8", []int{3}, []byte("abc")}},
		{"{'descr': '<i8', 'fortran_order': True, 'shape': (), }", "abcdefgh", Array{"i64", nil, []byte("abcdefgh")}},
	} {
		got, err := Parse(file(c.header, c.data))
		if err != nil {
			t.Error(err)
		} else if d := cmp.Diff(c.want, *got); d != "" {
			t.Errorf("%s:\n%s", c.header, d)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct{ header, want string }{
		{"{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "big-endian"},
		{"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", "Fortran"},
		{"{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "c8"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "8 bytes of data; there are 4"},
		{"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }", "too large"},
		{"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "plain array"},
	} {
		if _, err := Parse(file(c.header, "abcd")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", c.header, err, c.want)
		}
	}
	good := file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "abcd")
	for n := range good {
		if _, err := Parse(good[:n]); err == nil {
			t.Errorf("%d of %d bytes were accepted", n, len(good))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "abcd"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = Parse(b) })
}
