#include "sim/isa/arch.hpp"

#include "sim/isa/properties.hpp"

#include <algorithm>
#include <iterator>

namespace rapt::sim {

namespace {

constexpr std::string_view names[] = {"gfx908",  "gfx90a",  "gfx942",  "gfx950",  "gfx1100",
                                      "gfx1151", "gfx1201", "gfx906",  "gfx1101", "gfx1102",
                                      "gfx1103", "gfx1150", "gfx1152", "gfx1153", "gfx1200"};

constexpr std::string_view name_of(Arch arch) { return names[static_cast<unsigned>(arch)]; }

constexpr std::optional<Arch> arch_of(std::string_view name) {
  const auto* const found = std::ranges::find(names, name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<Arch>(found - names);
}

static_assert(device_arch_count == arch_count + architectures::kSiblings.size());
static_assert([] {
  for (unsigned n = 0; n < device_arch_count; ++n) {
    const std::string_view known = facts_of(static_cast<Arch>(n)).name;
    if (names[n] != known || name_of(instructions_of(static_cast<Arch>(n))) != code_of(known)) return false;
  }
  return true;
}());

}  // namespace

std::string_view name(Arch arch) { return name_of(arch); }

std::optional<Arch> parse_arch(std::string_view text) { return arch_of(text.substr(0, text.find(':'))); }

}  // namespace rapt::sim
