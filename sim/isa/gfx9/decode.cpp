#include "sim/isa/gfx9/decode.hpp"

namespace rapt::sim::gfx9 {
namespace {

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
  if (!dispatch(reader) || !reader.valid()) return std::nullopt;
  return std::move(reader.out);
}

}  // namespace rapt::sim::gfx9
