package sim

import (
	"fmt"
	"io"
	"os"
)

// maxSourceBytes bounds an assembly source; compilers write a few megabytes.
const maxSourceBytes = 256 << 20

// readBounded reads a whole file of up to limit bytes. A device or a pipe has no
// size to look at, so that the bytes are counted as they come.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch st, err := f.Stat(); {
	case err != nil:
		return nil, err
	case st.IsDir():
		return nil, fmt.Errorf("%s is a folder", path)
	case st.Mode()&os.ModeDevice != 0:
		return nil, fmt.Errorf("%s is a device", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes, the most that is read", path, limit)
	}
	return b, nil
}
