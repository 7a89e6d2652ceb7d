// VOP1, VOP2 and VOPC in their 32-bit encodings, followed by a literal or a DPP word if any.
#include "sim/isa/rdna/decode.hpp"
#include "sim/isa/rdna/traits.hpp"
#include "sim/isa/rdna/vector.hpp"

namespace rapt::sim::rdna_isa {
namespace {

Operand first_source(Reader& in, Type type) {
  const unsigned code = in.field(8, 0);
  if (dpp_code(code) != Dpp::none) {
    in.require(has_dpp(in.row()));
    const unsigned reg = read_dpp(in, code, true);
    const unsigned sources = allowed_modifiers(in.row()).sources;
    in.require(((in.out.neg | in.out.abs) & ~sources) == 0);
    drop_ignored_modifiers(in);
    return short_vgpr(in, reg, type);
  }
  if (code >= 256) return short_vgpr(in, code - 256, type);
  in.require(!in.is(trait::vgpr_src0));
  Operand out = in.source(code, type);
  if (in.is(trait::splat) && out.kind == OperandKind::constant && !out.literal) out.value |= out.value << 16;
  return out;
}

const Opcode* begin(Reader& in) {
  switch (in.field(30, 25)) {
    case 0x3f: return in.begin(Format::vop1, in.field(16, 9), 1);
    case 0x3e: return in.begin(Format::vopc, in.field(24, 17), 1);
    default: return in.begin(Format::vop2, in.field(30, 25), 1);
  }
}

Operand short_destination(Reader& in) {
  const Opcode& row = in.row();
  if (row.format == Format::vopc) {
    return row.name.starts_with("v_cmpx") ? in.exec_mask() : in.vcc_mask();
  }
  const unsigned field = in.field(24, 17);
  if (row.dst == Type::none) return {};
  if (!in.is(trait::scalar_dst)) return short_vgpr(in, field, row.dst);
  const Operand out = in.scalar(field, row.dst);
  in.require(out.index != sreg::m0);
  return out;
}

}  // namespace

void decode_short_vector(Reader& in) {
  const Opcode* row = begin(in);
  if (row == nullptr) return;
  Instruction& out = in.out;
  out.dst = short_destination(in);
  if (row->dst2 == Type::mask) out.dst2 = in.vcc_mask();
  if (row->src[0] == Type::none) {
    in.require(in.field(24, 17) == 0);
    return;
  }
  out.src[0] = first_source(in, row->src[0]);
  if (row->format == Format::vop1) return;

  const unsigned second = in.field(16, 9);
  if (in.is(trait::literal_src1)) {
    out.src[1] = in.literal(row->src[1]);
    out.src[2] = short_vgpr(in, second, row->src[2]);
    return;
  }
  out.src[1] = short_vgpr(in, second, row->src[1]);
  if (row->dst == Type::pk_f16) out.op_sel_hi = 7;  // v_pk_fmac_f16 works on each half
  if (in.is(trait::literal_src2)) {
    out.src[2] = in.literal(row->src[2]);
  } else if (in.is(trait::reads_dst)) {
    out.src[2] = out.dst;
  } else if (row->src[2] == Type::mask) {
    out.src[2] = in.vcc_mask();
  }
}

}  // namespace rapt::sim::rdna_isa
