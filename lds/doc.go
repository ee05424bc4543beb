// Package lds models the local data share of one compute unit: which lanes of
// an LDS instruction are served together (phases), which of them collide in a
// bank (conflicts), how requests flow from the SIMDs through pair ports, FIFOs
// and banks back to the VGPRs (Unit), and the swizzled shared-tile layouts
// whose purpose is to avoid conflicts (Layout).
//
// The parts, in reading order:
//
//   - kind.go, table.go: access kinds and the phase table per architecture
//   - analyze.go: service cycles and conflicts of one instruction
//   - unit.go: the event-driven timing of the LDS of one CU
//   - layout.go: subtile shapes and swizzles, and who reads what
//   - query.go, report.go: one access explained to a person
//
// The package knows no instruction encodings and no wave state: a caller gives
// it the kind of access and the 64 byte addresses.
package lds
