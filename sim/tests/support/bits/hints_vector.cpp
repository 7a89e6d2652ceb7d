// Hints of vector operations: fields that an encoding has for other operations, and modifiers that have no effect.
#include "sim/tests/support/bits/hints.hpp"

#include "sim/isa/rdna/traits.hpp"
#include "sim/isa/cdna/decode.hpp"

namespace rapt::sim::test {
namespace {

bool is_half(Type type) {
  return type == Type::b16 || type == Type::i16 || type == Type::u16 || type == Type::f16 || type == Type::bf16;
}
bool has(const FormOf& f, Traits traits) { return (f.row().traits & traits) != 0; }

bool no_source0(const FormOf& f, unsigned) { return f.sources() < 1; }
bool no_source1(const FormOf& f, unsigned) { return f.sources() < 2; }
bool no_source2(const FormOf& f, unsigned) { return f.sources() < 3; }

// Conversions of 8 bits and fewer: op_sel selects the byte, or pair of bytes, of the source or of the result.
bool selects_bytes(std::string_view name, unsigned bit) {
  const bool from_fp4 = name.ends_with("_fp4"), from_bytes = name.ends_with("_fp8") || name.ends_with("_bf8");
  const bool pair = name.find("_pk_") != std::string_view::npos;
  if (from_fp4 || from_bytes) return bit == 0 || (bit == 1 && (from_fp4 || !pair));
  const bool to_fp4 = name.find("_fp4_") != std::string_view::npos;
  const bool to_bytes = name.find("_fp8_") != std::string_view::npos || name.find("_bf8_") != std::string_view::npos;
  return (bit == 3 && (to_fp4 || to_bytes)) || (bit == 2 && (to_fp4 || (to_bytes && !pair)));
}
// op_sel has a bit for each source and one for the result, which select halves of 16-bit operands.
bool selects_nothing(const FormOf& f, unsigned bit) {
  const Opcode& row = f.row();
  if (has(f, trait::fetch_control)) return bit > 1;  // fi and bound_ctrl
  if (is_cdna(f.arch) && !has(f, trait::op_sel | trait::op_sel_src2)) return true;
  if (row.name.starts_with("v_align") && bit == 2) return false;  // the count
  return !is_half(bit == 3 ? row.dst : row.src[bit]) && !selects_bytes(row.name, bit);
}
bool no_float(const FormOf& f, unsigned bit) {
  const std::string_view name = f.row().name;
  return bit < 3 && !is_float(f.row().src[bit]) && !name.starts_with("v_cndmask") && name != "v_mov_b16";
}
// gfx9's encodings of operations with sources that do not take neg and abs.
bool lax(const FormOf& f, unsigned source) {
  const bool takes = source < 3 && is_float(f.row().src[source]) && !has(f, trait::no_modifiers);
  return has(f, trait::lax_modifiers) && !takes;
}
bool lax_source1(const FormOf& f, unsigned) { return lax(f, 1); }
bool of_scale(const FormOf& f, unsigned source) { return source + 1 == f.sources(); }
bool half_wave(const FormOf& f, unsigned) { return f.lanes == 32; }
bool to_vcc(const FormOf& f, unsigned) { return !f.on("sd"); }

constexpr std::string_view vop3_alone = "VOP3|VOP3 *";  // without VOP3P
constexpr std::string_view unused = "an operand that the operation does not have";
constexpr std::string_view no_meaning = "bits without a meaning";
constexpr std::string_view no_halves = "the half, or byte, of an operand that has only one";
constexpr std::string_view no_overflow = "a result that is an integer and cannot leave its range";
constexpr std::string_view no_sign = "the sign does not reach the result";
constexpr std::string_view vop3 = "ISA documents, \"VOP3A\"; VOPInstructions.td";
constexpr std::string_view halves = "RDNA4 ISA 7.1, OPSEL is for 16-bit operands and results; VOPInstructions.td";
constexpr std::string_view modifiers =
    "RDNA4 ISA 7.2.2.1, ABS and NEG are for floats; CDNA4 ISA 6.2.2 and RDNA3 ISA 7.2.3.1, output modifiers";
constexpr std::string_view own = "ISA documents, chapter \"Instructions\": the entry of the instruction";

// Comparisons that are always true or always false.
constexpr std::string_view constant_comparisons = "v_cmp_f_*|v_cmp_t_*|v_cmp_tru_*|v_cmpx_f_*|v_cmpx_t_*|v_cmpx_tru_*";
constexpr std::string_view nan_comparisons = "v_cmp_o_*|v_cmp_u_*|v_cmpx_o_*|v_cmpx_u_*";

constexpr Hint hints[] = {
    // Operands that do not exist
    {.layouts = "VOP1*|VOP3|VOP3 *", .fields = "src0", .when = no_source0, .why = unused, .source = vop3},
    {.layouts = vop3_alone, .fields = "src1", .when = no_source1, .why = unused, .source = vop3},
    {.layouts = vop3_alone, .fields = "src2", .when = no_source2, .why = unused, .source = vop3},
    {.layouts = vop3_alone,
     .fields = "vdst",
     .rows = "v_cmpx_*",
     .archs = rdna,
     .why = "V_CMPX writes only EXEC",
     .source = "RDNA3 ISA, \"VOPC\""},
    {.layouts = "VOP1",
     .fields = "src0|vdst",
     .rows = "v_permlane64_b32",
     .when = half_wave,
     .why = "does nothing in a wave of 32 lanes",
     .source = "RDNA3 ISA, V_PERMLANE64_B32"},

    // Comparisons
    {.layouts = "VOPC*|VOP3|VOP3 *",
     .fields = "*src*|neg|abs|op_sel|s0|s1|literal|lane_sel",
     .rows = constant_comparisons,
     .why = "the result does not depend on the sources",
     .source = own},
    {.layouts = "VOPC DPP*|VOP3 DPP*",
     .fields = "bank_mask|row_mask|fi|unnamed|dpp_ctrl|bound_ctrl",
     .rows = "v_cmp_f_*|v_cmpx_f_*",
     .why = "false in enabled lanes, and 0 in the others",
     .source = own},
    {.layouts = "VOPC*|VOP3|VOP3 *",
     .fields = "*neg|*abs",
     .rows = nan_comparisons,
     .why = "a NaN is one with any sign",
     .source = own},
    {.layouts = vop3_alone,
     .fields = "clamp",
     .rows = "v_cmp_*|v_cmpx_*",
     .why = "signals quiet NaNs: floating-point exceptions are not simulated",
     .source = "CDNA4 ISA 6.5, RDNA4 ISA 7.2.3.1"},
    {.layouts = "VOPC SDWA",
     .fields = "sdst",
     .when = to_vcc,
     .why = "the result goes to VCC",
     .source = "CDNA ISA, \"SDWAB\": SD"},
    {.layouts = "VOPC DPP16|VOP3 DPP16",
     .fields = "bound_ctrl",
     .rows = "v_cmp_gt_u*|v_cmpx_gt_u*",
     .why = "0 is never greater, and a disabled lane's bit is 0 too",
     .source = own},

    // op_sel
    {.layouts = vop3_alone, .fields = "op_sel", .when = selects_nothing, .why = no_halves, .source = halves},
    {.layouts = vop3_alone, .fields = "op_sel", .rows = "v_s_*_f16", .why = "an SGPR's low half", .source = own},

    // neg and abs
    {.layouts = vop3_alone, .fields = "neg|abs", .archs = rdna, .when = no_float, .why = no_sign, .source = modifiers},
    {.layouts = "VOP3|VOP2 DPP16",
     .fields = "neg|abs|src0_neg|src0_abs",
     .archs = cdna,
     .when = lax,
     .why = "LLVM has the fields for operations that do not take them",
     .source = vop3},
    {.layouts = "VOP2 DPP16",
     .fields = "src1_neg|src1_abs",
     .archs = cdna,
     .when = lax_source1,
     .why = "LLVM has the fields for operations that do not take them",
     .source = vop3},
    {.layouts = "VOP3",
     .fields = "neg|abs",
     .rows = "v_cvt_scalef32_*",
     .when = of_scale,
     .why = "of a scale only the exponent counts",
     .source = "CDNA4 ISA, V_CVT_SCALEF32_PK_F32_FP8"},
    {.layouts = "VOP*",
     .fields = "neg|abs|src0_neg|src0_abs",
     .last = 0,
     .rows = "v_frexp_exp_*|v_div_fixup_*|v_trig_preop_f64",
     .why = no_sign,
     .source = own},
    {.layouts = "VOP1 DPP16|VOPC DPP16",
     .fields = "src?_neg|src?_abs",
     .archs = rdna,
     .when = [](const FormOf& f, unsigned) { return !is_float(f.row().src[0]) && f.row().name != "v_mov_b16"; },
     .why = no_sign,
     .source = modifiers},
    {.layouts = "VOP2 DPP16|VOPC DPP16",
     .fields = "src1_neg|src1_abs",
     .rows = "v_ldexp_f16|v_cmp_class_*|v_cmpx_class_*",
     .archs = rdna,
     .why = "an integer",
     .source = modifiers},
    {.layouts = vop3_alone,
     .fields = "neg|abs",
     .first = 1,
     .rows = "v_cmp_class_f16|v_cmpx_class_f16|v_ldexp_f16",
     .archs = rdna,
     .why = "an integer",
     .source = modifiers},
    {.layouts = vop3_alone,
     .fields = "neg|abs",
     .rows = "v_cvt_pk_f32_fp8|v_cvt_pk_f32_bf8",
     .archs = gfx12,
     .why = "two bytes",
     .source = modifiers},

    // clamp and omod
    {.layouts = "VOP1 SDWA|VOP3|VOP3 *",
     .fields = "clamp|omod",
     .rows =
         "v_cvt_?32_f32|v_cvt_?32_f64|v_cvt_rpi_*|v_cvt_flr_*|v_cvt_nearest_*|v_cvt_floor_*|v_frexp_exp_*|"
         "v_cvt_?16_f16|v_cvt_norm_*|v_cvt_pk_u8_f32|v_cvt_pkaccum_*|v_cvt_pknorm_*|v_cvt_pk_norm_*|v_cvt_pk_?16_f32",
     .when = [](const FormOf& f, unsigned) { return !is_float(f.row().dst); },
     .why = no_overflow,
     .source = modifiers},
    {.layouts = vop3_alone,
     .fields = "clamp",
     .rows = "v_min3_[iu]16|v_max3_[iu]16|v_med3_[iu]16|v_alignbit_b32|v_alignbyte_b32",
     .why = no_overflow,
     .source = modifiers},
    {.layouts = "VOP1 SDWA",
     .fields = "clamp",
     .rows = "v_mov_b32|v_not_b32|v_bfrev_b32|v_ffb*|v_screen_partition_4se_b32|v_sat_pk_u8_i16|v_prng_b32",
     .why = no_overflow,
     .source = modifiers},
    {.layouts = "VOP2 SDWA",
     .fields = "clamp",
     .rows =
         "v_cndmask_b32|v_mul_hi_?32_?24|v_min_?32|v_max_?32|v_*rev_b32|v_ashrrev_i*|v_*rev_b16|v_and_b32|v_*or_b32|"
         "v_mul_lo_u16|v_max_?16|v_min_?16",
     .when = [](const FormOf& f, unsigned) { return !is_float(f.row().dst); },
     .why = no_overflow,
     .source = modifiers},
    {.layouts = "VOP1 SDWA|VOP3|VOP3 *",
     .fields = "omod",
     .rows = "v_cvt_pk*|v_pk_fmac_f16",
     .why = "two results have no multiplier",
     .source = modifiers},

    // DPP and SDWA
    {.layouts = "VOP? DPP16|VOPC DPP16",
     .fields = "unnamed",
     .first = 49,
     .last = 49,
     .why = no_meaning,
     .source = "VOPInstructions.td, VOP_DPPe"},
    {.layouts = "VOP? DPP16",
     .fields = "unnamed",
     .first = 50,
     .last = 50,
     .archs = cdna,
     .why = "gfx10's FI",
     .source = "VOPInstructions.td, VOP_DPPe"},
    {.layouts = "VOP3* DPP16",
     .fields = "unnamed",
     .first = 81,
     .last = 81,
     .why = no_meaning,
     .source = "VOPInstructions.td, VOP3_DPPe"},
    {.layouts = "VOP3* DPP16",
     .fields = "src?_neg|src?_abs",
     .why = "VOP3 has its own; the hardware ignores these",
     .source = "VOPInstructions.td, VOP3_DPPe"},
    {.layouts = "VOP* DPP16",
     .fields = "row_mask",
     .first = 2,
     .when = half_wave,
     .why = "rows that 32 lanes do not have",
     .source = "RDNA3 ISA, \"DPP\""},
    {.layouts = "VOP2 DPP16",
     .fields = "bound_ctrl",
     .rows = "v_dot*c_i32_*",
     .why = "a source of 0 adds nothing to the accumulator, as if the lane were disabled",
     .source = own},
    {.layouts = "VOP? SDWA|VOPC SDWA",
     .fields = "unnamed",
     .first = 32,
     .last = 63,
     .why = no_meaning,
     .source = "VOPInstructions.td, VOP_SDWA9e"},
    {.layouts = "VOP1 SDWA",
     .fields = "dst_unused",
     .rows = "v_cvt_*f32_??8",
     .why = "only whole registers",
     .source = "VOP1Instructions.td"},
    {.layouts = "VOP1 SDWA",
     .fields = "src0_sext",
     .rows = "v_cvt_*f32_??8|v_cvt_f32_ubyte0|v_cvt_off_f32_i4|v_ffbl_b32|v_screen_partition_4se_b32",
     .why = "what is above the selected byte does not reach the result",
     .source = own},

    {.layouts = "VOP1 SDWA",
     .fields = "src0_sel",
     .last = 0,
     .rows = "v_cvt_[iu]32_f32|v_cvt_rpi_i32_f32|v_trunc_f32|v_rndne_f32|v_log*_f32|v_rcp*_f32|v_rsq_f32|v_sqrt_f32|"
             "v_cos_f32",
     .why = "a byte or a word is a denormal as f32, and all those give the same",
     .source = own},
    {.layouts = "VOP1 SDWA",
     .fields = "src0_sel",
     .first = 1,
     .last = 1,
     .rows = "v_cvt_[iu]16_f16|v_trunc_f16|v_rndne_f16|v_cos_f16|v_cvt_norm_i16_f16",
     .why = "a byte is a denormal as f16, and all those give the same; the word 0 is what a whole register gives",
     .source = own},
    {.layouts = "VOP1 SDWA",
     .fields = "src0_sel",
     .first = 1,
     .last = 1,
     .rows = "v_cvt_pk_f32_?p8|v_cvt_pk_f32_bf8",
     .why = "bit 0 says which word",
     .source = "CDNA3 ISA, V_CVT_PK_F32_FP8"},
    {.layouts = "VOPC SDWA",
     .fields = "src?_sel",
     .last = 0,
     .rows = "v_cmp_[ou]_f32|v_cmpx_[ou]_f32",
     .why = "a byte or a word is no NaN",
     .source = own},
    {.layouts = "VOPC SDWA",
     .fields = "src?_sel",
     .first = 1,
     .last = 1,
     .rows = "v_cmp_[ou]_f16|v_cmpx_[ou]_f16",
     .why = "a byte is no NaN; the word 0 is what a whole register gives",
     .source = own},
    {.layouts = "VOP1 SDWA",
     .fields = "dst_unused",
     .last = 0,
     .rows = "v_cvt_off_f32_i4|v_cvt_f32_ubyte?|v_screen_partition_4se_b32|v_cvt_f32_bf16",
     .why = "the byte or word that would be extended has no sign",
     .source = own},
    {.layouts = "VOP2 SDWA",
     .fields = "src0_sext",
     .rows = "v_lsh?rev_*|v_ashrrev_*",
     .why = "a count has five bits or fewer",
     .source = own},
    {.layouts = "VOP3|VOP3 *",
     .fields = "*src0|lane_sel",
     .rows = "v_mbcnt_hi_u32_b32",
     .when = half_wave,
     .why = "counts lanes from 32 on",
     .source = own},
};

}  // namespace

std::span<const Hint> vector_hints() { return hints; }

}  // namespace rapt::sim::test
