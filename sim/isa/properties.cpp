#include "sim/isa/properties.hpp"

#include <array>

namespace rapt::sim {

namespace {

constexpr auto table = [] {
  std::array<Properties, arch_count> all{};
  for (unsigned i = 0; i < arch_count; ++i) all[i] = {architectures::kTable[i], static_cast<Arch>(i)};
  return all;
}();

}  // namespace

const Properties& properties(Arch arch) { return table[static_cast<unsigned>(arch)]; }

}  // namespace rapt::sim
