package report

import "sort"

// pair is a line of two texts that is in both, or in one of them with the other
// index -1.
type pair struct{ a, b int }

// alignText pairs the lines of two texts in order: equal beginnings and ends,
// then lines that each has once as anchors (patience diff), and the longest
// common subsequence of short stretches between anchors.
func alignText(a, b []string) []pair {
	return align(nil, a, b, 0, 0)
}

// shortStretch bounds the product of lengths up to which the longest common
// subsequence is computed.
const shortStretch = 1 << 20

func align(out []pair, a, b []string, i, j int) []pair {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		out = append(out, pair{i, j})
		a, b, i, j = a[1:], b[1:], i+1, j+1
	}
	same := 0
	for same < min(len(a), len(b)) && a[len(a)-1-same] == b[len(b)-1-same] {
		same++
	}
	endA, endB := len(a)-same, len(b)-same
	out = between(out, a[:endA], b[:endB], i, j)
	for k := range same {
		out = append(out, pair{i + endA + k, j + endB + k})
	}
	return out
}

// between pairs stretches that begin and end differently.
func between(out []pair, a, b []string, i, j int) []pair {
	if len(a) > 0 && len(b) > 0 {
		if anchors := patience(a, b); len(anchors) > 0 {
			fromA, fromB := 0, 0
			for _, p := range anchors {
				out = align(out, a[fromA:p.a], b[fromB:p.b], i+fromA, j+fromB)
				out = append(out, pair{i + p.a, j + p.b})
				fromA, fromB = p.a+1, p.b+1
			}
			return align(out, a[fromA:], b[fromB:], i+fromA, j+fromB)
		}
		if len(a)*len(b) <= shortStretch {
			return subsequence(out, a, b, i, j)
		}
	}
	for k := range a {
		out = append(out, pair{i + k, -1})
	}
	for k := range b {
		out = append(out, pair{-1, j + k})
	}
	return out
}

// patience finds lines that each text has once, in an order that both have: the
// longest increasing run of their places.
func patience(a, b []string) []pair {
	type places struct{ nA, nB, a, b int }
	seen := make(map[string]*places, len(a))
	for k, s := range a {
		if p := seen[s]; p != nil {
			p.nA++
		} else {
			seen[s] = &places{nA: 1, a: k}
		}
	}
	for k, s := range b {
		if p := seen[s]; p != nil {
			p.nB++
			p.b = k
		}
	}
	var once []pair
	for k, s := range a {
		if p := seen[s]; p.nA == 1 && p.nB == 1 {
			once = append(once, pair{k, p.b})
		}
	}
	return increasing(once)
}

// increasing is a longest subsequence of pairs whose b increases.
func increasing(once []pair) []pair {
	var tops []int // index of the last pair of the best run of each length
	before := make([]int, len(once))
	for k, p := range once {
		at := sort.Search(len(tops), func(t int) bool { return once[tops[t]].b >= p.b })
		before[k] = -1
		if at > 0 {
			before[k] = tops[at-1]
		}
		if at == len(tops) {
			tops = append(tops, k)
		} else {
			tops[at] = k
		}
	}
	run := make([]pair, len(tops))
	if len(tops) > 0 {
		for k, at := tops[len(tops)-1], len(tops)-1; at >= 0; k, at = before[k], at-1 {
			run[at] = once[k]
		}
	}
	return run
}

// subsequence pairs the longest common subsequence of two short texts.
func subsequence(out []pair, a, b []string, i, j int) []pair {
	width := len(b) + 1
	length := make([]int32, (len(a)+1)*width)
	for x := len(a) - 1; x >= 0; x-- {
		for y := len(b) - 1; y >= 0; y-- {
			if a[x] == b[y] {
				length[x*width+y] = length[(x+1)*width+y+1] + 1
			} else {
				length[x*width+y] = max(length[(x+1)*width+y], length[x*width+y+1])
			}
		}
	}
	x, y := 0, 0
	for x < len(a) || y < len(b) {
		switch {
		case x < len(a) && y < len(b) && a[x] == b[y]:
			out = append(out, pair{i + x, j + y})
			x, y = x+1, y+1
		case y == len(b) || x < len(a) && length[(x+1)*width+y] >= length[x*width+y+1]:
			out = append(out, pair{i + x, -1})
			x++
		default:
			out = append(out, pair{-1, j + y})
			y++
		}
	}
	return out
}
