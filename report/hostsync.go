package report

import "strings"

// origin says in a few words where the constant comes from.
func (h *HostSync) origin() string {
	s := h.Class
	if len(h.FittedOn) > 0 {
		s += " on " + strings.Join(h.FittedOn, ", ")
	}
	switch {
	case h.Class != "calibrated":
	case h.Prediction:
		s += "; this point is a prediction"
	default:
		s += ", which is this very run"
	}
	return s
}
