#include "sim/isa/cdna/decode.hpp"

namespace rapt::sim::gfx9 {
namespace {

constexpr unsigned code_sdwa = 249, code_dpp = 250;

// A modifier bit of a source: kept if the operation takes it; otherwise it must be clear, or is ignored.
std::uint8_t modifier(Reader& reader, unsigned source, bool set, bool takes, bool lax) {
  if (!set) return 0;
  reader.require(takes || lax);
  return takes ? static_cast<std::uint8_t>(1U << source) : std::uint8_t{0};
}

Operand sdwa_source(Reader& reader, unsigned index, bool scalar, Type type) {
  if (!scalar) return reader.vgpr(index, 1);
  reader.require(index != 255);
  return reader.source(index, type, Sources::scalar);
}

void sdwa_destination(Reader& reader) {
  Instruction& out = reader.out;
  const Opcode& row = reader.row();
  if (row.format == Format::vopc) {
    if (reader.bit(47)) out.dst = reader.scalar(reader.bits(40, 7), 2);
    return;
  }
  out.clamp = reader.bit(45);
  out.omod = static_cast<std::uint8_t>(reader.bits(46, 2));
  reader.require(out.omod == 0 || is_float(row.dst));
  const unsigned select = reader.bits(40, 3), unused = reader.bits(43, 2);
  if (row.src[0] == Type::pk_fp8) {  // always a whole register
    reader.require(select == 6);
    return;
  }
  reader.require(select <= 6 && unused <= 2);
  out.dst_sel = static_cast<SdwaSelect>(select);
  out.dst_unused = static_cast<SdwaUnused>(unused);
}

void sdwa(Reader& reader) {
  Instruction& out = reader.out;
  out.size = 8;
  out.lane_map = LaneMap::sdwa;
  reader.word(1);
  const bool two = reader.row().src[1] != Type::none;
  out.src[0] = sdwa_source(reader, reader.bits(32, 8), reader.bit(55), reader.row().src[0]);
  if (two) out.src[1] = sdwa_source(reader, reader.bits(9, 8), reader.bit(63), constant_type(reader.row(), 1, 0));
  sdwa_destination(reader);
  if (!two) reader.require((reader.bits(56, 8) & 0xbf) == 0);
  for (unsigned i = 0; i < (two ? 2U : 1U); ++i) {
    const unsigned low = 48 + 8 * i;
    const Type type = reader.row().src[i];
    const bool packed = type == Type::pk_f16;  // neg and abs have no effect on a pair
    const bool takes = takes_modifiers(reader.row(), i) && !packed;
    const unsigned select = reader.bits(low, 3);
    reader.require(select <= 6);
    out.src_sel[i] = static_cast<SdwaSelect>(select);
    out.sext |= modifier(reader, i, reader.bit(low + 3), !takes && !packed, false);
    out.neg |= modifier(reader, i, reader.bit(low + 4), takes, packed);
    out.abs |= modifier(reader, i, reader.bit(low + 5), takes, packed);
  }
}

// gfx90a and later broadcast within a row; operations of the 64-bit pipe have no other DPP control.
bool is_control(Reader& reader, unsigned control) {
  const bool before_gfx90a = reader.before_gfx90a();
  const Opcode& row = reader.row();
  if (control >> 4 == 0x15) return !before_gfx90a;
  if (!before_gfx90a && (reader.dwords(row.dst) == 2 || reader.dwords(row.src[0]) == 2)) return false;
  if (control < 0x130) return control < 0x100 || (control & 15) != 0;
  if (control < 0x140) return control % 4 == 0;
  return control <= 0x143;
}

void dpp(Reader& reader) {
  Instruction& out = reader.out;
  out.size = 8;
  out.lane_map = LaneMap::dpp16;
  reader.word(1);
  out.dpp_ctrl = static_cast<std::uint16_t>(reader.bits(40, 9));
  reader.require(is_control(reader, out.dpp_ctrl));
  out.bound_ctrl = reader.bit(51);
  out.bank_mask = static_cast<std::uint8_t>(reader.bits(56, 4));
  out.row_mask = static_cast<std::uint8_t>(reader.bits(60, 4));
  out.src[0] = reader.vgpr(reader.bits(32, 8), reader.dwords(reader.row().src[0]));
  for (unsigned i = 0; i < 2; ++i) {
    const bool takes = takes_modifiers(reader.row(), i), lax = reader.is(trait::lax_modifiers);
    out.neg |= modifier(reader, i, reader.bit(52 + 2 * i), takes, lax);
    out.abs |= modifier(reader, i, reader.bit(53 + 2 * i), takes, lax);
  }
}

// Operations without sources ignore src0's field, but a second word that it announces belongs to them.
bool announces_word(unsigned code) { return code == code_sdwa || code == code_dpp || code == 255; }

// src0's field may announce a second word instead of naming a source.
bool first_source(Reader& reader) {
  const unsigned code = reader.bits(0, 9);
  if (code == code_sdwa) {
    if (reader.is(trait::no_sdwa)) return false;
    sdwa(reader);
  } else if (code == code_dpp) {
    if (reader.is(trait::no_dpp) || reader.row().format == Format::vopc) return false;
    dpp(reader);
  } else if (reader.is(trait::acc_src0)) {
    if (code < 256) return false;
    reader.out.src[0] = reader.agpr(code - 256, 1);
  } else {
    reader.out.src[0] =
        reader.source(code, reader.row().src[0], reader.is(trait::vgpr_src0) ? Sources::vgpr : Sources::any);
  }
  return true;
}

// v_madmk, v_madak and their fma forms: a literal always follows, and a literal source is that same one.
void fused_literal(Reader& reader) {
  const bool middle = reader.row().name[5] == 'm';  // v_fmamk, not v_fmaak
  Instruction& out = reader.out;
  const Operand second = reader.vgpr(reader.bits(9, 8), 1);
  const Operand literal = reader.source(255, reader.row().src[1]);
  out.src[1] = middle ? literal : second;
  out.src[2] = middle ? second : literal;
}

bool vopc(Reader& reader) {
  if (!reader.begin(Format::vopc, reader.bits(17, 8), 1)) return false;
  reader.out.dst = Reader::vcc();
  reader.out.src[1] = reader.vgpr(reader.bits(9, 8), reader.dwords(reader.row().src[1]));
  return first_source(reader);
}

bool vop1(Reader& reader) {
  if (!reader.begin(Format::vop1, reader.bits(9, 8), 1)) return false;
  const Type type = reader.row().dst;
  if (type == Type::none) return reader.bits(17, 8) == 0 && !announces_word(reader.bits(0, 9));
  const unsigned index = reader.bits(17, 8), count = reader.dwords(type);
  reader.out.dst = reader.is(trait::scalar_dst) ? reader.scalar(index, count)
                                                : reader.vector(reader.is(trait::acc_dst), index, count);
  return first_source(reader);
}

bool vop2(Reader& reader) {
  if (!reader.begin(Format::vop2, reader.bits(25, 6), 1)) return false;
  const Opcode& row = reader.row();
  Instruction& out = reader.out;
  out.dst = reader.vgpr(reader.bits(17, 8), reader.dwords(row.dst));
  if (row.dst2 == Type::mask) out.dst2 = Reader::vcc();
  if (!first_source(reader)) return false;
  if (row.traits & trait::no_e64) {
    fused_literal(reader);
    return true;
  }
  if (out.lane_map != LaneMap::sdwa) out.src[1] = reader.vgpr(reader.bits(9, 8), reader.dwords(row.src[1]));
  if (row.src[2] == Type::mask) out.src[2] = Reader::vcc();
  if (reader.is(trait::reads_dst)) out.src[2] = out.dst;
  if (row.dst == Type::pk_f16) out.op_sel_hi = 7;  // v_pk_fmac_f16 works on each half
  return true;
}

}  // namespace

bool decode_vop(Reader& reader) {
  switch (reader.bits(25, 6)) {
    case 0x3e: return vopc(reader);
    case 0x3f: return vop1(reader);
    default: return vop2(reader);
  }
}

}  // namespace rapt::sim::gfx9
