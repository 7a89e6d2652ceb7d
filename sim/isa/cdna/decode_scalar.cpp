#include "sim/isa/cdna/decode.hpp"

namespace rapt::sim::gfx9 {
namespace {

Operand destination(Reader& reader, unsigned code) {
  const unsigned count = reader.dwords(reader.row().dst);
  return count == 0 ? Operand{} : reader.scalar(code, count);
}

void sources(Reader& reader, std::initializer_list<unsigned> codes) {
  unsigned i = 0;
  for (const unsigned code : codes) {
    const Type type = reader.row().src[i];
    const bool registers = i == 0 && reader.is(trait::sgpr_src0);
    if (type != Type::none)
      reader.out.src[i] = reader.source(code, type, registers ? Sources::registers : Sources::scalar);
    ++i;
  }
}

bool sop1(Reader& reader) {
  if (!reader.begin(Format::sop1, reader.bits(8, 8), 1)) return false;
  reader.out.dst = destination(reader, reader.bits(16, 7));
  sources(reader, {reader.bits(0, 8)});
  return true;
}

bool sop2(Reader& reader) {
  if (!reader.begin(Format::sop2, reader.bits(23, 7), 1)) return false;
  reader.out.dst = destination(reader, reader.bits(16, 7));
  sources(reader, {reader.bits(0, 8), reader.bits(8, 8)});
  return true;
}

bool sopc(Reader& reader) {
  if (!reader.begin(Format::sopc, reader.bits(16, 7), 1)) return false;
  sources(reader, {reader.bits(0, 8), reader.bits(8, 8)});
  // s_set_gpr_idx_on has an immediate in place of the second source.
  if (reader.row().src[1] == Type::none) reader.out.immediate = static_cast<std::int32_t>(reader.bits(8, 8));
  return true;
}

bool sopk(Reader& reader) {
  if (!reader.begin(Format::sopk, reader.bits(23, 5), 1)) return false;
  reader.out.dst = destination(reader, reader.bits(16, 7));
  const Type type = reader.row().src[0];
  if (reader.row().name == "s_setreg_imm32_b32") {
    reader.out.src[0] = reader.source(255, type);
  } else if (type != Type::none) {
    reader.out.src[0] = reader.scalar(reader.bits(16, 7), reader.dwords(type));
  }
  reader.out.immediate = static_cast<std::int16_t>(reader.bits(0, 16));
  return true;
}

bool sopp(Reader& reader) {
  if (!reader.begin(Format::sopp, reader.bits(16, 7), 1)) return false;
  reader.out.immediate = static_cast<std::int16_t>(reader.bits(0, 16));
  return reader.out.immediate == 0 || !reader.is(trait::no_immediate);
}

}  // namespace

bool decode_scalar(Reader& reader) {
  if (reader.bits(28, 2) != 3) return sop2(reader);
  switch (reader.bits(23, 5)) {
    case 0x1d: return sop1(reader);
    case 0x1e: return sopc(reader);
    case 0x1f: return sopp(reader);
    default: return sopk(reader);
  }
}

}  // namespace rapt::sim::gfx9
