#include "sim/check/hazards/matrix.hpp"

#include <algorithm>

// The numbers come from LLVM's GCNHazardRecognizer. They agree with the tables "Required Software-inserted Wait States"
// of the CDNA ISA documents with one exception: after 16 passes gfx950 needs 20, and LLVM looks back 19.
namespace rapt::sim {
namespace {

constexpr unsigned longest = 19;

bool is(const HazardFacts& f, kind::Kinds kinds) { return (f.kinds & kinds) != 0; }

// By number of passes: 2, 8 or 16 (gfx908 and gfx90a have no others, except for f64).
unsigned by_passes(const HazardFacts& product, unsigned two, unsigned eight, unsigned sixteen) {
  return product.passes == 2 ? two : product.passes == 8 ? eight : sixteen;
}

unsigned gfx908_states(const HazardFacts& product, ProductUse use, const HazardFacts& user) {
  switch (use) {
    case ProductUse::factor: return 4;
    case ProductUse::overlapped_sum: return 2;
    case ProductUse::same_sum: return 0;
    case ProductUse::write: return is(user, kind::accvgpr_write) ? by_passes(product, 1, 7, 15) : 0;
    default: return is(user, kind::accvgpr_read) ? by_passes(product, 4, 10, 18) : 0;
  }
}

unsigned f64_states(Arch arch, const HazardFacts& product, ProductUse use, const HazardFacts& user) {
  const bool small = product.passes == 4, gfx950 = arch == Arch::gfx950;
  switch (use) {
    case ProductUse::memory_read: return small ? 9 : 18;
    case ProductUse::write: return small ? 6 : 11;
    case ProductUse::valu_read:
    case ProductUse::factor: return small ? 6 : gfx950 ? 19 : 11;
    case ProductUse::same_sum: return small && is(user, kind::f64_product) && user.passes == 4 ? 4 : 0;
    case ProductUse::overlapped_sum: break;
  }
  if (arch == Arch::gfx90a ? !is(user, kind::f64_product) : is(user, kind::xdl)) return 0;
  return small ? 4 : gfx950 ? 17 : 9;
}

unsigned gfx90a_states(const HazardFacts& product, ProductUse use, const HazardFacts& user) {
  switch (use) {
    case ProductUse::same_sum: return 0;
    case ProductUse::overlapped_sum: return product.passes + (is(user, kind::f64_product) ? 1 : 0);
    default: return product.passes + 3;
  }
}

unsigned gfx940_states(Arch arch, const HazardFacts& product, ProductUse use, const HazardFacts& user) {
  const unsigned passes = product.passes;
  const bool xdl = is(product, kind::xdl);
  const unsigned longer = arch == Arch::gfx950 && passes != 2 ? 1 : 0;
  switch (use) {
    case ProductUse::same_sum: return passes == 2 ? 2 : 0;
    case ProductUse::overlapped_sum:
      if (!xdl) return is(user, kind::xdl) ? 0 : passes;
      return passes + 1 + (is(user, kind::xdl) && arch == Arch::gfx950 ? 1 : longer);
    default: return xdl ? passes + 3 + longer : passes + 2;
  }
}

}  // namespace

unsigned wait_states_after_product(Arch arch, const HazardFacts& product, ProductUse use, const HazardFacts& user) {
  if (arch == Arch::gfx908) return gfx908_states(product, use, user);
  if (is(product, kind::f64_product)) return f64_states(arch, product, use, user);
  if (arch == Arch::gfx90a) return gfx90a_states(product, use, user);
  return std::min(longest, gfx940_states(arch, product, use, user));
}

unsigned wait_states_after_sum_read(Arch arch, const HazardFacts& product, const HazardFacts& user) {
  if (arch == Arch::gfx908) return is(user, kind::accvgpr_write) ? by_passes(product, 0, 5, 13) : 0;
  if (is(product, kind::f64_product)) return 0;
  if (arch != Arch::gfx90a && !is(product, kind::xdl)) return 0;
  return product.passes - 1U;
}

}  // namespace rapt::sim
