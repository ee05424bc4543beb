package reference

import "math"

// AttentionHead is one head of attention in float64: rows of D elements.
type AttentionHead struct {
	S, D    int
	Scale   float64
	Causal  bool
	Q, K, V []float64
}

// keys is how many keys query i sees.
func (h *AttentionHead) keys(i int) int {
	if h.Causal {
		return i + 1
	}
	return h.S
}

// probabilities fills p with the softmax of query i and returns the natural
// logarithm of its denominator.
func (h *AttentionHead) probabilities(i int, p []float64) float64 {
	n, top := h.keys(i), math.Inf(-1)
	for j := range n {
		p[j] = h.Scale * dot(h.Q[i*h.D:][:h.D], h.K[j*h.D:][:h.D])
		top = max(top, p[j])
	}
	sum := 0.0
	for j := range n {
		p[j] = math.Exp(p[j] - top)
		sum += p[j]
	}
	for j := range n {
		p[j] /= sum
	}
	return top + math.Log(sum)
}

// Forward computes the output and the logarithm of each softmax denominator.
func (h *AttentionHead) Forward() (o, l []float64) {
	o, l = make([]float64, h.S*h.D), make([]float64, h.S)
	p := make([]float64, h.S)
	for i := range h.S {
		l[i] = h.probabilities(i, p)
		for j := range h.keys(i) {
			axpy(o[i*h.D:][:h.D], p[j], h.V[j*h.D:][:h.D])
		}
	}
	return o, l
}

// Backward adds the gradients of q, k and v to dq, dk and dv, for the output o
// as the forward pass stored it and its gradient do.
func (h *AttentionHead) Backward(o, do, dq, dk, dv []float64) {
	p, dp := make([]float64, h.S), make([]float64, h.S)
	for i := range h.S {
		h.probabilities(i, p)
		g := do[i*h.D:][:h.D]
		n, delta := h.keys(i), dot(o[i*h.D:][:h.D], g)
		for j := range n {
			dp[j] = dot(g, h.V[j*h.D:][:h.D])
		}
		for j := range n {
			ds := h.Scale * p[j] * (dp[j] - delta)
			axpy(dv[j*h.D:][:h.D], p[j], g)
			axpy(dk[j*h.D:][:h.D], ds, h.Q[i*h.D:][:h.D])
			axpy(dq[i*h.D:][:h.D], ds, h.K[j*h.D:][:h.D])
		}
	}
}

// axpy adds a*x to y.
func axpy(y []float64, a float64, x []float64) {
	for i, v := range x {
		y[i] += a * v
	}
}
