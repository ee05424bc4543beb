package report

// AlignLines pairs the lines of two texts in order: indices into both, -1 where a
// line has no partner.
func AlignLines(a, b []string) [][2]int {
	pairs := alignText(a, b)
	out := make([][2]int, len(pairs))
	for i, p := range pairs {
		out[i] = [2]int{p.a, p.b}
	}
	return out
}
