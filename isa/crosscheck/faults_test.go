package crosscheck

// What MGPUSim v4.2.0 does in the encodings where it differs from the instruction
// set document.
const (
	wholeMask     = "bits of inactive lanes are kept; a carry mask is written whole, with zeros where EXEC is off"
	twoRoundings  = "the product is rounded before the sum; a fused operation rounds once"
	denormals     = "denormals are not flushed; the transcendental unit flushes them whatever MODE says"
	nanWins       = "a NaN operand wins; in IEEE mode the other operand does"
	wholeShift    = "the shift amount is not masked"
	lowDword      = "only the low dword takes part"
	flatBase      = "the SADDR field of the flat segment, which the hardware ignores, is taken for a base"
	missingDwords = "not all dwords of the data are stored"
	noSign        = "the immediate is not sign-extended"
	noSDWA        = "the SDWA selectors are ignored"
)

var faults = map[string]string{
	"v_addc_co_u32":      wholeMask,
	"v_subb_co_u32":      wholeMask,
	"v_subbrev_co_u32":   wholeMask,
	"v_fma_f32":          twoRoundings,
	"v_fma_f64":          twoRoundings,
	"v_fmac_f32":         twoRoundings,
	"v_fmaak_f32":        twoRoundings,
	"v_pk_fma_f32":       twoRoundings,
	"v_div_fmas_f64":     twoRoundings,
	"v_rcp_f32":          denormals,
	"v_rcp_iflag_f32":    denormals,
	"v_rsq_f32":          denormals,
	"v_sqrt_f32":         denormals,
	"v_log_f32":          denormals,
	"v_log_legacy_f32":   denormals,
	"v_max_f32":          nanWins,
	"v_min_f32":          nanWins,
	"v_max3_f32":         nanWins,
	"v_min3_f32":         nanWins,
	"v_med3_f32":         nanWins,
	"v_ashrrev_i64":      wholeShift,
	"v_lshlrev_b64":      wholeShift,
	"v_lshl_add_u64":     wholeShift,
	"v_cmp_eq_u64":       lowDword,
	"v_cmp_ge_u64":       lowDword,
	"v_cmp_gt_u64":       lowDword,
	"v_cmp_le_u64":       lowDword,
	"v_cmp_lt_u64":       lowDword,
	"v_cmp_ne_u64":       lowDword,
	"v_mov_b64":          lowDword,
	"v_cvt_f64_u32":      lowDword,
	"flat_load_dword":    flatBase,
	"flat_load_dwordx2":  flatBase,
	"flat_load_dwordx4":  flatBase,
	"flat_load_sbyte":    flatBase,
	"flat_load_ubyte":    flatBase,
	"flat_load_ushort":   flatBase,
	"flat_store_dwordx3": missingDwords,
	"flat_store_dwordx4": missingDwords,
	"s_movk_i32":         noSign,
	"s_cmovk_i32":        noSign,
	"v_add_f32_sdwa":     noSDWA,
	"v_add_u16_sdwa":     noSDWA,
	"v_add_u32_sdwa":     noSDWA,
	"v_ashrrev_i32_sdwa": noSDWA,
	"v_lshlrev_b16_sdwa": noSDWA,
	"v_lshlrev_b32_sdwa": noSDWA,
	"v_lshrrev_b32_sdwa": noSDWA,
	"v_max_f32_sdwa":     noSDWA,
	"v_max_i32_sdwa":     noSDWA,
	"v_max_u32_sdwa":     noSDWA,
	"v_min_f32_sdwa":     noSDWA,
	"v_min_i32_sdwa":     noSDWA,
	"v_min_u32_sdwa":     noSDWA,
	"v_mul_f32_sdwa":     noSDWA,
	"v_mul_i32_i24_sdwa": noSDWA,
	"v_mul_u32_u24_sdwa": noSDWA,
	"v_sub_f32_sdwa":     noSDWA,
	"v_sub_u32_sdwa":     noSDWA,
	"v_subrev_f32_sdwa":  noSDWA,
	"v_subrev_u32_sdwa":  noSDWA,

	"ds_read_b64":      "the offset is left out",
	"s_abs_i32":        "SCC is not written",
	"s_max_u32":        "SCC is 0 for equal operands; it is 1, for the first is taken then",
	"v_cmp_ge_f32_e64": "the opcode runs as v_cmp_le_f32",
	"v_cmp_lg_f32":     "true for NaN; lg is an ordered comparison",
	"v_cvt_f16_f32":    "a NaN becomes a signalling one with a payload of 1",
	"v_cvt_i32_f32":    "NaN becomes the lowest integer; it is 0",
	"v_div_fixup_f32":  "the quotient keeps its sign; the signs of the operands decide it",
	"v_div_fmas_f32":   "it scales by 2^32; the rules of isa/exec_vdiv.go make correctly rounded quotients",
	"v_div_scale_f32":  "nothing is scaled, and the mask follows another rule",
	"v_mad_u32_u24":    "the operands are not cut to 24 bits",
	"v_mad_u64_u32":    "the carry mask is not written",
}
