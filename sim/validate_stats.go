package sim

import (
	"cmp"
	"math"
	"slices"
)

// ValidateSummary is a set's agreement over the points that were simulated.
type ValidateSummary struct {
	Set     string `json:"set"`
	Doc     string `json:"doc"`
	Points  int    `json:"points"`
	Covered int    `json:"covered"`
	// Median, mean and largest of the absolute relative errors, as fractions; nil
	// for a set without a covered point.
	Median *float64 `json:"median_error"`
	Mean   *float64 `json:"mean_error"`
	Worst  *float64 `json:"worst_error"` // with its sign
	// WorstPoint names the point of the largest error.
	WorstPoint string `json:"worst_point,omitempty"`
	// PredictedMedian is the median over the predictions alone.
	PredictedMedian *float64 `json:"predicted_median_error"`
	// Spearman is the rank correlation of simulated with measured values over the
	// unit that most points have; nil below three points, or where all are equal.
	Spearman   *float64 `json:"rank_correlation"`
	Calibrated []string `json:"calibrated"` // covered points that chose a constant
	Predicted  []string `json:"predicted"`  // the other covered points
	How        []string `json:"how"`        // in which ways the points were simulated
}

// Summarize computes the agreement of each set, in the order of the points.
func Summarize(points []ValidatePoint) []ValidateSummary {
	var out []ValidateSummary
	for len(points) > 0 {
		name := points[0].Set
		n := slices.IndexFunc(points, func(p ValidatePoint) bool { return p.Set != name })
		if n < 0 {
			n = len(points)
		}
		out = append(out, summarize(name, points[:n]))
		points = points[n:]
	}
	return out
}

func summarize(name string, points []ValidatePoint) ValidateSummary {
	s := ValidateSummary{Set: name, Points: len(points), Calibrated: []string{}, Predicted: []string{}, How: []string{}}
	if i := slices.IndexFunc(validationSets, func(v validationSet) bool { return v.name == name }); i >= 0 {
		s.Doc = validationSets[i].doc
	}
	var all, predicted []float64
	for i := range points {
		p := &points[i]
		if p.RelativeError == nil {
			continue
		}
		s.Covered++
		e := math.Abs(*p.RelativeError)
		all = append(all, e)
		if p.Kind == KindCalibrated {
			s.Calibrated = append(s.Calibrated, p.Name)
		} else {
			s.Predicted = append(s.Predicted, p.Name)
			predicted = append(predicted, e)
		}
		if !slices.Contains(s.How, p.How) {
			s.How = append(s.How, p.How)
		}
		if s.Worst == nil || e > math.Abs(*s.Worst) {
			s.Worst, s.WorstPoint = p.RelativeError, p.Name
		}
	}
	s.Median, s.Mean, s.PredictedMedian = median(all), mean(all), median(predicted)
	s.Spearman = spearman(mainUnit(points))
	return s
}

// mainUnit are the covered points' values of the unit that most of them have, the
// first of several.
func mainUnit(points []ValidatePoint) (measured, simulated []float64) {
	counts := map[string]int{}
	best := ""
	for _, p := range points {
		if p.Simulated != nil {
			counts[p.Unit]++
		}
	}
	for _, p := range points {
		if counts[p.Unit] > counts[best] {
			best = p.Unit
		}
	}
	for _, p := range points {
		if p.Simulated != nil && p.Unit == best {
			measured, simulated = append(measured, p.Measured), append(simulated, *p.Simulated)
		}
	}
	return measured, simulated
}

func mean(v []float64) *float64 {
	if len(v) == 0 {
		return nil
	}
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return value(sum / float64(len(v)))
}

func median(v []float64) *float64 {
	if len(v) == 0 {
		return nil
	}
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return value((v[(n-1)/2] + v[n/2]) / 2)
}

// spearman is the rank correlation of two lists, ties ranked by their mean.
func spearman(a, b []float64) *float64 {
	if len(a) < 3 {
		return nil
	}
	ra, rb := ranks(a), ranks(b)
	mid := float64(len(a)+1) / 2
	var ab, aa, bb float64
	for i := range ra {
		x, y := ra[i]-mid, rb[i]-mid
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return nil
	}
	return value(ab / math.Sqrt(aa*bb))
}

// ranks are the places of the values in ascending order, from 1.
func ranks(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(v[i], v[j]) })
	out := make([]float64, len(v))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && v[order[j]] == v[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+j+1) / 2
		}
		i = j
	}
	return out
}
