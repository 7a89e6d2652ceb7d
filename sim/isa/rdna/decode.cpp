#include "sim/isa/rdna/decode.hpp"

namespace rapt::sim::rdna_isa {
namespace {

using Decoder = void (*)(Reader&);

// By the word's upper bits (RDNA3 and RDNA4 ISA documents, "Microcode formats").
Decoder find_decoder(Arch arch, std::uint32_t word) {
  if (word == 0) return decode_unsupported;
  if (word >> 31 == 0) return decode_short_vector;
  if (word >> 30 == 2) return decode_scalar;
  const bool is_gfx12 = contains(gfx12, arch);
  switch (word >> 26) {
    case 0x31: return is_gfx12 ? decode_buffer : nullptr;
    case 0x32: return decode_vopd;
    case 0x33: return (word >> 24 & 3) == 0 ? decode_vop3p : decode_unsupported;
    case 0x35: return decode_vop3;
    case 0x36: return decode_ds;
    case 0x37: return is_gfx12 ? nullptr : decode_flat;
    case 0x38:
    case 0x3a: return is_gfx12 ? nullptr : decode_buffer;
    case 0x3b: return is_gfx12 ? decode_flat : nullptr;
    case 0x3d: return decode_smem;
    default: return decode_unsupported;
  }
}

}  // namespace

std::optional<Instruction> decode(DecodeMode mode, const OpcodeIndex& index, std::span<const std::uint32_t> words) {
  const Decoder decoder = find_decoder(mode.arch, words[0]);
  if (decoder == nullptr) return std::nullopt;
  Reader in(mode, index, words);
  decoder(in);
  return in.finish();
}

}  // namespace rapt::sim::rdna_isa
