package codeobj

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// A clang offload bundle (LLVM, ClangOffloadBundler) starts with this text, a
// count, and for each entry its offset, size and target.
const (
	bundleMagic     = "__CLANG_OFFLOAD_BUNDLE__"
	compressedMagic = "CCOB"
)

// unbundle returns the one entry for a simulated processor, or data itself when
// it is no bundle.
func unbundle(data []byte) ([]byte, error) {
	switch {
	case strings.HasPrefix(string(data[:min(len(data), len(compressedMagic))]), compressedMagic):
		return nil, errors.New("a compressed offload bundle; unpack it with clang-offload-bundler --unbundle")
	case len(data) < len(bundleMagic)+8 || string(data[:len(bundleMagic)]) != bundleMagic:
		return data, nil
	}
	le := binary.LittleEndian
	rest := data[len(bundleMagic):]
	count := le.Uint64(rest)
	rest = rest[8:]
	var found []byte
	var targets []string
	matches := 0
	for range count {
		if len(rest) < 24 {
			return nil, errors.New("the offload bundle is cut short")
		}
		off, size, n := le.Uint64(rest), le.Uint64(rest[8:]), le.Uint64(rest[16:])
		rest = rest[24:]
		if n > uint64(len(rest)) || off > uint64(len(data)) || size > uint64(len(data))-off {
			return nil, errors.New("the offload bundle is cut short")
		}
		target := string(rest[:n])
		rest = rest[n:]
		targets = append(targets, target)
		if strings.Contains(target, "gfx942") || strings.Contains(target, "gfx950") {
			found = data[off : off+size]
			matches++
		}
	}
	switch matches {
	case 0:
		return nil, fmt.Errorf("an offload bundle for %s; gfx942 and gfx950 are simulated", strings.Join(targets, ", "))
	case 1:
		return found, nil
	}
	return nil, fmt.Errorf("an offload bundle with code for %s; unpack the one to run with clang-offload-bundler --unbundle", strings.Join(targets, ", "))
}
