package configs

func featureLeaves() []leafSpec {
	return []leafSpec{
		leaf("features.dynamic_registers", "", onOff, "what-if: waves give vector registers to others of their SIMD (x_set_registers)",
			func(m *Machine) any { return &m.Features.DynamicRegisters }),
		leaf("features.mfma_lds_operands", "", onOff, "what-if: matrix instructions read blocks of operands from LDS (x_mma)",
			func(m *Machine) any { return &m.Features.MFMALDSOperands }),
		leaf("features.tile_copy", "", onOff, "what-if: one instruction moves a tile from memory to LDS (x_tile_copy)",
			func(m *Machine) any { return &m.Features.TileCopy }),
		leaf("features.mbarrier", "", onOff, "what-if: barrier objects with arrival counts in LDS (x_mbar)",
			func(m *Machine) any { return &m.Features.MBarrier }),
		leaf("features.mfma_blocks", "", from(1, 16), "x_mma of a SIMD under way: one multiplies while the others read",
			func(m *Machine) any { return &m.Features.MFMABlocks }),
		leaf("features.tile_copy_entries", "", from(1, 1024), "tile copies of a CU under way",
			func(m *Machine) any { return &m.Features.TileCopyEntries }),
		leaf("features.tile_copy_lines", "", from(1, 65536), "lines that a CU's tile copies have outstanding",
			func(m *Machine) any { return &m.Features.TileCopyLines }),
		leaf("features.tile_copy_bytes_per_cycle", "B/cycle", pow2(1, 1024), "rate at which a CU's tile copies ask for lines",
			func(m *Machine) any { return &m.Features.TileCopyBytesPerCycle }),
	}
}
