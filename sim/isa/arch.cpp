#include "sim/isa/arch.hpp"

#include <array>

namespace rapt::sim {
namespace {

constexpr std::array<std::string_view, arch_count> names = {"gfx908",  "gfx90a",  "gfx942", "gfx950",
                                                            "gfx1100", "gfx1151", "gfx1201"};

}  // namespace

std::string_view name(Arch arch) { return names[static_cast<unsigned>(arch)]; }

std::optional<Arch> parse_arch(std::string_view text) {
  const std::string_view processor = text.substr(0, text.find(':'));
  for (unsigned i = 0; i < arch_count; ++i) {
    if (names[i] == processor) return static_cast<Arch>(i);
  }
  return std::nullopt;
}

}  // namespace rapt::sim
