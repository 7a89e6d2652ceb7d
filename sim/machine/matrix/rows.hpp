// Keeps the sums of a few rows of a tile in registers, and tells what is known of the products of its factors.
#pragma once

#include "sim/machine/matrix/tile.hpp"
#include "sim/machine/matrix/vector.hpp"

namespace rapt::sim::matrix {

// Whether every product of A's and B's values is exact as a float. So it is if no value has more than 12 bits,
// infinities and NaNs are absent, and a unit in the last place of any product is at least 2^smallest_unit.
bool products_are_exact(const Tile& t, int smallest_unit);

// Sums of R rows, enough that additions need not wait for each other.
template <int N, unsigned R>
struct Rows {
  static constexpr int W = width<N>, C = count<N>;
  using F = Vec<float, W>;
  F sums[R][C];

  [[gnu::always_inline]] void load_from(const Tile& t, unsigned place) {
    const std::uint32_t* const from = t.c;
    const std::uint16_t* const at = t.c_at + place;
    for (unsigned i = 0; i < R; ++i)
      for (int c = 0; c < C; ++c) sums[i][c] = load<F>(from + at[i] + c * W);
  }
  [[gnu::always_inline]] void store_to(const Tile& t, unsigned place) const {
    std::uint32_t* const to = t.d;
    const std::uint16_t* const at = t.d_at + place;
    for (unsigned i = 0; i < R; ++i) {
      std::uint32_t* const row = to + at[i];
      for (int c = 0; c < C; ++c) store(row + c * W, sums[i][c]);
    }
  }
  // The products of all k, in order.
  template <bool by_row, class Add>
  [[gnu::always_inline]] void add_products(const Tile& t, unsigned block, unsigned row, Add add) {
    const std::uint16_t* a_at = t.a_at + block * t.k;
    const std::uint16_t* b_at = t.b_steps(block, row);
    for (unsigned k = 0; k < t.k; ++k) {
      const float* a = t.a + a_at[k] + row * t.a_stride;
      for (unsigned i = 0; i < R; ++i) {
        const float* b = t.b + b_at[by_row ? i * t.k + k : k];
        const F factor = broadcast<F>(a[i * t.a_stride]);
        for (int c = 0; c < C; ++c) sums[i][c] = add(factor, load<F>(b + c * W), sums[i][c]);
      }
    }
  }
};

// As many rows at once as fit in registers; eight for all tiles except the smallest.
template <int N>
inline constexpr unsigned most_rows = std::clamp(register_sums / count<N>, 1, N == 4 ? 4 : 8);

// a * b + sum where the product is exact: fused and separate rounding give the same.
template <class F>
[[gnu::always_inline]] inline F add_exact(F a, F b, F sum) {
#ifdef __FMA__
  return fused(a, b, sum);
#else
  return a * b + sum;
#endif
}

}  // namespace rapt::sim::matrix
