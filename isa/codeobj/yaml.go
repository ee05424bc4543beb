package codeobj

import (
	"fmt"
	"strings"
)

// maxYAMLDepth is how deep YAML may nest: metadata and launch files have 4 levels.
const maxYAMLDepth = 32

// CheckYAML refuses text that would make the YAML parser recurse without bound, at
// a cost that grows with the square of the depth. It counts characters and does not
// know quotes or comments; no file that means something comes near the limit.
func CheckYAML(b []byte) error {
	brackets := 0
	for i, row := range strings.Split(string(b), "\n") {
		inRow := 0
		for _, mark := range []string{"- ", "? ", "!", "&"} {
			inRow += strings.Count(row, mark)
		}
		for _, c := range []byte(row) {
			switch c {
			case '[', '{':
				brackets++
			case ']', '}':
				brackets = max(0, brackets-1)
			}
		}
		indent := len(row) - len(strings.TrimLeft(row, " "))
		if brackets > maxYAMLDepth || inRow > maxYAMLDepth || indent > 4*maxYAMLDepth {
			return fmt.Errorf("line %d: it is nested too deeply, or a bracket is not closed", i+1)
		}
	}
	return nil
}
