// Package xcd assembles the chip: XCDs with their compute units and L2, the IOD
// with the LLC and the memory, and the command processor that starts a kernel.
//
// Each die is an Akita component on an engine of its own. Inside a die all is
// plain Go data stepped by an integer cycle; what crosses dies travels as Akita
// messages through Akita ports. Dies meet only through the fabric, whose one-way
// latency is the lookahead: within a window of that many cycles no die can
// affect another, so the dies of a window may run on separate threads, and the
// messages they sent cross at the window's end in order of (time, source,
// sequence). One thread or many, the cycles are the same. The bytes of memory have
// no such order: a launch whose atomics on them are executed runs on one thread.
package xcd
