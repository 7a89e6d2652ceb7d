// Bits of literals that do not reach the result, because the operand is narrower than a literal or the operation
// ignores them.
#include "sim/tests/support/bits/hints.hpp"

#include <algorithm>

namespace rapt::sim::test {
namespace {

unsigned width(Type type) {
  switch (type) {
    case Type::b8: return 8;
    case Type::b16:
    case Type::i16:
    case Type::u16:
    case Type::f16:
    case Type::bf16: return 16;
    default: return 32;
  }
}

// Beyond the widest operand that the literal may be.
bool beyond_operands(const FormOf& f, unsigned bit) {
  const bool first_alone =
      f.layout.name.starts_with("VOP1") || f.layout.name.starts_with("VOP2") || f.layout.name.starts_with("VOPC");
  if (f.row().src[0] == Type::b8 && f.layout.name.starts_with("VOP3")) return false;  // op_sel selects the byte
  unsigned widest = width(f.row().src[0]);
  for (const Type type : f.row().src)
    if (type != Type::none && type != Type::mask && !first_alone) widest = std::max(widest, width(type));
  return bit >= widest;
}

constexpr std::string_view counts = "counts and positions have as many bits";
constexpr std::string_view own = "ISA documents, chapter \"Instructions\": the entry of the instruction";

constexpr Hint hints[] = {
    {.fields = "literal",
     .when = beyond_operands,
     .why = "narrower operands see a literal's low bits",
     .source = "ISA documents, \"Literal Constants\""},
    {.fields = "literal", .first = 16, .rows = "v_cvt_pk_f32_?p8|v_cvt_pk_f32_bf8", .why = "two bytes", .source = own},
    {.layouts = "VOP1*",
     .fields = "literal",
     .first = 8,
     .rows = "v_cvt_f32_fp8|v_cvt_f32_bf8",
     .why = "a byte",
     .source = own},

    {.fields = "literal", .first = 8, .rows = "s_sext_i32_i8", .why = "extends a byte", .source = own},
    {.fields = "literal", .first = 16, .rows = "s_sext_i32_i16", .why = "extends the low half", .source = own},
    {.fields = "literal",
     .first = 8,
     .rows = "s_set_gpr_idx_idx|s_set_gpr_idx_on",
     .why = "eight bits of index",
     .source = own},
    {.fields = "literal",
     .last = 15,
     .rows = "s_cvt_hi_f32_f16|s_pack_hh_b32_b16",
     .why = "takes the high half",
     .source = own},
    {.fields = "literal", .first = 16, .rows = "s_pack_ll_b32_b16", .why = "takes the low half", .source = own},
    {.fields = "literal", .first = 5, .rows = "s_bitset?_b32|?_bfm_b32", .why = counts, .source = own},
    {.fields = "literal", .first = 6, .rows = "s_bitset?_b64|s_bfm_b64", .why = counts, .source = own},

    {.layouts = "VOP2*",
     .fields = "literal",
     .first = 5,
     .rows = "v_lsh?rev_b32|v_ashrrev_i32",
     .why = counts,
     .source = own},
    {.layouts = "VOP2*",
     .fields = "literal",
     .first = 4,
     .rows = "v_lsh?rev_b16|v_ashrrev_i16",
     .why = counts,
     .source = own},
    {.layouts = "VOP2*", .fields = "literal", .first = 6, .rows = "v_lsh?rev_b64", .why = counts, .source = own},
    {.fields = "literal",
     .first = 5,
     .last = 19,
     .rows = "v_trig_preop_f64",
     .why = "an exponent, or five bits of position",
     .source = own},
    {.fields = "literal",
     .first = 31,
     .rows = "v_trig_preop_f64",
     .why = "a sign, which does not count",
     .source = own},
    {.fields = "literal", .first = 24, .rows = "v_mul_*_?24|v_mul_?32_?24", .why = "24 bits of factors", .source = own},
    {.fields = "literal", .first = 8, .rows = "v_cvt_f32_ubyte0", .why = "byte 0", .source = own},
    {.fields = "literal", .last = 7, .rows = "v_cvt_f32_ubyte[123]", .why = "a higher byte", .source = own},
    {.fields = "literal", .first = 16, .rows = "v_cvt_f32_ubyte1", .why = "byte 1", .source = own},
    {.fields = "literal", .first = 8, .last = 15, .rows = "v_cvt_f32_ubyte[23]", .why = "a higher byte", .source = own},
    {.fields = "literal", .first = 24, .rows = "v_cvt_f32_ubyte2", .why = "byte 2", .source = own},
    {.fields = "literal", .first = 16, .last = 23, .rows = "v_cvt_f32_ubyte3", .why = "byte 3", .source = own},
    {.fields = "literal", .first = 4, .rows = "v_cvt_off_f32_i4", .why = "four bits", .source = own},
    {.fields = "literal",
     .first = 8,
     .rows = "v_screen_partition_4se_b32",
     .why = "eight bits of pixel",
     .source = own},
    {.fields = "literal",
     .first = 31,
     .rows = "v_frexp_exp_i32_*|v_cmp*_[ou]_f32|v_cmp*_[ou]_f64|s_cmp_[ou]_f32",
     .why = "exponents, and being a NaN, have no sign",
     .source = own},
    {.fields = "literal",
     .first = 15,
     .last = 15,
     .rows = "v_frexp_exp_i16_f16|v_cmp*_[ou]_f16|s_cmp_[ou]_f16",
     .why = "exponents, and being a NaN, have no sign",
     .source = own},
};

}  // namespace

std::span<const Hint> literal_hints() { return hints; }

}  // namespace rapt::sim::test
