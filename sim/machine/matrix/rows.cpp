#include "sim/machine/matrix/rows.hpp"

#include <bit>

namespace rapt::sim::matrix {
namespace {

// Facts about values, as bits without their signs.
struct Extent {
  std::uint32_t all = 0;                      // the bits that are set in any
  std::uint32_t smallest = ~0U, largest = 0;  // the smallest one except zero is smallest + 1
  // Exponent fields, at least 1.
  int low() const { return static_cast<int>((smallest + 1) >> 23); }
  int high() const { return static_cast<int>(largest >> 23); }
};

Extent extent_of(const float* values, unsigned count) {
  Extent e;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(values[i]) & 0x7fffffff;
    e.all |= magnitude;
    e.smallest = std::min(e.smallest, magnitude - 1);
    e.largest = std::max(e.largest, magnitude);
  }
  return e;
}

}  // namespace

bool products_are_exact(const Tile& t, int smallest_unit) {
  const Extent a = extent_of(t.a, t.a_count), b = extent_of(t.b, t.b_count);
  if (((a.all | b.all) & 0xfff) != 0 || a.high() == 255 || b.high() == 255) return false;
  if (a.all == 0 || b.all == 0) return true;  // zeros only
  if (a.low() == 0 || b.low() == 0) return false;
  // Two values of 12 bits: their product has 22 bits below 2^(sum of the exponents), and is less than 2^(sum + 2).
  return a.low() + b.low() - 2 * 127 - 22 >= smallest_unit && a.high() + b.high() - 2 * 127 + 2 <= 127;
}

}  // namespace rapt::sim::matrix
