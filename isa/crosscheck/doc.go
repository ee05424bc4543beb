// Package crosscheck holds tests that compare the instruction set's semantics
// with those of other simulators. It has no code of its own.
package crosscheck
