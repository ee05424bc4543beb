// Package trace reads and writes Whisker's traces: the dynamic instruction
// stream of every wave of a launch, with the addresses of its memory
// instructions, so that a machine can time it again without executing it.
//
// docs/trace-format.md describes the file byte by byte. In short, a file is a
// header and a list of chunks, each compressed with zstd and checksummed. A
// launch has a description in JSON, its program as machine code, tables of lane
// patterns, and records of waves in the order in which they ended. A wave is
// three things: the jumps that it took, run-length coded, from which the order
// of its instructions follows; the EXEC masks that it set; and for every memory
// instruction the runs of its accesses, a lane pattern that moves by a constant
// step.
//
// A Writer writes as the waves end and holds one chunk and the table of
// patterns. A Reader opens the streams of waves in any order and may be used by
// several goroutines. The package knows no model: addresses are numbers and
// instructions are bytes.
package trace
