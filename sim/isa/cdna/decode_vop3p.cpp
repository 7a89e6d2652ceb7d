#include "sim/isa/cdna/decode.hpp"

namespace rapt::sim::gfx9 {
namespace {

constexpr unsigned code_scale_prefix = 0x2c;

bool accvgpr(Reader& reader) {
  if (reader.bits(8, 6) != 0 || reader.bits(61, 3) != 0) return false;
  Instruction& out = reader.out;
  out.dst = reader.vector(reader.is(trait::acc_dst), reader.bits(0, 8), 1);
  const unsigned source = reader.bits(32, 9);
  if (reader.is(trait::acc_src0)) {
    if (source < 256) return false;
    out.src[0] = reader.agpr(source - 256, 1);
  } else {
    out.src[0] = reader.source(source, reader.row().src[0]);
  }
  return true;
}

}  // namespace

bool decode_vop3p(Reader& reader) {
  const unsigned code = reader.bits(16, 7);
  if (code == code_scale_prefix && begin_scaled_matrix(reader)) return decode_scaled_matrix(reader);
  if (!reader.begin(Format::vop3p, code, 2)) return false;
  if (reader.is(trait::matrix | trait::sparse)) return decode_matrix(reader);
  if (reader.is(trait::acc_dst | trait::acc_src0)) return accvgpr(reader);
  if (code == code_scale_prefix && reader.bits(0, 8) != 0) return false;

  const Opcode& row = reader.row();
  Instruction& out = reader.out;
  const unsigned count = encoded_sources(row);
  const auto used = static_cast<std::uint8_t>((1U << count) - 1);
  if (row.dst != Type::none) out.dst = reader.vgpr(reader.bits(0, 8), reader.dwords(row.dst));
  const unsigned op_sel_hi = reader.bits(59, 2) | reader.bits(14, 1) << 2;
  for (unsigned i = 0; i < count; ++i)
    out.src[i] = reader.source(reader.bits(32 + 9 * i, 9), constant_type(row, i, op_sel_hi));

  const unsigned neg = reader.bits(61, 3), neg_hi = reader.bits(8, 3), op_sel = reader.bits(11, 3);
  reader.require(((neg | neg_hi | op_sel) & ~used) == 0);
  if (!reader.is(trait::lax_modifiers)) {
    out.neg = static_cast<std::uint8_t>(neg);
    // v_fma_mix has abs in place of neg_hi.
    (is_mix(row) ? out.abs : out.neg_hi) = static_cast<std::uint8_t>(neg_hi);
  }
  if (reader.is(trait::no_op_sel)) {
    reader.require(op_sel == 0);
  } else {
    out.op_sel = static_cast<std::uint8_t>(op_sel);
    out.op_sel_hi = static_cast<std::uint8_t>(op_sel_hi & used);
  }
  out.clamp = reader.bit(15);
  reader.require(!out.clamp || !reader.is(trait::no_clamp));
  return true;
}

}  // namespace rapt::sim::gfx9
