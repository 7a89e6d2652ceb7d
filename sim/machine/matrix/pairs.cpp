// gfx90a's sums of f16 and bf16 products: (p0 + p1) + (p2 + p3), each addition rounded, then added to the sum.
// Denormals are flushed everywhere.
#include "sim/machine/matrix/rows.hpp"

namespace rapt::sim::matrix {

namespace {

template <class F>
[[gnu::always_inline]] inline F flushed(F v) {  // a denormal becomes a zero of its sign
  using I = decltype(v < v);
  const I bits = bits_of<I>(v), exponent = bits & 0x7f800000;
  return bits_of<F>(exponent == 0 ? bits & std::int32_t(0x80000000) : bits);
}

// Any values. Products that are negative zeros do not change the sums, which do not start as negative zeros.
template <int N, unsigned group>
void flushing_row(const Tile& t, unsigned block, unsigned row) {
  constexpr int W = width<N>, C = count<N>;
  using F = Vec<float, W>;
  const std::uint16_t *a_at = t.a_at + block * t.k, *b_at = t.b_at + block * t.k;
  const float* a = t.a + row;
  for (int c = 0; c < C; ++c) {
    F sum = flushed(load<F>(t.c + t.c_at[block * t.rows + row] + c * W)) + 0.0F;
    for (unsigned k = 0; k < t.k; k += group) {
      const auto p = [&](unsigned i) {
        return flushed(broadcast<F>(a[a_at[k + i]]) * load<F>(t.b + b_at[k + i] + c * W));
      };
      F all = flushed(p(0) + p(1));
      if constexpr (group == 4) all = flushed(all + flushed(p(2) + p(3)));
      sum = flushed(sum + all);
    }
    store(t.d + t.d_at[block * t.rows + row] + c * W, sum);
  }
}

// For exact products whose sums are never denormal.
template <int N, unsigned R, unsigned group>
struct PairRows : Rows<N, R> {
  using typename Rows<N, R>::F;
  using Rows<N, R>::C;
  using Rows<N, R>::W;
  using Rows<N, R>::sums;

  // Whether a sum with these values of C can be denormal: one of them has bits below 2^-126.
  [[gnu::always_inline]] bool may_flush() const {
    using U = Vec<std::uint32_t, W>;
    using I = Vec<std::int32_t, W>;
    I small{};
    for (unsigned i = 0; i < R; ++i)
      for (int c = 0; c < C; ++c) small |= (bits_of<U>(sums[i][c]) & 0x7fffffff) - 1 < (24U << 23) - 1;
    return any_negative(small);
  }
  [[gnu::always_inline]] void add_groups(const Tile& t, unsigned block, unsigned row) {
    const std::uint16_t *a_at = t.a_at + block * t.k, *b_at = t.b_at + block * t.k;
    for (unsigned i = 0; i < R; ++i)
      for (int c = 0; c < C; ++c) sums[i][c] += 0.0F;  // no negative zeros
    for (unsigned k = 0; k < t.k; k += group)
      for (int c = 0; c < C; ++c) {
        F b[group];
        for (unsigned n = 0; n < group; ++n) b[n] = load<F>(t.b + b_at[k + n] + c * W);
        for (unsigned i = 0; i < R; ++i) {
          const auto a = [&](unsigned n) { return broadcast<F>(t.a[a_at[k + n] + row + i]); };
          F all = add_exact(a(1), b[1], a(0) * b[0]);
          if constexpr (group == 4) all += add_exact(a(3), b[3], a(2) * b[2]);
          sums[i][c] += all;
        }
      }
  }
};

template <int N, unsigned group>
void pairs(const Tile& t) {
  constexpr unsigned R = std::min(most_rows<N>, 4U);
  const bool plain = products_are_exact(t, -126);
  for (unsigned block = 0; block < t.blocks; ++block)
    for (unsigned row = 0; row < t.rows; row += R) {
      PairRows<N, R, group> rows;
      rows.load_from(t, block * t.rows + row);
      if (!plain || rows.may_flush()) [[unlikely]] {
        for (unsigned i = 0; i < R; ++i) flushing_row<N, group>(t, block, row + i);
      } else {
        rows.add_groups(t, block, row);
        rows.store_to(t, block * t.rows + row);
      }
    }
}

}  // namespace

const Kernels pairs4_kernels{pairs<4, 4>, pairs<16, 4>, pairs<32, 4>};
const Kernels pairs2_kernels{pairs<4, 2>, pairs<16, 2>, pairs<32, 2>};

}  // namespace rapt::sim::matrix
