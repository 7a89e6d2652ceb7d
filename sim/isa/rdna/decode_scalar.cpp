// SOP1, SOP2, SOPK, SOPC, SOPP and SMEM.
#include "sim/isa/rdna/decode.hpp"
#include "sim/isa/rdna/traits.hpp"

namespace rapt::sim::rdna_isa {
namespace {

Operand scalar_source(Reader& in, unsigned low, Type type) {
  const unsigned code = in.field(low + 7, low);
  if (in.is(trait::register_src0)) {
    const Operand out = in.source(code, type);
    in.require(out.kind != OperandKind::constant && code != 254);
    return out;
  }
  in.require(code != 254 && !(code == 255 && in.is(trait::no_literal)));
  return in.source(code, type);
}

void decode_sop2(Reader& in) {
  const Opcode* row = in.begin(Format::sop2, in.field(29, 23), 1);
  if (row == nullptr) return;
  in.out.dst = in.scalar(in.field(22, 16), row->dst);
  in.out.src[0] = scalar_source(in, 0, row->src[0]);
  const bool constant_second = in.is(trait::literal_src1);
  const Operand second = scalar_source(in, 8, row->src[constant_second ? 2 : 1]);
  if (constant_second) {
    in.out.src[1] = in.literal(row->src[1]);
    in.out.src[2] = second;
  } else {
    in.out.src[1] = second;
    if (in.is(trait::literal_src2)) in.out.src[2] = in.literal(row->src[2]);
    if (in.is(trait::reads_dst)) in.out.src[2] = in.out.dst;
  }
}

void decode_sop1(Reader& in) {
  const Opcode* row = in.begin(Format::sop1, in.field(15, 8), 1);
  if (row == nullptr) return;
  if (row->dst != Type::none) in.out.dst = in.scalar(in.field(22, 16), row->dst);
  if (row->src[0] != Type::none) {
    in.out.src[0] = scalar_source(in, 0, row->src[0]);
  } else {
    in.out.immediate = static_cast<std::int32_t>(in.field(7, 0));  // s_sendmsg_rtn
  }
  if (in.is(trait::reads_dst)) in.out.src[1] = in.out.dst;
}

void decode_sopc(Reader& in) {
  const Opcode* row = in.begin(Format::sopc, in.field(22, 16), 1);
  if (row == nullptr) return;
  in.out.src[0] = scalar_source(in, 0, row->src[0]);
  in.out.src[1] = scalar_source(in, 8, row->src[1]);
}

void decode_sopk(Reader& in) {
  const Opcode* row = in.begin(Format::sopk, in.field(27, 23), 1);
  if (row == nullptr) return;
  in.out.immediate = static_cast<std::int16_t>(in.field(15, 0));
  if (row->dst != Type::none) in.out.dst = in.scalar(in.field(22, 16), row->dst);
  if (in.is(trait::reads_dst)) {
    in.out.src[0] = in.out.dst;
  } else if (in.is(trait::literal_src0)) {
    in.out.src[0] = in.literal(row->src[0]);
  } else if (row->src[0] != Type::none) {
    in.out.src[0] = in.scalar(in.field(22, 16), row->src[0]);
  }
}

void decode_sopp(Reader& in) {
  const Opcode* row = in.begin(Format::sopp, in.field(22, 16), 1);
  if (row == nullptr) return;
  in.out.immediate = static_cast<std::int16_t>(in.field(15, 0));
  in.require(!in.is(trait::no_immediate) || in.out.immediate == 0);
}

}  // namespace

void decode_scalar(Reader& in) {
  switch (in.field(31, 23)) {
    case 0x17d: return decode_sop1(in);
    case 0x17e: return decode_sopc(in);
    case 0x17f: return decode_sopp(in);
    default: return in.field(31, 28) == 0xb ? decode_sopk(in) : decode_sop2(in);
  }
}

void decode_smem(Reader& in) {
  const bool gfx12 = in.gfx12();
  const Opcode* row = in.begin(Format::smem, gfx12 ? in.field(18, 13) : in.field(25, 18), 2);
  if (row == nullptr) return;
  const unsigned soffset = in.field(63, 57);
  if (row->dst != Type::none) {
    in.out.dst = in.scalar(in.field(12, 6), row->dst);
    in.require(in.out.dst.index != sreg::m0 && in.out.dst.index < sreg::exec);
  } else {
    in.out.immediate = static_cast<std::int32_t>(in.field(12, 6));  // s_prefetch: the length
  }
  if (row->src[0] != Type::none) in.out.src[0] = in.scalar(in.field(5, 0) << 1, row->src[0]);
  if (row->src[1] != Type::none && soffset != in.null_code) in.out.src[1] = in.scalar(soffset, row->src[1]);
  if (gfx12) {
    in.out.offset = static_cast<std::int32_t>(in.field(55, 32) << 8) >> 8;
    in.require(row->src[0] != Type::b128 || in.out.offset >= 0);
    if (row->dst == Type::none) {
      in.require(in.out.immediate < 32 || row->src[1] == Type::none);
      return;
    }
    in.out.temporal_hint = static_cast<std::uint8_t>(in.field(24, 23));
    in.out.scope = static_cast<std::uint8_t>(in.field(22, 21));
    in.out.nv = in.bit(20);
    in.require(!in.bit(56));  // gfx1250's scale_offset
  } else {
    in.out.offset = static_cast<std::int32_t>(in.field(52, 32) << 11) >> 11;
    in.out.glc = in.bit(14);
    in.out.dlc = in.bit(13);
    in.require(row->dst != Type::none || in.field(14, 13) == 0);
  }
}

}  // namespace rapt::sim::rdna_isa
