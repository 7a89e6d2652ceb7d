// VOP3: its own operations, and VOP1, VOP2 and VOPC with all modifiers.
#include "sim/isa/rdna/decode.hpp"
#include "sim/isa/rdna/traits.hpp"
#include "sim/isa/rdna/vector.hpp"

namespace rapt::sim::rdna_isa {
namespace {

// They share the opcode field: comparisons from 0 on, VOP2 from 0x100, VOP1 from 0x180.
const Opcode* find_row(const Reader& in, unsigned code) {
  if (const Opcode* row = in.find(Format::vop3, code)) return row;
  const Opcode* row = code < 0x100   ? in.find(Format::vopc, code)
                      : code < 0x180 ? in.find(Format::vop2, code - 0x100)
                      : code < 0x200 ? in.find(Format::vop1, code - 0x180)
                                     : nullptr;
  return row != nullptr && (row->traits & trait::no_e64) == 0 ? row : nullptr;
}

Operand vector_source(Reader& in, unsigned index, unsigned code) {
  const Type type = in.row().src[index];
  constexpr std::array vgprs_alone = {trait::vgpr_src0, trait::vgpr_src1, trait::vgpr_src2};
  in.require(code >= 256 || !in.is(vgprs_alone[index]));
  if (type == Type::mask) return in.scalar(code, type);
  Operand out = in.source(code, type);
  if (is_half(type) && out.kind != OperandKind::constant) out.high = (in.out.op_sel >> index & 1) != 0;
  return out;
}

void read_modifiers(Reader& in) {
  Instruction& out = in.out;
  const Allowed allowed = allowed_modifiers(in.row());
  out.neg = static_cast<std::uint8_t>(in.field(63, 61));
  out.omod = static_cast<std::uint8_t>(in.field(60, 59));
  out.clamp = in.bit(15);
  in.require((out.neg & ~allowed.sources) == 0 && (allowed.omod || out.omod == 0) && (allowed.clamp || !out.clamp));
  if (in.row().dst2 == Type::mask) return;  // the second destination takes the place of abs and op_sel
  out.abs = static_cast<std::uint8_t>(in.field(10, 8));
  out.op_sel = static_cast<std::uint8_t>(in.field(14, 11));
  in.require((out.abs & ~allowed.sources) == 0 && (out.op_sel & ~allowed.op_sel) == 0);
  drop_ignored_modifiers(in);
}

Operand destination(Reader& in) {
  const Opcode& row = in.row();
  const unsigned field = in.field(7, 0);
  if (row.dst == Type::none) {
    in.require(field == 0);
    return {};
  }
  if (row.format == Format::vopc && row.name.starts_with("v_cmpx")) return in.exec_mask();
  if (row.dst == Type::mask || in.is(trait::scalar_dst)) {
    const Operand out = in.scalar(field, row.dst);
    const bool v_s = row.name.starts_with("v_s_");  // not exec; v_readlane not m0
    in.require(row.dst == Type::mask || (v_s ? out.index < sreg::exec : out.index != sreg::m0));
    return out;
  }
  Operand out = in.vgpr(field, row.dst);
  if (is_half(row.dst)) out.high = (in.out.op_sel & 8) != 0;
  return out;
}

}  // namespace

void decode_vop3(Reader& in) {
  const Opcode* row = in.begin(find_row(in, in.field(25, 16)), 2);
  if (row == nullptr) return;
  Instruction& out = in.out;
  out.e64 = row->format != Format::vop3;
  read_modifiers(in);
  // The op_sel bits of packed sources next to a 16-bit one mean nothing.
  for (unsigned i = 0; i < 3; ++i) {
    if (is_true16(*row) && is_packed(row->src[i])) out.op_sel &= static_cast<std::uint8_t>(~(1U << i));
  }
  out.dst = destination(in);
  if (row->dst2 == Type::mask) out.dst2 = in.scalar(in.field(14, 8), Type::mask);

  std::array codes = {in.field(40, 32), in.field(49, 41), in.field(58, 50)};
  const bool dpp = encoded_sources(*row) > 0 && dpp_code(codes[0]) != Dpp::none;
  if (dpp) {
    in.require(has_dpp(*row) && !in.is(trait::no_e64_dpp));
    codes[0] = 256 + read_dpp(in, codes[0], false);
    in.require(codes[1] >= 256 || encoded_sources(*row) < 2 || dpp_takes_scalar(in.mode.arch));
  }
  for (unsigned i = 0; i < encoded_sources(*row); ++i) {
    in.require(!dpp || codes[i] != 255);
    out.src[i] = vector_source(in, i, codes[i]);
  }
  in.require(!in.is(trait::scalar_src0) || codes[0] < 256);
  in.require(!in.is(trait::scalar_sources) || (codes[1] < 256 && codes[2] < 256));
  in.require(!in.is(trait::scalar_src1) || (codes[1] < 256 && codes[1] != 255));
  if (in.is(trait::reads_dst)) out.src[encoded_sources(*row)] = out.dst;
}

}  // namespace rapt::sim::rdna_isa
