#include "sim/isa/cdna/decode.hpp"

namespace rapt::sim::gfx9 {

namespace {

bool has(const Opcode& row, Traits trait) { return (row.traits & trait) != 0; }

// VOP3's opcodes below 0x1c0 repeat VOPC, VOP2 and VOP1.
bool begin(Reader& reader) {
  const unsigned code = reader.bits(16, 10);
  if (code >= 0x1c0) return reader.begin(Format::vop3, code, 2);
  const Format format = code < 0x100 ? Format::vopc : code < 0x140 ? Format::vop2 : Format::vop1;
  const unsigned first = code < 0x100 ? 0 : code < 0x140 ? 0x100 : 0x140;
  reader.out.e64 = true;
  return reader.begin(format, code - first, 2) && !reader.is(trait::no_e64);
}

void destinations(Reader& reader) {
  const Opcode& row = reader.row();
  const unsigned index = reader.bits(0, 8), count = reader.dwords(row.dst);
  const bool scalar = row.dst == Type::mask || reader.is(trait::scalar_dst);
  reader.out.dst = scalar ? reader.scalar(index, count) : reader.vgpr(index, count);
  if (row.dst2 == Type::mask) reader.out.dst2 = reader.scalar(reader.bits(8, 7), reader.dwords(row.dst2));
}

Sources allowed(const Opcode& row, unsigned i) {
  if (row.src[i] == Type::mask) return Sources::sgpr;
  if (i == 0 && has(row, trait::vgpr_src0)) return Sources::vgpr;
  if (has(row, trait::scalar_sources)) return Sources::scalar;
  return dwords(row.src[i], 64) <= 2 ? Sources::any : Sources::vgpr;
}

void sources(Reader& reader) {
  const unsigned count = encoded_sources(reader.row());
  for (unsigned i = 0; i < count; ++i) {
    const Type type = constant_type(reader.row(), i, 0);
    reader.out.src[i] = reader.source(reader.bits(32 + 9 * i, 9), type, allowed(reader.row(), i));
  }
  if (reader.is(trait::reads_dst) && reader.row().src[2] != Type::none) reader.out.src[2] = reader.out.dst;
}

void neg_and_abs(Reader& reader) {
  const Opcode& row = reader.row();
  const bool has_abs = row.dst2 == Type::none;  // the carry's register is encoded there
  const unsigned count = encoded_sources(row);
  const unsigned ignored = has(row, trait::op_sel_src2) ? 3 : count;
  for (unsigned i = 0; i < 3; ++i) {
    const bool neg = reader.bit(61 + i), abs = has_abs && reader.bit(8 + i);
    if (!neg && !abs) continue;
    if (i < count && takes_modifiers(row, i)) {
      if (neg) reader.out.neg |= static_cast<std::uint8_t>(1U << i);
      if (abs) reader.out.abs |= static_cast<std::uint8_t>(1U << i);
    } else {
      reader.require(has(row, trait::lax_modifiers) && i < ignored);
    }
  }
}

void op_sel(Reader& reader) {
  const Opcode& row = reader.row();
  const unsigned field = reader.bits(11, 4);
  if (has(row, trait::fetch_control)) {
    reader.out.bound_ctrl = (field & 2) != 0;
    reader.out.fetch_inactive = (field & 1) != 0;
  }
  if (!has(row, trait::op_sel | trait::op_sel_src2)) return;
  const unsigned sources = has(row, trait::op_sel_src2) ? 3 : encoded_sources(row);
  const unsigned used = 8U | ((1U << sources) - 1);
  reader.require((field & ~used) == 0);
  reader.out.op_sel = static_cast<std::uint8_t>(field);
}

// v_bitop3: the table's bits take the place of abs, omod and neg.
void truth_table(Reader& reader) {
  reader.out.immediate =
      static_cast<std::int32_t>(reader.bits(61, 3) | reader.bits(8, 3) << 3 | reader.bits(59, 2) << 6);
}

void output_modifiers(Reader& reader) {
  const Opcode& row = reader.row();
  reader.out.clamp = reader.bit(15);
  reader.out.omod = static_cast<std::uint8_t>(reader.bits(59, 2));
  reader.require(!reader.out.clamp || takes_clamp(row));
  reader.require(reader.out.omod == 0 || takes_omod(row));
}

}  // namespace

bool is_mix(const Opcode& row) { return row.name.starts_with("v_fma_mix"); }

Type constant_type(const Opcode& row, unsigned source, unsigned op_sel_hi) {
  // If op_sel_hi says that a source is an f16, so are its constants (LLVM's pull request 183487).
  if (is_mix(row) && (op_sel_hi >> source & 1) != 0) return Type::f16;
  if (source == 1 && row.name == "v_ldexp_f16") return Type::f16;  // the exponent's type, as in LLVM
  return row.src[source];
}

bool takes_modifiers(const Opcode& row, unsigned source) {
  if (has(row, trait::modifiers)) return row.src[source] != Type::mask;
  return is_float(row.src[source]) && !has(row, trait::no_modifiers);
}

bool takes_clamp(const Opcode& row) {
  if (has(row, trait::clamp)) return true;
  // For comparisons of floating-point values this bit means signalling.
  const bool compares = row.dst == Type::mask && is_float(row.src[0]) && is_float(row.src[1]);
  return (is_float(row.dst) || compares) && !has(row, trait::no_clamp);
}

bool takes_omod(const Opcode& row) {
  if (has(row, trait::omod)) return true;
  return is_float(row.dst) && !has(row, trait::no_omod);
}

unsigned encoded_sources(const Opcode& row) {
  unsigned count = 0;
  while (count < 3 && row.src[count] != Type::none) ++count;
  return has(row, trait::reads_dst) && count == 3 ? 2 : count;
}

bool decode_vop3(Reader& reader) {
  if (!begin(reader)) return false;
  if (reader.row().dst == Type::none) return reader.bits(0, 11) == 0 && !reader.bit(15) && reader.bits(59, 5) == 0;
  destinations(reader);
  sources(reader);
  op_sel(reader);
  if (reader.is(trait::truth_table)) {
    truth_table(reader);
    return !reader.bit(15) && (reader.is(trait::op_sel) || reader.bits(11, 4) == 0);
  }
  neg_and_abs(reader);
  output_modifiers(reader);
  return true;
}

}  // namespace rapt::sim::gfx9
