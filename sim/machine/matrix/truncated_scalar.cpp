// The aligned and truncated sums of truncated.cpp for any values, one at a time.
#include "sim/machine/matrix/truncated.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace rapt::sim::matrix {

Range exponents_of(const float* __restrict values, unsigned count, int smallest_exponent,
                   std::int16_t* __restrict exponents) {
  std::int32_t largest = -256, smallest = 256;
#pragma GCC ivdep
  for (unsigned i = 0; i < count; ++i) {
    const std::int32_t magnitude = std::bit_cast<std::int32_t>(values[i]) & 0x7fffffff;
    std::int32_t exponent = (magnitude >> 23) - 127;
    exponent = exponent < smallest_exponent ? smallest_exponent : exponent;
    const std::int32_t of_zero_too = magnitude == 0 ? -126 : exponent, of_others = magnitude == 0 ? 127 : exponent;
    exponents[i] = static_cast<std::int16_t>(of_zero_too);
    largest = of_zero_too > largest ? of_zero_too : largest;
    smallest = of_others < smallest ? of_others : smallest;
  }
  return {smallest, largest};
}

Exponents::Exponents(const Tile& t)
    : range_a(exponents_of(t.a, t.a_count, t.smallest_exponent_a, a)),
      range_b(exponents_of(t.b, t.b_count, t.smallest_exponent_b, b)) {}
bool Exponents::too_large() const { return range_a.largest + range_b.largest > largest_fast; }
bool Exponents::some_small() const { return range_a.smallest + range_b.smallest < smallest_product; }
bool Exponents::all_bounded() const { return range_a.largest + range_b.largest <= bound; }

namespace {

struct Sum {
  std::int64_t units = 0;  // of 2^(exponent - 24)
  int exponent = -1000;
};

int exponent_of(float v, int smallest) { return v == 0 ? -126 : std::max(std::ilogb(v), smallest); }

std::int64_t shifted_down(std::int64_t v, int by) { return v >> std::min(by, 63); }

}  // namespace

float truncated_sum(const Tile& t, unsigned block, unsigned row, unsigned column, unsigned first, unsigned count,
                    float c, bool paired) {
  const std::uint16_t *a_at = t.a_at + block * t.k, *b_at = t.b_steps(block, row);
  float a[32], b[32];
  double plain = 0;
  bool huge = false, any = false;
  for (unsigned i = 0; i < count; ++i) {
    a[i] = t.a[a_at[first + i] + row * t.a_stride];
    b[i] = t.b[b_at[first + i] + column];
    const double p = static_cast<double>(a[i]) * static_cast<double>(b[i]);
    plain += p;
    huge |= std::fabs(p) >= 0x1p128;
    any |= p != 0;
  }
  if (!any && c == 0) return 0;
  if (!std::isfinite(plain + static_cast<double>(c)))
    return std::isnan(plain + static_cast<double>(c)) ? std::numeric_limits<float>::quiet_NaN()
                                                      : static_cast<float>(plain + static_cast<double>(c));
  if (huge) {  // a product beyond f32 counts as an infinity
    float infinities = 0;
    for (unsigned i = 0; i < count; ++i) {
      const double p = static_cast<double>(a[i]) * static_cast<double>(b[i]);
      if (std::fabs(p) >= 0x1p128) infinities += static_cast<float>(p < 0 ? -HUGE_VAL : HUGE_VAL);
    }
    return std::isnan(infinities) ? std::numeric_limits<float>::quiet_NaN() : infinities;
  }
  Sum sums[2];
  const unsigned step = paired ? 2 : 1;
  for (unsigned part = 0; part < step; ++part) {
    Sum& s = sums[part];
    for (unsigned i = part; i < count; i += step)
      s.exponent =
          std::max(s.exponent, exponent_of(a[i], t.smallest_exponent_a) + exponent_of(b[i], t.smallest_exponent_b));
    for (unsigned i = part; i < count; i += step)
      s.units +=
          static_cast<std::int64_t>(std::ldexp(static_cast<double>(a[i]) * static_cast<double>(b[i]), 24 - s.exponent));
  }
  Sum sum = sums[0];
  if (paired) {
    sum.exponent = std::max(sums[0].exponent, sums[1].exponent);
    sum.units = shifted_down(sums[0].units, sum.exponent - sums[0].exponent) +
                shifted_down(sums[1].units, sum.exponent - sums[1].exponent);
  }
  const int c_exponent = exponent_of(c, -126), top = std::max(sum.exponent, c_exponent);
  const std::int64_t fine = shifted_down(sum.units << 7, top - sum.exponent);  // units of 2^(top - 31)
  auto coarse = static_cast<std::int64_t>(std::floor(std::ldexp(static_cast<double>(c), 24 - top)));
  if (paired && c_exponent < top - 25) coarse = 0;
  return static_cast<float>(std::ldexp(static_cast<double>(fine + coarse * 128), top - 31));
}

void truncated_scalar(const Tile& t, unsigned columns, unsigned wanted, bool paired) {
  const unsigned group = std::min(wanted, t.k);
  for (unsigned block = 0; block < t.blocks; ++block)
    for (unsigned row = 0; row < t.rows; ++row)
      for (unsigned n = 0; n < columns; ++n) {
        const unsigned place = block * t.rows + row;
        float sum = std::bit_cast<float>(t.c[t.c_at[place] + n]);
        for (unsigned first = 0; first < t.k; first += group)
          sum = truncated_sum(t, block, row, n, first, group, sum, paired);
        t.d[t.d_at[place] + n] = std::bit_cast<std::uint32_t>(sum);
      }
}

}  // namespace rapt::sim::matrix
