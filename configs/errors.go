package configs

import (
	"fmt"
	"strings"
)

// Error is any fault of a machine file, a machine name or an assignment. It is
// always the user's to fix, so a caller may turn it into a usage exit code.
type Error struct {
	File string // machine file or built-in name; "" for an assignment
	Line int    // 1-based; 0 when the fault has no line
	Msg  string // one sentence that says what is wrong and what is allowed
}

// Error prints FILE:LINE: MSG, leaving out what is not known.
func (e *Error) Error() string {
	switch {
	case e.File == "":
		return e.Msg
	case e.Line == 0:
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

func errorAt(file string, line int, format string, args ...any) *Error {
	return &Error{File: file, Line: line, Msg: fmt.Sprintf(format, args...)}
}

// clip shortens what the user wrote so that an error stays readable.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// nearest returns the candidate with the smallest edit distance to word, or ""
// when none is close enough to be a likely slip of the pen.
func nearest(word string, candidates []string) string {
	word = strings.ToLower(word)
	// At most a third of a long word may be wrong, and never all of a short one.
	best, bestDist := "", min(1+max(2, len(word)/3), len(word))
	for _, c := range candidates {
		if d := editDistance(word, c); d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}

// maxCompared bounds the quadratic cost of a comparison; no key is as long.
const maxCompared = 80

// editDistance counts insertions, deletions, substitutions and swaps of
// neighbours that turn a into b (optimal string alignment).
func editDistance(a, b string) int {
	if len(a) > maxCompared || len(b) > maxCompared {
		return max(len(a), len(b))
	}
	var prev2, prev, cur [maxCompared + 1]int
	for j := range len(b) + 1 {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, cur
	}
	return prev[len(b)]
}

// place tells where a key was given: files have a few keys beside the leaves.
type place bool

const (
	inFile       place = true
	inAssignment place = false
)

// fileKeys are the keys of a machine file that are not leaves.
var fileKeys = []string{"name", "base", "description"}

// unknownKey words the refusal of key inside group ("" is the top level): the
// likeliest key meant, then all that the group has.
func unknownKey(group, key string, where place) string {
	siblings := childrenOf(group)
	if group == "" && where == inFile {
		siblings = append(fileKeys[:len(fileKeys):len(fileKeys)], siblings...)
	}
	what, of := fmt.Sprintf("unknown key %q", clip(key)), "The keys are"
	if group != "" {
		what, of = what+" in "+group, "The keys of "+group+" are"
	}
	if meant := likely(group, key, siblings); meant != "" {
		what += "; did you mean " + meant + "?"
	} else {
		what += "."
	}
	return what + " " + of + " " + strings.Join(siblings, ", ") + "."
}

// likely guesses the path meant by key: a sibling with nearly that name, a
// leaf of that name in another group, or a leaf with nearly that whole path.
func likely(group, key string, siblings []string) string {
	if near := nearest(key, siblings); near != "" {
		return joinPath(group, near)
	}
	if head, rest, ok := strings.Cut(key, "."); ok { // ldss.bytes
		if near := nearest(head, siblings); near != "" {
			full := joinPath(group, near)
			if last := nearest(rest, childrenOf(full)); last != "" {
				return joinPath(full, last)
			}
			return full
		}
	}
	if elsewhere := leavesNamed(key); len(elsewhere) > 0 {
		return strings.Join(elsewhere, " or ")
	}
	paths := make([]string, len(schema))
	for i := range schema {
		paths[i] = schema[i].path
	}
	return nearest(joinPath(group, key), paths)
}

func joinPath(group, key string) string {
	if group == "" {
		return key
	}
	return group + "." + key
}
