#include "sim/isa/family.hpp"

#include <mutex>

namespace rapt::sim {
namespace {

const Family& family_of(Arch arch) { return is_cdna(arch) ? gfx9_family() : gfx11_family(); }

// Built on an architecture's first use: a process seldom decodes for more than one.
const OpcodeIndex& index_of(Arch arch) {
  static std::array<OpcodeIndex, arch_count> indices;
  static std::array<std::once_flag, arch_count> made;
  const auto i = static_cast<unsigned>(instructions_of(arch));
  std::call_once(made[i], [&] { indices[i] = OpcodeIndex(arch, family_of(arch).tables); });
  return indices[i];
}

}  // namespace

std::optional<Instruction> decode(DecodeMode mode, std::span<const std::uint32_t> words) {
  if (words.empty()) return std::nullopt;
  return family_of(mode.arch).decode(mode, index_of(mode.arch), words);
}

std::string print(DecodeMode mode, const Instruction& instruction) {
  return family_of(mode.arch).print(mode, instruction);
}

std::span<const Opcode> opcodes(Arch arch) { return index_of(arch).rows(); }

}  // namespace rapt::sim
