package lds

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"strconv"
	"strings"
)

// Query asks what one LDS instruction of a full wave costs.
type Query struct {
	Op   string // mnemonic, as in ds_read_b128
	Arch string // gfx942, gfx950 or a product name
	// Source says where the 64 addresses come from: the name of a layout,
	// "stride=N" (bytes between lanes) or "addresses=FILE".
	Source  string
	Swizzle bool // analyse the layout's swizzled addresses
	Access  int  // which access of the layout's register tile, from 0
}

// ldsBytes is the LDS of a CU (KFD and ROCm gpu-specs).
func ldsBytes(arch string) uint32 {
	if arch == "gfx942" {
		return 64 << 10
	}
	return 160 << 10
}

// AnalyzeQuery answers a query, or says what is wrong with it.
func AnalyzeQuery(q Query) (*Report, error) {
	table, err := NewTable(q.Arch)
	if err != nil {
		return nil, err
	}
	kind, addresses, ok := KindOf(q.Op)
	switch {
	case !ok:
		return nil, fmt.Errorf("unknown LDS instruction %q: examples are ds_read_b128, ds_write_b64, ds_read_b64_tr_b16", q.Op)
	case addresses > 1:
		return nil, fmt.Errorf("%s has two addresses per lane: analyse %s for each", q.Op, kind)
	case kind == Permute:
		return nil, fmt.Errorf("%s moves data between lanes and addresses no bank", q.Op)
	case !table.Supports(kind):
		return nil, fmt.Errorf("%s has no %s", table.arch, q.Op)
	}
	r := newReport(q, table, kind)
	var addr [Lanes]uint32
	if value, ok := strings.CutPrefix(q.Source, "stride="); ok {
		addr, err = strideAddresses(value, ldsBytes(table.arch), kind.Bytes())
	} else if file, ok := strings.CutPrefix(q.Source, "addresses="); ok {
		addr, err = fileAddresses(file, ldsBytes(table.arch), kind.Bytes())
	} else {
		addr, err = r.layoutAddresses(table, kind, q)
	}
	if err != nil {
		return nil, err
	}
	r.fill(table, kind, &addr)
	return r, nil
}

// layoutAddresses builds the addresses of a layout's access and notes what it
// costs with and without the swizzle.
func (r *Report) layoutAddresses(t *Table, k Kind, q Query) (addr [Lanes]uint32, err error) {
	if strings.Contains(q.Source, "=") {
		return addr, fmt.Errorf("unknown address source %q: use a layout name, stride=N or addresses=FILE", q.Source)
	}
	l, err := LayoutByName(q.Source)
	if err != nil {
		return addr, err
	}
	plain, err := l.Addresses(k, q.Access, false)
	if err != nil {
		return addr, err
	}
	r.Layout = l
	r.Access, r.Accesses = q.Access, l.Accesses(k)
	r.WithoutSwizzle = cost(t.Analyze(k, &plain, ^uint64(0)))
	if !l.Swizzled() {
		return plain, nil
	}
	swizzled, err := l.Addresses(k, q.Access, true)
	if err == nil {
		r.WithSwizzle = cost(t.Analyze(k, &swizzled, ^uint64(0)))
	}
	if q.Swizzle {
		r.Swizzle = true
		return swizzled, err
	}
	return plain, nil
}

func strideAddresses(value string, limit uint32, bytes int) (addr [Lanes]uint32, err error) {
	n, err := strconv.ParseUint(value, 0, 32)
	if err != nil {
		return addr, fmt.Errorf("stride=%s: want a number of bytes from 0, decimal or 0x", value)
	}
	for i := range addr {
		a := uint64(i) * n
		if a+uint64(bytes) > uint64(limit) {
			return addr, fmt.Errorf("stride=%s: lane %d reaches address %d, beyond the %d bytes of LDS", value, i, a, limit)
		}
		addr[i] = uint32(a)
	}
	return addr, nil
}

func fileAddresses(name string, limit uint32, bytes int) (addr [Lanes]uint32, err error) {
	if name == "" {
		return addr, errors.New("addresses= names no file")
	}
	f, err := os.Open(name)
	if err != nil {
		return addr, fmt.Errorf("addresses: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return addr, fmt.Errorf("addresses: %s is a directory", name)
	}
	return ParseAddresses(f, name, limit, bytes)
}

// ParseAddresses reads the byte addresses of 64 lanes: integers, decimal or
// with 0x, separated by blanks, commas or line ends; # starts a comment. An
// access of the given bytes must lie below limit. Errors name file and line.
func ParseAddresses(r io.Reader, name string, limit uint32, bytes int) (addr [Lanes]uint32, err error) {
	n, line := 0, 0
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		line++
		text, _, _ := strings.Cut(sc.Text(), "#")
		for _, word := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' || c == '\r' }) {
			v, err := strconv.ParseUint(word, 0, 64)
			switch {
			case err != nil:
				return addr, fmt.Errorf("%s:%d: %q is no address: want an integer from 0, decimal or 0x", name, line, word)
			case v > uint64(limit) || v+uint64(bytes) > uint64(limit):
				return addr, fmt.Errorf("%s:%d: address %s of lane %d is beyond the %d bytes of LDS", name, line, word, n, limit)
			case n == Lanes:
				return addr, fmt.Errorf("%s:%d: more than the %d addresses of a wave", name, line, Lanes)
			}
			addr[n] = uint32(v)
			n++
		}
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return addr, fmt.Errorf("%s:%d: a line of more than %d characters is no list of %d addresses", name, line+1, bufio.MaxScanTokenSize, Lanes)
	} else if err != nil {
		return addr, fmt.Errorf("addresses: %w", err)
	}
	if n != Lanes {
		return addr, fmt.Errorf("%s:%d: %d addresses, want one for each of %d lanes", name, max(line, 1), n, Lanes)
	}
	return addr, nil
}

// laneList prints a lane mask as in "0-3,12-15".
func laneList(m uint64) string {
	var b strings.Builder
	for m != 0 {
		first := bits.TrailingZeros64(m)
		n := bits.TrailingZeros64(^(m >> first))
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		if n == 1 {
			fmt.Fprintf(&b, "%d", first)
		} else {
			fmt.Fprintf(&b, "%d-%d", first, first+n-1)
		}
		if first+n >= 64 {
			break
		}
		m &^= 1<<(first+n) - 1
	}
	return b.String()
}
