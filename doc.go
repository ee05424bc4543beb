// Package whisker is the root of a cycle-level simulator of AMD CDNA3 and CDNA4
// GPUs. It holds no code but the test of the rules that the repository keeps;
// the program is cmd/whisker, and sim.Run is where to start reading.
package whisker
