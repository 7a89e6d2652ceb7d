#include "sim/isa/cdna/decode.hpp"
#include "sim/isa/cdna/tables.hpp"

namespace rapt::sim::gfx9 {
namespace {

// The element type that an inline constant for C has.
Type accumulator_type(const Opcode& row) { return row.src[0] == Type::f64 ? Type::f64 : Type::f32; }

// gfx950's f8f6f4 operations: cbsz and blgp choose the formats of A and B, and with them their sizes.
unsigned f8f6f4_dwords(Reader& reader, unsigned format) {
  reader.require(format <= 4);
  return format <= 1 ? 8 : format <= 3 ? 6 : 4;
}

void accumulator(Reader& reader, bool in_agprs) {
  const Opcode& row = reader.row();
  const unsigned code = reader.bits(50, 9), count = reader.dwords(row.src[2]);
  if (code >= 256) {
    reader.out.src[2] = reader.vector(in_agprs, code - 256, count);
    return;
  }
  reader.out.src[2] = reader.source(code, accumulator_type(row));
  reader.require(reader.out.src[2].kind == OperandKind::constant);
}

}  // namespace

bool decode_matrix(Reader& reader) {
  const Opcode& row = reader.row();
  Instruction& out = reader.out;
  out.cbsz = static_cast<std::uint8_t>(reader.bits(8, 3));
  out.abid = static_cast<std::uint8_t>(reader.bits(11, 4));
  out.blgp = static_cast<std::uint8_t>(reader.bits(61, 3));
  const bool by_format = row.name.ends_with("f8f6f4");
  if (by_format && out.abid != (row.src[3] == Type::none ? 0 : 1)) return false;

  // gfx908 always keeps C and D in AGPRs.
  const bool in_agprs = reader.arch() == Arch::gfx908 || reader.bit(15);
  out.dst = reader.vector(in_agprs, reader.bits(0, 8), reader.dwords(row.dst));
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned code = reader.bits(32 + 9 * i, 9);
    if (code < 256) return false;
    const unsigned count = by_format ? f8f6f4_dwords(reader, i == 0 ? out.cbsz : out.blgp) : reader.dwords(row.src[i]);
    out.src[i] = reader.vector(reader.bit(59 + i), code - 256, count);
  }
  if (reader.is(trait::sparse)) {
    const unsigned code = reader.bits(50, 9);
    if (code < 256 || out.blgp != 0) return false;
    out.src[2] = reader.vgpr(code - 256, 1);
    return true;
  }
  accumulator(reader, in_agprs);
  // From gfx942 on, the f64 operations have neg in the place of blgp.
  if (row.src[0] == Type::f64 && reader.arch() != Arch::gfx90a) {
    out.neg = out.blgp;
    out.blgp = 0;
  }
  return true;
}

// A scaled operation is the prefix, which names the scales, followed by the plain operation with abid = 1.
bool begin_scaled_matrix(Reader& reader) {
  if (!reader.has(4)) return false;
  const Reader plain = reader.behind(2);
  const bool matrix = plain.bits(23, 9) == 0x1a7 && plain.bits(11, 4) == 1;
  return matrix && reader.begin(Format::vop3p, scaled_code(plain.bits(16, 7)), 4);
}

bool decode_scaled_matrix(Reader& reader) {
  Instruction& out = reader.out;
  Reader plain = reader.behind(2);
  plain.out.opcode = out.opcode;
  if (!decode_matrix(plain)) return false;
  reader.require(plain.valid());
  plain.out.size = out.size;
  out = std::move(plain.out);
  for (unsigned i = 0; i < 2; ++i)
    out.src[3 + i] = reader.source(reader.bits(32 + 9 * i, 9), out.opcode->src[3 + i], Sources::vgpr);
  out.op_sel = static_cast<std::uint8_t>(reader.bits(11, 2));
  out.op_sel_hi = static_cast<std::uint8_t>(reader.bits(59, 2));
  return true;
}

}  // namespace rapt::sim::gfx9
