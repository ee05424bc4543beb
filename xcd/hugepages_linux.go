package xcd

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

const (
	hugePage     = 2 << 20 // bytes, on amd64 and on arm64 with pages of 4 KiB
	madvCollapse = 25      // Linux 6.1
)

// collapseHeap asks the host to hold the program's memory in huge pages. The state
// of a whole chip is hundreds of megabytes of which every window reads a part, so
// that with small pages most misses of the host's caches miss its TLB as well. Only
// regions that are in memory for the greater part are collapsed, so that the program
// hardly grows. It is a request: where the host cannot, nothing changes.
func collapseHeap() {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if lo, hi, ok := anonymous(s.Text()); ok {
			collapse(lo, hi)
		}
	}
}

// anonymous parses a line of /proc/self/maps: the addresses of a private mapping
// that can be written and belongs to no file.
func anonymous(line string) (lo, hi uintptr, ok bool) {
	field := strings.Fields(line)
	if len(field) < 5 || field[1] != "rw-p" || field[4] != "0" || len(field) > 5 && strings.HasPrefix(field[5], "[stack") {
		return 0, 0, false
	}
	from, to, _ := strings.Cut(field[0], "-")
	a, err1 := strconv.ParseUint(from, 16, 64)
	b, err2 := strconv.ParseUint(to, 16, 64)
	return uintptr(a), uintptr(b), err1 == nil && err2 == nil
}

// collapse handles the whole huge pages of a mapping.
func collapse(lo, hi uintptr) {
	var present [hugePage / 4096]byte
	pages := hugePage / uintptr(os.Getpagesize())
	for at := (lo + hugePage - 1) &^ (hugePage - 1); at+hugePage <= hi; at += hugePage {
		if _, _, e := syscall.Syscall(syscall.SYS_MINCORE, at, hugePage, uintptr(unsafe.Pointer(&present))); e != 0 {
			return
		}
		n := uintptr(0)
		for _, p := range present[:pages] {
			n += uintptr(p & 1)
		}
		if 2*n < pages {
			continue
		}
		if _, _, e := syscall.Syscall(syscall.SYS_MADVISE, at, hugePage, madvCollapse); e == syscall.EINVAL {
			return // a kernel that does not know the request
		}
	}
}
