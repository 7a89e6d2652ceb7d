#include "sim/tests/support/vop/rulings.hpp"

#include <bit>

namespace rapt::sim::test {
namespace {

enum class Part : std::uint8_t { neg, abs, op_sel, op_sel_hi, clamp, omod };

struct Bit {
  Part part;
  unsigned number;
};
Bit bit_of(const VopForm& form, const Modifiers& m) {
  const auto lowest = [](unsigned bits) { return static_cast<unsigned>(std::countr_zero(bits)); };
  if (m.neg != 0) return {Part::neg, lowest(m.neg)};
  if (m.abs != 0) return {Part::abs, lowest(m.abs)};
  if (m.op_sel != 0) return {Part::op_sel, lowest(m.op_sel)};
  if (m.clamp) return {Part::clamp, 0};
  if (m.omod != 0) return {Part::omod, 0};
  return {Part::op_sel_hi, lowest(m.op_sel_hi ^ plain_modifiers(form).op_sel_hi)};
}

constexpr unsigned any = 0xf;

struct Rule {
  std::string_view stem;
  ArchSet archs;
  Part part;
  unsigned numbers;  // a bit for each source that it holds for
  Effect effect;
  std::string_view source;
};
constexpr Rule rules[] = {
    // Documented to do nothing.
    {"v_cmp", every_arch, Part::clamp, any, Effect::none, "CDNA4 6.5, RDNA4 7.2.3.1: the comparison signals"},
    {"v_dot2_f32_", rdna, Part::clamp, any, Effect::none, "RDNA3, RDNA4 7.2.3.1: ignored by float DOT instructions"},
    {"v_align", every_arch, Part::clamp, any, Effect::none, "RDNA3, RDNA4 7.2.3.1: ignored by V_ALIGN*"},
    {"v_pk_mov_b32", cdna, Part::clamp, any, Effect::none, "CDNA4 6.2.2: output modifiers are for floats"},
    {"v_permlane", every_arch, Part::op_sel, 3, Effect::none, "bound_ctrl and fi, with every lane active"},
    // Left open.
    {"v_dot2_f16_f16", rdna, Part::abs, 3, Effect::open, "RDNA4 7.2.2.1: DOT2 with F16: NEG ok but ABS is not"},
    {"v_dot2_bf16_bf16", rdna, Part::abs, 3, Effect::open, "RDNA4 7.2.2.1: DOT2 with BF16: NEG ok but ABS is not"},
    {"v_dot2_", cdna, Part::op_sel, any, Effect::open, "CDNA4 6.2.1: DOT instructions must not use OPSEL"},
    {"v_dot2_", cdna, Part::op_sel_hi, any, Effect::open, "CDNA4 6.2.1: DOT instructions must not use OPSEL"},
    {"v_dot4_i32_iu8", gfx12, Part::clamp, any, Effect::open, "RDNA4 7.2.3.1: ignored; compilers saturate with it"},
    {"v_dot4_u32_u8", gfx12, Part::clamp, any, Effect::open, "RDNA4 7.2.3.1: ignored; compilers saturate with it"},
    {"v_dot4_f32_", gfx12, Part::op_sel_hi, any, Effect::open, "RDNA4 7.7: OPSEL_HI must be 7"},
    {"v_dot4_i32_iu8", rdna, Part::neg, 4, Effect::open, "RDNA4 7.7: NEG[2] of DOT IU is undefined"},
    {"v_dot8_i32_iu4", rdna, Part::neg, 4, Effect::open, "RDNA4 7.7: NEG[2] of DOT IU is undefined"},
    {"v_dot4_i32_iu8", rdna, Part::abs, any, Effect::open, "RDNA4 7.7: NEG_HI of DOT IU is undefined"},
    {"v_dot8_i32_iu4", rdna, Part::abs, any, Effect::open, "RDNA4 7.7: NEG_HI of DOT IU is undefined"},
    {"v_pk_mul_lo_u16", every_arch, Part::clamp, any, Effect::open, "whether the low half or the product is clamped"},
    {"v_pk_mov_b32", cdna, Part::op_sel_hi, any, Effect::open, "not documented; each result takes one source"},
    {"v_dot2c_", cdna, Part::neg, any, Effect::open, "a pair in VOP3: not documented which halves it means"},
    {"v_dot2c_", cdna, Part::abs, any, Effect::open, "a pair in VOP3: not documented which halves it means"},
    {"v_dot2c_f32_", cdna, Part::omod, any, Effect::open, "CDNA4 6.4 takes V_DOT2 out of the modes that OMOD needs"},
    {"v_pk_fmac_f16", cdna, Part::neg, any, Effect::open, "a pair in VOP3: not documented which halves it means"},
    {"v_pk_fmac_f16", cdna, Part::abs, any, Effect::open, "a pair in VOP3: not documented which halves it means"},
};

constexpr std::string_view absent = "the operation has no such operand";
constexpr std::string_view not_float = "RDNA4 7.2.2.1: ABS and NEG are undefined for any type but floats";
constexpr std::string_view not_16_bits = "RDNA4 7.1: OPSEL must be zero for any but 16-bit operands and results";
constexpr std::string_view floats_alone = "RDNA4 7.7: NEG and NEG_HI are for float inputs only";
constexpr std::string_view no_product = "CDNA4 6.2.2, RDNA3 7.2.3.1: ignored for integer, bit and packed results";
constexpr std::string_view unknown_to_llvm = "LLVM knows no such modifier of the operation";

const VopSource* source_of(const VopForm& form, unsigned number) {
  for (const VopSource& source : form.sources)
    if (source.number == number) return &source;
  return nullptr;
}

Ruling packed_ruling(const VopForm& form, Bit bit) {
  const ValueKind kind = source_kind(form, bit.number);
  switch (bit.part) {
    case Part::neg:
    case Part::abs:
      if (form.is_mix() || (form.has("iu8") || form.has("iu4"))) return {};
      if (!kind.is_float()) return {Effect::none, floats_alone};
      // A single f32 has no upper half; v_dot4_f32_* have abs there.
      if (bit.part == Part::abs && !kind.pair && !form.starts_with("v_dot4_f32_"))
        return {Effect::open, "NEG_HI is for the upper 16 bits"};
      return {};
    case Part::op_sel:
    case Part::op_sel_hi: return form.is_mix() || kind.pair ? Ruling{} : Ruling{Effect::open, not_16_bits};
    default: return {};
  }
}

// Conversions of 8 bits and fewer: op_sel's lower bits select the byte (for a pair of bytes, the half) of the source,
// its upper ones the byte of the result.
bool picks_bytes(const VopForm& form, unsigned number) {
  const std::string_view name = form.opcode->name;
  const bool widens = name.ends_with("_fp8") || name.ends_with("_bf8"), fp4 = name.ends_with("_fp4");
  if (number == 0) return widens || fp4;
  return (number == 1 && (fp4 || (widens && !form.has("pk")))) || (number == 2 && result_kind(form).bits == 8);
}

Ruling vop3_ruling(const VopForm& form, Bit bit) {
  const ValueKind result = result_kind(form), kind = source_kind(form, bit.number);
  const bool selects = form.starts_with("v_cndmask_") || form.starts_with("v_mov_b16");
  switch (bit.part) {
    case Part::neg:
    case Part::abs: return kind.is_float() || selects ? Ruling{} : Ruling{Effect::open, not_float};
    case Part::op_sel:
      if (bit.number == 3) return result.bits <= 16 && !result.pair ? Ruling{} : Ruling{Effect::open, not_16_bits};
      return picks_bytes(form, bit.number) || (kind.bits == 16 && !kind.pair) ? Ruling{}
                                                                              : Ruling{Effect::open, not_16_bits};
    case Part::omod: return result.is_float() && !result.pair ? Ruling{} : Ruling{Effect::none, no_product};
    default: return {};
  }
}

}  // namespace

Ruling ruling(const VopForm& form, const Modifiers& single, Known known) {
  const Bit bit = bit_of(form, single);
  // RDNA3 and RDNA4 7.2.2.1 say that V_MOV_B16 takes neg and abs.
  const bool moves = form.starts_with("v_mov_b16") && (bit.part == Part::neg || bit.part == Part::abs);
  if (known == Known::ignored && !(moves && bit.number == 0)) return {Effect::none, unknown_to_llvm};
  for (const Rule& rule : rules)
    if (rule.part == bit.part && contains(rule.archs, form.arch) && (rule.numbers >> bit.number & 1) != 0 &&
        form.starts_with(rule.stem))
      return {rule.effect, rule.source};
  const bool of_source = bit.part != Part::clamp && bit.part != Part::omod && bit.number < 3;
  const bool of_bytes = bit.part == Part::op_sel && picks_bytes(form, bit.number);
  if (of_source && source_of(form, bit.number) == nullptr && !of_bytes) return {Effect::open, absent};
  return form.is_vop3p() ? packed_ruling(form, bit) : vop3_ruling(form, bit);
}

}  // namespace rapt::sim::test
