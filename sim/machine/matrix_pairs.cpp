// gfx90a's sums of f16 and bf16 products: (p0 + p1) + (p2 + p3), each addition rounded, then added to the sum.
#include "sim/machine/matrix_tile.hpp"
#include "sim/machine/matrix_vector.hpp"

namespace rapt::sim::matrix {

namespace {

template <class F>
[[gnu::always_inline]] inline F flushed(F v) {  // a denormal becomes a zero of its sign
  using I = decltype(v < v);
  const I bits = bits_of<I>(v), exponent = bits & 0x7f800000;
  return bits_of<F>(exponent == 0 ? bits & std::int32_t(0x80000000) : bits);
}

// `small`: products and sums of them can be denormal (bf16; those of f16 cannot).
template <int W, int C, unsigned group, bool small>
void pairs(const Tile& t) {
  using F = Vec<float, W>;
  const auto product = [](float a, F b) {
    const F p = a * b + 0.0F;  // no negative zeros
    return small ? flushed(p) : p;
  };
  const auto sum = [](F a, F b) { return small ? flushed(a + b) : a + b; };
  for (unsigned block = 0; block < t.blocks; ++block) {
    const std::uint16_t *a_at = t.a_at + block * t.k, *b_at = t.b_at + block * t.k;
    for (unsigned row = 0; row < t.rows; ++row) {
      const float* a = t.a + row;
      F sums[C];
      for (int c = 0; c < C; ++c) sums[c] = flushed(load<F>(t.c + t.c_at[block * t.rows + row] + c * W)) + 0.0F;
      for (unsigned k = 0; k < t.k; k += group)
        for (int c = 0; c < C; ++c) {
          const auto p = [&](unsigned i) { return product(a[a_at[k + i]], load<F>(t.b + b_at[k + i] + c * W)); };
          F all = sum(p(0), p(1));
          if constexpr (group == 4) all = sum(all, sum(p(2), p(3)));
          sums[c] = flushed(sums[c] + all);
        }
      for (int c = 0; c < C; ++c) store(t.d + t.d_at[block * t.rows + row] + c * W, sums[c]);
    }
  }
}

}  // namespace

const Kernels pairs4_kernels{pairs<4, 1, 4, false>, pairs<16, 1, 4, false>, pairs<16, 2, 4, false>};
const Kernels pairs4_flush_kernels{pairs<4, 1, 4, true>, pairs<16, 1, 4, true>, pairs<16, 2, 4, true>};
const Kernels pairs2_flush_kernels{pairs<4, 1, 2, true>, pairs<16, 1, 2, true>, pairs<16, 2, 2, true>};

}  // namespace rapt::sim::matrix
