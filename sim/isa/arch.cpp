#include "sim/isa/arch.hpp"

#include "kernels/architectures.hpp"

#include <algorithm>
#include <iterator>

namespace rapt::sim {

namespace {

constexpr std::string_view name_of(Arch arch) { return architectures::kTable[static_cast<unsigned>(arch)].name; }

constexpr bool is_amd(const Architecture& a) { return a.vendor == "amd"; }

// AMD's rows come first, in the order of Arch.
static_assert(arch_count == std::ranges::count_if(architectures::kTable, is_amd));
static_assert(name_of(Arch::gfx908) == "gfx908" && name_of(Arch::gfx90a) == "gfx90a" &&
              name_of(Arch::gfx942) == "gfx942" && name_of(Arch::gfx950) == "gfx950" &&
              name_of(Arch::gfx1100) == "gfx1100" && name_of(Arch::gfx1151) == "gfx1151" &&
              name_of(Arch::gfx1201) == "gfx1201");

}  // namespace

std::string_view name(Arch arch) { return name_of(arch); }

std::optional<Arch> parse_arch(std::string_view text) {
  const Architecture* const found = find_architecture(text.substr(0, text.find(':')));
  if (found == nullptr || !is_amd(*found)) return std::nullopt;
  return static_cast<Arch>(found - architectures::kTable);
}

}  // namespace rapt::sim
