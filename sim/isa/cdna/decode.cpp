#include "sim/isa/cdna/decode.hpp"

#include "sim/isa/cdna/tables.hpp"

namespace rapt::sim::gfx9 {
namespace {

// Only the name is known: bits and operands are not checked.
bool refused(Reader& reader) {
  switch (reader.bits(26, 6)) {
    case 0x31: return reader.begin(Format::unsupported, refused_exp(0), 2);
    case 0x34: return reader.begin(Format::unsupported, refused_vop3(reader.bits(16, 10)), 2);
    case 0x35: return reader.begin(Format::unsupported, refused_vintrp(reader.bits(16, 2)), 1);
    case 0x36: return reader.begin(Format::unsupported, refused_ds(reader.bits(17, 8)), 2);
    case 0x3c: return reader.begin(Format::unsupported, refused_mimg(reader.bits(18, 7)), 2);
    default: return false;
  }
}

bool dispatch(Reader& reader) {
  if (!reader.bit(31)) return decode_vop(reader);
  if (!reader.bit(30)) return decode_scalar(reader);
  switch (reader.bits(26, 6)) {
    case 0x30: return decode_smem(reader);
    case 0x34: return reader.bits(23, 3) == 7 ? decode_vop3p(reader) : decode_vop3(reader);
    case 0x36: return decode_ds(reader);
    case 0x37: return decode_flat(reader);
    case 0x38:
    case 0x3a: return decode_buffer(reader);
    default: return false;
  }
}

}  // namespace

std::optional<Instruction> decode(DecodeMode mode, const OpcodeIndex& index, std::span<const std::uint32_t> words) {
  Reader reader(mode, index, words);
  if (dispatch(reader)) {
    if (reader.valid()) return std::move(reader.out);
  } else if (reader.out.opcode == nullptr && refused(reader)) {
    return std::move(reader.out);
  }
  return std::nullopt;
}

}  // namespace rapt::sim::gfx9
