package xcd

import (
	"os"
	"syscall"
	"testing"
	"unsafe"
)

func TestAnonymousMappings(t *testing.T) {
	for _, c := range []struct {
		line   string
		lo, hi uintptr
		ok     bool
	}{
		{"c000000000-c004000000 rw-p 00000000 00:00 0 ", 0xc000000000, 0xc004000000, true},
		{"c000000000-c004000000 rw-p 00000000 00:00 0    [anon: Go: heap]", 0xc000000000, 0xc004000000, true},
		{"c004000000-c008000000 ---p 00000000 00:00 0 ", 0, 0, false},
		{"00400000-01a00000 rw-p 00400000 fe:00 1234   /usr/bin/whisker", 0, 0, false},
		{"7ffc1000-7ffc3000 rw-p 00000000 00:00 0      [stack]", 0, 0, false},
		{"7f00-7g00 rw-p 00000000 00:00 0", 0, 0, false},
		{"", 0, 0, false},
	} {
		lo, hi, ok := anonymous(c.line)
		if ok != c.ok || ok && (lo != c.lo || hi != c.hi) {
			t.Errorf("%q: %x-%x %v", c.line, lo, hi, ok)
		}
	}
}

// TestCollapseKeepsMemory collapses memory of which one huge page is in use and
// one is not: what it holds stays, and what was not in memory does not come.
func TestCollapseKeepsMemory(t *testing.T) {
	m, err := syscall.Mmap(-1, 0, 4*hugePage, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Skip(err)
	}
	defer syscall.Munmap(m)
	lo := uintptr(unsafe.Pointer(&m[0]))
	used := int((lo+hugePage-1)&^(hugePage-1) - lo)
	for i := 0; i < hugePage; i += 512 {
		m[used+i] = byte(i >> 9)
	}
	collapse(lo, lo+4*hugePage)
	for i := 0; i < hugePage; i += 512 {
		if m[used+i] != byte(i>>9) {
			t.Fatalf("byte %d changed", i)
		}
	}
	present := make([]byte, hugePage/os.Getpagesize())
	if _, _, e := syscall.Syscall(syscall.SYS_MINCORE, lo+uintptr(used)+hugePage, hugePage, uintptr(unsafe.Pointer(&present[0]))); e != 0 {
		t.Skip(e)
	}
	for i, p := range present {
		if p&1 != 0 {
			t.Fatalf("page %d of unused memory came", i)
		}
	}
}
