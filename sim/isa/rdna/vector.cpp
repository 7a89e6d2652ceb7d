#include "sim/isa/rdna/vector.hpp"

#include "sim/isa/rdna/traits.hpp"

#include <algorithm>

namespace rapt::sim::rdna_isa {

bool is_half(Type type) {
  return type == Type::b16 || type == Type::i16 || type == Type::u16 || type == Type::f16 || type == Type::bf16;
}

bool is_packed(Type type) { return type == Type::pk_f16 || type == Type::pk_bf16; }

bool is_wide(Type type) { return type != Type::mask && dwords(type, 32) > 1; }

bool is_true16(const Opcode& row) {
  if ((row.traits & trait::scalar_dst) != 0) return false;
  return is_half(row.dst) || std::any_of(row.src.begin(), row.src.end(), is_half);
}

unsigned encoded_sources(const Opcode& row) {
  unsigned count = 0;
  while (count < 3 && row.src[count] != Type::none) ++count;
  return count - ((row.traits & trait::reads_dst) != 0 ? 1 : 0);
}

namespace {

bool has_op_sel(const Opcode& row) {
  const bool by_trait = (row.traits & (trait::op_sel | trait::fetch_control | trait::byte_select)) != 0;
  return is_true16(row) || by_trait || row.src[0] == Type::b8;
}

// RDNA3 and RDNA4 documents, "Input operand modifiers": floats, and the operands of moves and selects.
bool has_sign(const Opcode& row, unsigned source) {
  const bool selects = row.name.starts_with("v_cndmask_") || row.name == "v_mov_b16";
  const bool exponent = source == 1 && (row.traits & trait::integer_src1) != 0;
  return selects || (is_float(row.src[source]) && !exponent);
}

}  // namespace

void drop_ignored_modifiers(Reader& in) {
  const Opcode& row = in.row();
  Instruction& out = in.out;
  for (unsigned i = 0; i < 3; ++i) {
    if (has_sign(row, i)) continue;
    out.neg &= static_cast<std::uint8_t>(~(1U << i));
    out.abs &= static_cast<std::uint8_t>(~(1U << i));
  }
  if (!has_op_sel(row)) out.op_sel = 0;
}

Allowed allowed_modifiers(const Opcode& row) {
  const auto is = [&](Traits trait) { return (row.traits & trait) != 0; };
  const bool true16 = is_true16(row);
  const unsigned count = encoded_sources(row);
  Allowed out{};
  for (unsigned i = 0; i < count; ++i) {
    if (row.src[i] == Type::mask) continue;
    if (is_float(row.src[i]) || true16 || is(trait::modifiers)) out.sources |= 1U << i;
    out.op_sel |= 1U << i;
  }
  if (is(trait::no_modifiers)) out.sources = 0;
  if (row.dst != Type::mask) out.op_sel |= 8;
  if (is(trait::byte_select)) out.op_sel = 12;
  if (count == 1 && row.src[0] == Type::b8) out.op_sel = 3;
  if (!has_op_sel(row)) out.op_sel = 15;  // ignored
  const bool float_result = is_float(row.dst);
  const bool float_comparison = row.dst == Type::mask && is_float(row.src[0]);
  out.clamp = (float_result || float_comparison || is(trait::clamp)) && !is(trait::no_clamp);
  out.omod = (float_result || is(trait::omod)) && !is(trait::no_omod);
  if (row.src[0] == Type::b8) out.clamp = out.omod = false;
  return out;
}

Type matrix_constant(const Opcode& row) {
  if ((row.traits & trait::f16_result) != 0) return Type::pk_f16;
  return (row.traits & trait::bf16_result) != 0 ? Type::pk_bf16 : Type::f32;
}

bool has_dpp(const Opcode& row) {
  return (row.traits & trait::no_dpp) == 0 && !is_wide(row.dst) &&
         std::none_of(row.src.begin(), row.src.end(), is_wide);
}

Dpp dpp_code(unsigned source) {
  if (source == 250) return Dpp::dpp16;
  return source == 233 || source == 234 ? Dpp::dpp8 : Dpp::none;
}

// DPP words: RDNA3 ISA, "Data parallel processing".
unsigned read_dpp(Reader& in, unsigned source, bool with_modifiers) {
  const std::uint32_t word = in.extra_word();
  Instruction& out = in.out;
  if (dpp_code(source) == Dpp::dpp8) {
    out.lane_map = LaneMap::dpp8;
    out.dpp8 = word >> 8;
    out.fetch_inactive = source == 234;
    return word & 0xff;
  }
  out.lane_map = LaneMap::dpp16;
  out.dpp_ctrl = static_cast<std::uint16_t>(word >> 8 & 0x1ff);
  out.fetch_inactive = (word >> 18 & 1) != 0;
  out.bound_ctrl = (word >> 19 & 1) != 0;
  out.bank_mask = static_cast<std::uint8_t>(word >> 24 & 15);
  out.row_mask = static_cast<std::uint8_t>(word >> 28);
  if (with_modifiers) {
    out.neg = static_cast<std::uint8_t>((word >> 20 & 1) | (word >> 22 & 1) << 1);
    out.abs = static_cast<std::uint8_t>((word >> 21 & 1) | (word >> 23 & 1) << 1);
  }
  // quad_perm, row_shl, row_shr, row_ror, row_mirror, row_half_mirror, row_share, row_xmask
  const unsigned control = out.dpp_ctrl;
  in.require(control < 0x130 ? control != 0x100 && control != 0x110 && control != 0x120
                             : (control >= 0x140 && control <= 0x141) || (control >= 0x150 && control < 0x170));
  return word & 0xff;
}

Operand short_vgpr(Reader& in, unsigned field, Type type) {
  if (!is_half(type)) return in.vgpr(field, type);
  Operand out = in.vgpr(field & 0x7f, type);
  out.high = (field & 0x80) != 0;
  return out;
}

}  // namespace rapt::sim::rdna_isa
