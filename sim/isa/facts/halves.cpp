#include "sim/isa/facts/halves.hpp"

#include <algorithm>

namespace rapt::sim {

bool is_half(Type type) {
  return type == Type::b16 || type == Type::i16 || type == Type::u16 || type == Type::f16 || type == Type::bf16;
}

namespace {

bool says(const Instruction& i, std::string_view part) { return i.opcode->name.find(part) != std::string_view::npos; }

constexpr std::uint32_t half(bool upper) { return upper ? 0xffff0000 : 0xffff; }
constexpr std::uint32_t byte(unsigned number) { return 0xffU << 8 * number; }

std::uint32_t selected(SdwaSelect select) {
  if (select == SdwaSelect::dword) return ~0U;
  if (select >= SdwaSelect::word0) return half(select == SdwaSelect::word1);
  return byte(static_cast<unsigned>(select));
}

WrittenBits written_by_sdwa(const Instruction& i) {
  const bool whole = i.dst_sel == SdwaSelect::dword;
  const std::uint32_t part = whole && is_half(i.opcode->dst) ? half(false) : selected(i.dst_sel);
  if (!whole && i.dst_unused == SdwaUnused::preserve) return {part, 0};
  if (whole || i.dst_unused == SdwaUnused::pad) return {part, ~part};
  const std::uint32_t below = (part & (~part + 1)) - 1;  // the sign fills the bits above
  return {~below, below};
}

// A small float of a register that holds four or more: one or two of its bytes. gfx12's op_sel holds a byte's number
// with its bits reversed.
std::uint32_t small_float_source(const Instruction& i) {
  const unsigned low = i.op_sel & 1, high = i.op_sel >> 1 & 1;
  if (i.opcode->src[0] == Type::b8) return byte(2 * low + high);
  const bool two = says(i, "cvt_pk_f32_") || (says(i, "scalef32_pk_") && !says(i, "_fp4"));
  return two ? half(low != 0) : byte(low + 2 * high);
}

bool takes_small_float(const Instruction& i) {
  if (!i.opcode->name.starts_with("v_cvt_")) return false;
  const Type type = i.opcode->src[0];
  return type == Type::pk_fp8 || type == Type::b8 ||
         (type == Type::b32 && says(i, "scalef32_pk_") && i.opcode->name.ends_with("_fp4"));
}

// Conversions to one small float or two, which go to the byte or half that op_sel selects.
bool gives_small_float(const Instruction& i) {
  const Type type = i.opcode->dst;
  return type == Type::pk_fp8 || type == Type::b8 || (type == Type::b32 && says(i, "pk_fp4_"));
}

WrittenBits written_by_op_sel(const Instruction& i) {
  const bool two = says(i, "pk_fp8_") || says(i, "pk_bf8_");
  return {two ? half((i.op_sel & 8) != 0) : byte(i.op_sel >> 2 & 3), 0};
}

// gfx9's operations of VOP1 and VOP2 except multiply-adds, and VOP3's legacy ones (LLVM's zeroesHigh16BitsOfDest lists
// them).
bool clears_upper_half(const Instruction& i) {
  const std::string_view name = i.opcode->name;
  if (i.opcode->format == Format::vop3) return says(i, "_legacy_");
  return i.opcode->format != Format::vop3p && !name.starts_with("v_mac") && !name.starts_with("v_mad");
}

unsigned halves_of(std::uint32_t bits) {
  return ((bits & half(false)) != 0 ? halves::lower : 0) | ((bits & half(true)) != 0 ? halves::upper : 0);
}

bool names(const Operand& o, unsigned vgpr) {
  return o.kind == OperandKind::vgpr && vgpr >= o.index && vgpr < o.index + std::max<unsigned>(1, o.dwords);
}

}  // namespace

std::uint32_t read_bits(const Instruction& i, unsigned n) {
  const Type type = i.opcode->src[n];
  if (i.lane_map == LaneMap::sdwa && n < 2 && i.src_sel[n] != SdwaSelect::dword) return selected(i.src_sel[n]);
  if (says(i, "v_fma_mix")) return (i.op_sel_hi >> n & 1) == 0 ? ~0U : half((i.op_sel >> n & 1) != 0);
  if (is_half(type)) return half(i.src[n].high || (i.op_sel >> n & 1) != 0);
  return n == 0 && takes_small_float(i) ? small_float_source(i) : ~0U;
}

WrittenBits written_bits(const Instruction& i, Arch arch) {
  if (i.lane_map == LaneMap::sdwa) return written_by_sdwa(i);
  if (gives_small_float(i)) return written_by_op_sel(i);
  if (!is_half(i.opcode->dst)) return {};
  if (i.dst.high || (i.op_sel & 8) != 0 || says(i, "v_fma_mixhi")) return {half(true), 0};
  return {half(false), is_cdna(arch) && clears_upper_half(i) ? half(true) : 0};
}

unsigned read_halves(const Instruction& i, unsigned vgpr) {
  unsigned all = i.dual ? read_halves(*i.dual, vgpr) : 0;
  for (unsigned n = 0; n < i.src.size(); ++n)
    if (names(i.src[n], vgpr)) all |= i.src[n].dwords > 1 ? halves::both : halves_of(read_bits(i, n));
  return all;
}

unsigned written_halves(const Instruction& i, unsigned vgpr) {
  unsigned all = i.dual ? written_halves(*i.dual, vgpr) : 0;
  if (names(i.dst, vgpr)) all |= i.dst.dwords > 1 ? halves::both : halves_of(~written_bits(i, Arch::gfx1100).kept());
  return all;
}

unsigned moved_halves(const Instruction& i, const Operand& data) {
  if (says(i, "format_xy")) return halves::both;  // two or more components fill registers
  return data.high || says(i, "d16_hi") ? halves::upper : halves::lower;
}

}  // namespace rapt::sim
