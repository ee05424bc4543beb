package configs

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// The ranges keep a what-if within what the models can represent: counts and
// widths are positive, anything that selects address bits is a power of two,
// and no latency is so long that integer picoseconds could overflow.

func upTo(n float64) limits        { return limits{min: 0, max: n} }
func from(lo, hi float64) limits   { return limits{min: lo, max: hi} }
func pow2(lo, hi float64) limits   { return limits{min: lo, max: hi, pow2: true} }
func oneOf(words ...string) limits { return limits{words: words} }

var (
	onOff  = limits{}
	cycles = upTo(100000)
	some   = from(1, 100000)  // cycles of something that takes time
	nanos  = upTo(1e6)        // 1 ms
	gbs    = from(0.001, 1e6) // 1 PB/s
	mhz    = from(1, 10000)
	line   = pow2(32, 1024)
)

// leafTable lists every leaf in file order.
func leafTable() []leafSpec {
	groups := [][]leafSpec{
		chipLeaves(), clockLeaves(), powerLeaves(), cuLeaves(), aluLeaves(), fetchLeaves(), ldsLeaves(),
		tcpLeaves(), l2Leaves(), tlbLeaves(), fabricLeaves(), llcLeaves(), hbmLeaves(), dispatchLeaves(), featureLeaves(),
	}
	var all []leafSpec
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

// leaf is a table row.
func leaf(path, unit string, lim limits, doc string, field func(*Machine) any) leafSpec {
	return leafSpec{path: path, unit: unit, limits: lim, doc: doc, field: field}
}
