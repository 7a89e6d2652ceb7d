// gfx908's sums of f16 and bf16 products: a group of products and the sum so far are added exactly, then rounded once.
//
// Usually the sum in double and a bound of its error show what the exact sum rounds to; otherwise it is computed
// exactly.
#include "sim/machine/matrix/tile.hpp"
#include "sim/machine/matrix/vector.hpp"

#include <bit>
#include <cmath>
#include <utility>

namespace rapt::sim::matrix {

namespace {

// The exact sum of `count` doubles, rounded to nearest even once.
float rounded_sum(const double* terms, unsigned count) {
  double partials[8];  // no two overlap, ascending: their sum is the sum of the terms so far
  unsigned used = 0;
  double plain = 0;
  for (unsigned i = 0; i < count; ++i) {
    double x = terms[i];
    plain += x;
    unsigned kept = 0;
    for (unsigned p = 0; p < used; ++p) {
      double y = partials[p];
      if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
      const double high = x + y, low = y - (high - x);
      if (low != 0) partials[kept++] = low;
      x = high;
    }
    partials[kept++] = x;
    used = kept;
  }
  if (!std::isfinite(plain)) return static_cast<float>(plain);
  // Bits below the largest partial make its last bit odd, which keeps the rounding to float correct.
  double top = partials[used - 1];
  if (used > 1) {
    const double rest = partials[used - 2];
    const auto bits = std::bit_cast<std::uint64_t>(top);
    if ((bits & 1) == 0) top = std::bit_cast<double>((rest > 0) == (top > 0) ? bits | 1 : bits - 1);
  }
  return static_cast<float>(top);
}

template <int N, unsigned group>
void exact(const Tile& t) {
  for (unsigned block = 0; block < t.blocks; ++block) {
    const std::uint16_t *a_at = t.a_at + block * t.k, *b_at = t.b_at + block * t.k;
    for (unsigned row = 0; row < t.rows; ++row) {
      const float* a = t.a + row;
      float sums[N];
      std::memcpy(sums, t.c + t.c_at[block * t.rows + row], sizeof sums);
      for (unsigned k = 0; k < t.k; k += group) {
        float low[N], high[N];
        const float* b[group];
        double factor[group];
        for (unsigned i = 0; i < group; ++i) {
          b[i] = t.b + b_at[k + i];
          factor[i] = static_cast<double>(a[a_at[k + i]]);
        }
        std::uint32_t differ = 0;
        for (int n = 0; n < N; ++n) {
          double sum = static_cast<double>(sums[n]), size = std::fabs(sum);
          for (unsigned i = 0; i < group; ++i) {
            const double p = factor[i] * static_cast<double>(b[i][n]);  // exact
            sum += p;
            size += std::fabs(p);
          }
          const double error = size * 0x1p-50;
          low[n] = static_cast<float>(sum - error);
          high[n] = static_cast<float>(sum + error);
          differ |= low[n] == high[n] ? 0U : 1U;
        }
        if (differ != 0) [[unlikely]]
          for (int n = 0; n < N; ++n) {
            if (low[n] == high[n]) continue;
            double terms[group + 1] = {static_cast<double>(sums[n])};
            for (unsigned i = 0; i < group; ++i) terms[i + 1] = factor[i] * static_cast<double>(b[i][n]);
            low[n] = rounded_sum(terms, group + 1);
          }
        std::memcpy(sums, low, sizeof sums);
      }
      std::memcpy(t.d + t.d_at[block * t.rows + row], sums, sizeof sums);
    }
  }
}

}  // namespace

const Kernels exact4_kernels{exact<4, 4>, exact<16, 4>, exact<32, 4>};
const Kernels exact2_kernels{exact<4, 2>, exact<16, 2>, exact<32, 2>};

}  // namespace rapt::sim::matrix
