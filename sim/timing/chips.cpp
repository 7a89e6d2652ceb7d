// The chips that can be timed.
#include "sim/timing/chips_cdna.hpp"
#include "sim/timing/chips_rdna.hpp"
#include "sim/timing/chips_siblings.hpp"

#include <algorithm>
#include <array>

namespace rapt::sim::timing {
namespace {

// The first of an architecture is the one that its name alone means.
constexpr std::array own_chips{mi100(),  mi250x(),  cdna3,         mi308x(),   mi300a(),
                               mi355x(), rx7900xtx, radeon8060s(), rx9070xt(), mi50()};

constexpr auto known_chips = [] {
  std::array<Chip, own_chips.size() + sibling_chips.size()> all{};
  std::ranges::copy(sibling_chips, std::ranges::copy(own_chips, all.begin()).out);
  return all;
}();

constexpr bool has_every_arch() {
  for (int n = 0; n < device_arch_count; ++n)
    if (std::ranges::none_of(known_chips, [&](const Chip& chip) { return chip.arch == static_cast<Arch>(n); }))
      return false;
  return true;
}
static_assert(has_every_arch(), "each architecture needs a row: its name alone is a device that can be timed");

#define FITTED(field, unit, low, high)                                                          \
  FittedNumber {                                                                                \
    #field, unit, low, high, [](const Chip& chip) -> double { return chip.field; },             \
        [](Chip& chip, double value) { chip.field = static_cast<decltype(chip.field)>(value); } \
  }
constexpr std::array numbers{
    FITTED(lds_clocks, "clocks", 50, 128),
    FITTED(scalar_load_clocks, "clocks", 100, 300),
    FITTED(lines_in_flight, "lines", 64, 256),
    FITTED(last_level_nanoseconds, "ns", 180, 350),
    FITTED(memory_nanoseconds, "ns", 300, 500),
    FITTED(memory_efficiency, "of the peak", 0.6, 0.95),
    FITTED(launch_microseconds, "us", 2, 6),
    FITTED(group_clocks, "clocks", 4, 32),
    FITTED(sustained_matrix_share, "of the time", 0.2, 1),
    FITTED(vector_power, "of matrix power", 0, 0.5),
    FITTED(idle_microseconds, "us", 0, 20),
};
#undef FITTED

}  // namespace

std::span<const Chip> chips() { return known_chips; }
std::span<const FittedNumber> fitted_numbers() { return numbers; }

const Chip* find_chip(Arch arch, std::string_view name) {
  const auto found = std::find_if(known_chips.begin(), known_chips.end(), [&](const Chip& chip) {
    return chip.arch == arch && (name.empty() || chip.name == name);
  });
  return found == known_chips.end() ? nullptr : &*found;
}

const Chip* find_chip(Arch arch, unsigned units) {
  const auto found = std::find_if(known_chips.begin(), known_chips.end(),
                                  [&](const Chip& chip) { return chip.arch == arch && compute_units(chip) == units; });
  return found == known_chips.end() ? nullptr : &*found;
}

}  // namespace rapt::sim::timing
