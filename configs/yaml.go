package configs

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
)

// maxFileBytes and maxNesting bound what is handed to the YAML parser, which
// recurses and takes quadratic time on some malformed inputs. A complete
// machine prints to about 20 KB, four levels deep.
const (
	maxFileBytes = 128 << 10
	maxNesting   = 32
)

func checkRaw(label string, data []byte) error {
	if len(data) > maxFileBytes {
		return errorAt(label, 0, "is larger than %d KiB and cannot be a machine file", maxFileBytes>>10)
	}
	if !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
		return errorAt(label, 0, "is not a text file in UTF-8")
	}
	return checkNesting(label, string(data))
}

// checkNesting refuses what would make the YAML parser recurse without bound.
// It counts characters and does not know quotes or comments; no machine file
// comes near the limit.
func checkNesting(label, text string) error {
	brackets, line := 0, 1
	for text != "" {
		var row string
		row, text, _ = strings.Cut(text, "\n")
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
		if brackets > maxNesting || inRow > maxNesting || indent > 2*maxNesting {
			return errorAt(label, line, "is nested too deeply for a machine file")
		}
		line++
	}
	return nil
}

// yamlPlace matches the position that the YAML library puts before its message.
var yamlPlace = regexp.MustCompile(`^\[(\d+):\d+\] (.*)`)

func syntaxError(label string, err error) *Error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	line := 0
	if m := yamlPlace.FindStringSubmatch(first); m != nil {
		fmt.Sscan(m[1], &line)
		first = m[2]
	}
	return errorAt(label, line, "is not valid YAML: %s", first)
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// describe words a node's kind for an error.
func describe(n ast.Node) string {
	if n == nil {
		return "nothing"
	}
	switch n.Type() {
	case ast.NullType:
		return "nothing"
	case ast.MappingType, ast.MappingValueType:
		return "keys and values"
	case ast.SequenceType:
		return "a list"
	case ast.StringType:
		return fmt.Sprintf("the text %q", clip(n.GetToken().Value))
	case ast.LiteralType:
		return "a block of text"
	case ast.IntegerType, ast.FloatType, ast.BoolType, ast.InfinityType, ast.NanType:
		return clip(n.GetToken().Value)
	case ast.AnchorType, ast.AliasType, ast.MergeKeyType, ast.TagType:
		return "a YAML anchor, alias, merge key or tag, which machine files do not use"
	}
	return "a YAML " + strings.ToLower(n.Type().String())
}
