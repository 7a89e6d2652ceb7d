// Undefined bits of 32-bit logic and sums, as in valgrind's memcheck (Seward and Nethercote, USENIX 2005).
#pragma once

#include <cstdint>
#include <string_view>

namespace rapt::sim {

struct Bits {
  std::uint32_t value, undefined;
};

constexpr Bits operator~(Bits a) { return {~a.value, a.undefined}; }
constexpr Bits operator&(Bits a, Bits b) {
  return {a.value & b.value, (a.undefined & b.undefined) | (a.undefined & b.value) | (b.undefined & a.value)};
}
constexpr Bits operator|(Bits a, Bits b) { return ~(~a & ~b); }
constexpr Bits operator^(Bits a, Bits b) { return {a.value ^ b.value, a.undefined | b.undefined}; }
// A sum, difference or product: undefined from the lowest undefined bit up.
constexpr Bits spread(Bits a, Bits b) {
  const std::uint32_t either = a.undefined | b.undefined;
  return {0, either | (0U - either)};
}

using BitRule = Bits (*)(Bits, Bits, Bits);
// Empty if the operation has no rule. Names without "dual_".
BitRule bit_rule(std::string_view name);

}  // namespace rapt::sim
