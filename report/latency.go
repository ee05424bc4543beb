package report

// Latency is a latency distribution, in its own unit: core clock cycles up to
// L2, nanoseconds beyond, where memory keeps its own time.
type Latency struct {
	Unit    string   `json:"unit" doc:"cycles or ns"`
	Count   int64    `json:"count" doc:"samples"`
	Mean    float64  `json:"mean" doc:"mean"`
	Min     int64    `json:"min" doc:"smallest sample, or the lower edge of its bucket when only buckets were kept"`
	P50     int64    `json:"p50" doc:"median, interpolated in its bucket"`
	P90     int64    `json:"p90" doc:"90th percentile, interpolated in its bucket"`
	P99     int64    `json:"p99" doc:"99th percentile, interpolated in its bucket"`
	Max     int64    `json:"max" doc:"largest sample, or the top of its bucket when only buckets were kept"`
	Buckets []Bucket `json:"buckets,omitempty" doc:"histogram; empty buckets are left out"`
}

// Bucket is one bar of a histogram: samples s with From <= s < Below.
type Bucket struct {
	From  int64 `json:"from" doc:"smallest value that the bucket holds"`
	Below int64 `json:"below" doc:"the bucket's values are smaller than this"`
	Count int64 `json:"count" doc:"samples in the bucket"`
}

// PowerBuckets turns power-of-two counts, where counts[i] samples have i
// significant bits, into buckets.
func PowerBuckets(counts []uint64) []Bucket {
	var b []Bucket
	for i, c := range counts {
		if c != 0 {
			b = append(b, Bucket{int64(1) << i >> 1, int64(1) << i, int64(c)})
		}
	}
	return b
}

// NewLatency summarizes buckets in ascending order, with the mean of the
// samples themselves. Min and Max are the outer edges; a caller that knows the
// extremes may put them there.
func NewLatency(unit string, buckets []Bucket, mean float64) Latency {
	l := Latency{Unit: unit}
	for _, b := range buckets {
		if b.Count != 0 {
			l.Buckets = append(l.Buckets, b)
			l.Count += b.Count
		}
	}
	if l.Count == 0 {
		return l
	}
	l.Mean = mean
	l.Min, l.Max = l.Buckets[0].From, l.Buckets[len(l.Buckets)-1].Below-1
	l.P50, l.P90, l.P99 = l.percentile(50), l.percentile(90), l.percentile(99)
	return l
}

// meanOf is the mean of a bucket's samples, those of others being in the middle of theirs.
func (l *Latency) meanOf(b Bucket) float64 {
	sum := l.Mean * float64(l.Count)
	for _, o := range l.Buckets {
		if o != b {
			sum -= float64(o.Count) * float64(o.From+o.Below-1) / 2
		}
	}
	return sum / float64(b.Count)
}

// percentile finds the p-th percentile sample and places it in its bucket as
// if the bucket's samples were spread evenly, in one that has most of the samples about their mean.
func (l *Latency) percentile(p int64) int64 {
	rank := (l.Count*p + 99) / 100
	var seen int64
	for _, b := range l.Buckets {
		if seen+b.Count >= rank {
			from, to := float64(b.From), float64(b.Below-1)
			if mean := l.meanOf(b); 2*b.Count > l.Count && mean >= from && mean <= to {
				half := min(mean-from, to-mean)
				from, to = mean-half, mean+half
			}
			return int64(from + (to-from)*(float64(rank-seen)-0.5)/float64(b.Count) + 0.5)
		}
		seen += b.Count
	}
	return l.Max
}
