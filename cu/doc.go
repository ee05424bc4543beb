// Package cu models one compute unit cycle by cycle: wave slots, issue
// arbitration of four SIMDs, VALU and matrix pipe, scalar unit, the path to
// LDS and vector memory, barriers, instruction fetch, and where every cycle of
// every wave went.
//
// A CU is advanced by Step(now), which returns the next cycle at which
// anything can change. Within one Step the order is: LDS, vector L1, then the
// visit of the SIMD whose turn it is (a SIMD is visited every fourth clock).
// Completions come before the visit so that a wave whose data arrives at cycle
// c can issue at c and not at c-1.
//
// The CU decides when an instruction issues; package isa decides what it does.
// Only instructions in the kernel's slice (isa.NewSlice) are executed in timing
// mode; the others take their time and compute nothing.
package cu
