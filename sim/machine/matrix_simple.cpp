// Kernels that add one product after the other, and the integers'.
#include "sim/machine/matrix_tile.hpp"
#include "sim/machine/matrix_vector.hpp"

#include <cmath>
#include <limits>

namespace rapt::sim::matrix {

namespace {

// Rows are taken a few at a time, so that the sums do not wait for each other.
constexpr unsigned at_once = 4;

// sums[i][n] += products of `at_once` rows, one k after the other.
template <int N, class Add>
[[gnu::always_inline]] inline void add_products(const Tile& t, unsigned block, unsigned row, float (&sums)[at_once][N],
                                                Add add) {
  const std::uint16_t* a_at = t.a_at + block * t.k;
  for (unsigned k = 0; k < t.k; ++k) {
    const float* a = t.a + a_at[k] + row * t.a_stride;
    for (unsigned i = 0; i < at_once; ++i) {
      const float* b = t.b + t.b_steps(block, row + i)[k];
      const float factor = a[i * t.a_stride];
      for (int n = 0; n < N; ++n) sums[i][n] = add(factor, b[n], sums[i][n]);
    }
  }
}

template <int N, class Add>
[[gnu::always_inline]] inline void float_kernel(const Tile& t, Add add) {
  for (unsigned block = 0; block < t.blocks; ++block)
    for (unsigned row = 0; row < t.rows; row += at_once) {
      float sums[at_once][N];
      for (unsigned i = 0; i < at_once; ++i)
        std::memcpy(sums[i], t.c + t.c_at[block * t.rows + row + i], sizeof sums[i]);
      add_products<N>(t, block, row, sums, add);
      for (unsigned i = 0; i < at_once; ++i)
        std::memcpy(t.d + t.d_at[block * t.rows + row + i], sums[i], sizeof sums[i]);
    }
}

template <int N>
void fused(const Tile& t) {
  float_kernel<N>(t, [](float a, float b, float sum) { return std::fma(a, b, sum); });
}
template <int N>
void exact_product(const Tile& t) {
  float_kernel<N>(t, [](float a, float b, float sum) { return a * b + sum; });
}

// Products and their sums are below 2^24: exact as floats. The sum with C wraps or saturates.
template <int N>
void integer(const Tile& t) {
  for (unsigned block = 0; block < t.blocks; ++block)
    for (unsigned row = 0; row < t.rows; row += at_once) {
      float sums[at_once][N] = {};
      add_products<N>(t, block, row, sums, [](float a, float b, float sum) { return a * b + sum; });
      for (unsigned i = 0; i < at_once; ++i) {
        const std::uint32_t* c = t.c + t.c_at[block * t.rows + row + i];
        std::uint32_t out[N];
        for (int n = 0; n < N; ++n) out[n] = c[n] + static_cast<std::uint32_t>(static_cast<std::int32_t>(sums[i][n]));
        if (t.saturate)
          for (int n = 0; n < N; ++n) {
            std::int32_t sum;
            if (__builtin_add_overflow(static_cast<std::int32_t>(c[n]), static_cast<std::int32_t>(sums[i][n]), &sum))
              sum =
                  sums[i][n] < 0 ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int32_t>::max();
            out[n] = static_cast<std::uint32_t>(sum);
          }
        std::memcpy(t.d + t.d_at[block * t.rows + row + i], out, sizeof out);
      }
    }
}

}  // namespace

const Kernels fused_kernels{fused<4>, fused<16>, fused<32>};
const Kernels exact_product_kernels{exact_product<4>, exact_product<16>, exact_product<32>};
const Kernels integer_kernels{integer<4>, integer<16>, integer<32>};

}  // namespace rapt::sim::matrix
