// How many wait states must be between a matrix product of CDNA and an access of its registers.
#pragma once

#include "sim/isa/facts/hazards.hpp"

namespace rapt::sim {

enum class ProductUse : std::uint8_t {
  valu_read,      // its result, by a VALU instruction
  memory_read,    // its result, by a memory or LDS instruction
  write,          // its result's registers are written
  factor,         // its result is A, B, or the index or a scale of another product
  same_sum,       // its result is another product's C, the same registers
  overlapped_sum  // ... some of them
};

unsigned wait_states_after_product(Arch arch, const HazardFacts& product, ProductUse use, const HazardFacts& user);
// Until its C may be overwritten.
unsigned wait_states_after_sum_read(Arch arch, const HazardFacts& product, const HazardFacts& user);

}  // namespace rapt::sim
