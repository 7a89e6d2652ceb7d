#include "sim/isa/cdna/decode.hpp"

namespace rapt::sim::gfx9 {
namespace {

// The registers of a field; if the row has no such operand, none, and the field must be clear.
Operand data(Reader& reader, Type type, unsigned low, bool accumulator) {
  const unsigned index = reader.bits(low, 8), count = reader.dwords(type);
  if (count == 0) {
    reader.require(index == 0);
    return {};
  }
  return reader.vector(accumulator, index, count);
}

}  // namespace

bool decode_ds(Reader& reader) {
  if (!reader.begin(Format::ds, reader.bits(17, 8), 2)) return false;
  const Opcode& row = reader.row();
  Instruction& out = reader.out;
  // From gfx90a on: the data are in AGPRs.
  const bool accumulator = reader.bit(25);
  const bool has_data = row.src[1] != Type::none || row.dst != Type::none;
  if (accumulator && (reader.before_gfx90a() || !has_data)) return false;
  if (row.name == "ds_nop" && reader.bits(0, 16) != 0) return false;
  if (reader.bit(16) && reader.is(trait::no_gds)) return false;
  out.gds = reader.bit(16);
  if (reader.is(trait::two_offsets)) {
    out.offset = static_cast<std::int32_t>(reader.bits(0, 8));
    out.offset1 = static_cast<std::uint16_t>(reader.bits(8, 8));
  } else {
    out.offset = static_cast<std::int32_t>(reader.bits(0, 16));
  }
  out.src[0] = data(reader, row.src[0], 32, false);
  out.src[1] = data(reader, row.src[1], 40, accumulator);
  out.src[2] = data(reader, row.src[2], 48, accumulator);
  out.dst = data(reader, row.dst, 56, accumulator);
  return true;
}

bool decode_smem(Reader& reader) {
  if (!reader.begin(Format::smem, reader.bits(18, 8), 2)) return false;
  const Opcode& row = reader.row();
  Instruction& out = reader.out;
  const bool imm = reader.bit(17), soffset_en = reader.bit(14);
  const Type data_type = row.src[2] != Type::none ? row.src[2] : row.dst;
  const unsigned data_code = reader.bits(6, 7);
  if (data_type != Type::none) {
    const Operand value = reader.scalar(data_code, reader.dwords(data_type));
    reader.require(value.index != sreg::m0 && value.index < sreg::exec);
    out.glc = row.src[0] != Type::none && reader.bit(16);
    if (row.src[2] != Type::none) out.src[2] = value;
    const bool returns = row.dst != Type::none && (row.src[2] == Type::none || out.glc);
    if (returns) {
      out.dst = value;
      out.dst.dwords = static_cast<std::uint8_t>(reader.dwords(row.dst));
    }
  }
  if (row.src[0] == Type::none) return !imm;
  out.src[0] = reader.scalar(reader.bits(0, 6) * 2, reader.dwords(row.src[0]));
  // imm means that there is a 21-bit offset, soffset_en that soffset's field names a register; without either, the
  // offset's field names the register.
  if (imm) out.offset = static_cast<std::int32_t>(reader.bits(32, 21) << 11) >> 11;
  if (soffset_en) {
    out.src[1] = reader.scalar(reader.bits(57, 7), 1);
  } else if (!imm) {
    out.src[1] = reader.scalar(reader.bits(32, 7), 1);
  }
  // Shown only in the text: s_atc_probe's permissions, and whether there is an offset in addition to a register.
  out.immediate = static_cast<std::int32_t>((row.name.starts_with("s_atc_probe") ? data_code : 0) |
                                            (imm && soffset_en ? 0x80U : 0));
  return true;
}

}  // namespace rapt::sim::gfx9
