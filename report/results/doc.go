// Package results keeps the results of a study in one SQLite file, and writes
// them as CSV and Parquet. docs/results-schema.md describes the file.
//
// A file is valid at every moment: each finished point is one transaction, so
// that a study may be killed and continued. Once all points are there, Finish
// writes the file anew in point order, which makes it a function of the study
// alone: neither the order in which points ended nor any interruption shows.
package results
