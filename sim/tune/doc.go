// Package tune chooses a GEMM's schedule, tile, window and chunk. A replay of
// the block order against the caches and a roofline of the kernel's own
// instructions rank all candidates; the cycle model runs the best few and has
// the last word.
package tune
