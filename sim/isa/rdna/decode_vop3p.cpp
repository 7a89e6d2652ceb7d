// VOP3P: packed halves, dot products, mixed precision, WMMA and SWMMAC.
#include "sim/isa/rdna/decode.hpp"
#include "sim/isa/rdna/traits.hpp"
#include "sim/isa/rdna/vector.hpp"

namespace rapt::sim::rdna_isa {
namespace {

Type half_as_wide(Type type) {
  switch (type) {
    case Type::b64: return Type::b32;
    case Type::b128: return Type::b64;
    case Type::b256: return Type::b128;
    default: return type;
  }
}

// The tables give the matrices' registers for 32 lanes. Waves of 64 lanes need half as many, except that gfx11 repeats
// A and B (RDNA3 and RDNA4 ISA, "WMMA").
Type operand_type(const Reader& in, Type type, bool result) {
  if (!in.is(trait::matrix) || in.mode.lanes == 32) return type;
  return in.gfx12() || result ? half_as_wide(type) : type;
}

struct Reserved {
  unsigned neg, neg_hi, op_sel, op_sel_hi;  // op_sel_hi: bits that are 1
  bool clamp;
};

Reserved reserved_modifiers(const Reader& in) {
  const unsigned all = (1U << encoded_sources(in.row())) - 1;
  Reserved out{~all, ~all, ~all, 0, in.is(trait::no_clamp)};
  if (in.is(trait::no_op_sel)) out.op_sel = 7;
  if (!in.gfx12() || !in.is(trait::matrix)) return out;
  if (in.is(trait::sparse)) {  // which part of the index register: waves of 64 lanes have twice as many parts
    const unsigned bits = (in.is(trait::index_key) ? 1 : 0) + (in.mode.lanes == 64 ? 1 : 0);
    out.op_sel = 7 & ~((1U << bits) - 1);
  } else {
    out.op_sel = 7;
  }
  out.op_sel_hi = 7;
  out.clamp = !in.is(trait::integer_sources);
  if (in.is(trait::sparse)) out.neg = out.neg_hi = 4;
  if (in.is(trait::integer_sources)) {
    out.neg = 4;
    out.neg_hi = 7;
  }
  if (in.is(trait::fp8_sources)) {
    out.neg |= 3;
    out.neg_hi |= 3;
  }
  return out;
}

void read_packed_modifiers(Reader& in) {
  Instruction& out = in.out;
  out.neg = static_cast<std::uint8_t>(in.field(63, 61));
  out.neg_hi = static_cast<std::uint8_t>(in.field(10, 8));
  out.op_sel = static_cast<std::uint8_t>(in.field(13, 11));
  out.op_sel_hi = static_cast<std::uint8_t>(in.field(60, 59) | in.field(14, 14) << 2);
  out.clamp = in.bit(15);
  const Reserved reserved = reserved_modifiers(in);
  in.require((out.neg & reserved.neg) == 0 && (out.neg_hi & reserved.neg_hi) == 0 &&
             (out.op_sel & reserved.op_sel) == 0 && (out.op_sel_hi & reserved.op_sel_hi) == reserved.op_sel_hi &&
             !(out.clamp && reserved.clamp));
}

bool is_vgpr_or_constant(unsigned code) {
  return code >= 256 || (code >= 128 && code < 230) || (code >= 240 && code < 249);
}

// What an inline constant of matrix C, or of a mixed-precision source, means.
Type constant_type(const Reader& in, unsigned index) {
  const Type type = in.row().src[index];
  if (in.is(trait::mix)) return (in.out.op_sel_hi >> index & 1) != 0 ? Type::f16 : type;
  return in.is(trait::matrix) && index == 2 ? matrix_constant(in.row()) : type;
}

}  // namespace

void decode_vop3p(Reader& in) {
  const Opcode* row = in.begin(Format::vop3p, in.field(22, 16), 2);
  if (row == nullptr) return;
  Instruction& out = in.out;
  in.require(!in.bit(23));
  read_packed_modifiers(in);
  out.dst = in.vgpr(in.field(7, 0), operand_type(in, row->dst, true));

  std::array codes = {in.field(40, 32), in.field(49, 41), in.field(58, 50)};
  const bool dpp = dpp_code(codes[0]) != Dpp::none;
  if (dpp) {
    in.require(has_dpp(*row));
    codes[0] = 256 + read_dpp(in, codes[0], false);
    in.require(codes[1] >= 256 || (dpp_takes_scalar(in.mode.arch) && !in.is(trait::mix) && !in.is(trait::fp8_sources)));
    in.require(codes[2] >= 256 || !in.is(trait::fp8_sources));
  }
  constexpr std::array vgprs_alone = {trait::vgpr_src0, trait::vgpr_src1, trait::vgpr_src2};
  // Matrix C: VGPRs or an inline constant.
  in.require(!in.is(trait::matrix) || is_vgpr_or_constant(codes[2]) || in.is(trait::vgpr_src2) ||
             !is_wide(row->src[2]));
  for (unsigned i = 0; i < encoded_sources(*row); ++i) {
    in.require(codes[i] >= 256 || !in.is(vgprs_alone[i]));
    in.require(!(dpp || in.is(trait::vgpr_src0)) || codes[i] != 255);
    out.src[i] = in.source(codes[i], operand_type(in, row->src[i], i == 2), constant_type(in, i));
  }
}

}  // namespace rapt::sim::rdna_isa
