// Package study runs many simulations as one: a study file names a kernel, what
// is fixed and what varies; Sweep runs every point, on this machine or as a
// Slurm job array, and keeps the outcomes in a results file (package
// report/results).
//
// The order of the points is that of nested loops over the axes as the file
// lists them, the last one innermost. A point's number is its place in that
// order, whatever order points run in.
package study
