// Package plots draws the results of studies with gonum/plot: the roofline, a
// figure against an axis, stacked stall bars, and a heat map over two axes, as
// PNG or SVG.
package plots
