// Kernels that add one product after the other, and the integers'.
#include "sim/machine/matrix_tile.hpp"
#include "sim/machine/matrix_vector.hpp"

#include <limits>

namespace rapt::sim::matrix {

namespace {

// Rows are taken a few at a time, so that the sums do not wait for each other.
constexpr unsigned at_once = 4;

template <int W, int C>
struct Rows {
  using F = Vec<float, W>;
  F sums[at_once][C];

  void load_from(const Tile& t, unsigned place) {
    for (unsigned i = 0; i < at_once; ++i)
      for (int c = 0; c < C; ++c) sums[i][c] = load<F>(t.c + t.c_at[place + i] + c * W);
  }
  void store_to(const Tile& t, unsigned place) const {
    for (unsigned i = 0; i < at_once; ++i)
      for (int c = 0; c < C; ++c) store(t.d + t.d_at[place + i] + c * W, sums[i][c]);
  }
  // The products of all k, in order.
  template <bool by_row, class Add>
  [[gnu::always_inline]] void add_products(const Tile& t, unsigned block, unsigned row, Add add) {
    const std::uint16_t* a_at = t.a_at + block * t.k;
    const std::uint16_t* b_at = t.b_steps(block, row);
    for (unsigned k = 0; k < t.k; ++k) {
      const float* a = t.a + a_at[k] + row * t.a_stride;
      for (unsigned i = 0; i < at_once; ++i) {
        const float* b = t.b + b_at[by_row ? i * t.k + k : k];
        const F factor = broadcast<F>(a[i * t.a_stride]);
        for (int c = 0; c < C; ++c) sums[i][c] = add(factor, load<F>(b + c * W), sums[i][c]);
      }
    }
  }
};

template <int W, int C, bool by_row, class Add>
[[gnu::always_inline]] inline void float_rows(const Tile& t, Add add) {
  for (unsigned block = 0; block < t.blocks; ++block)
    for (unsigned row = 0; row < t.rows; row += at_once) {
      Rows<W, C> rows;
      rows.load_from(t, block * t.rows + row);
      rows.template add_products<by_row>(t, block, row, add);
      rows.store_to(t, block * t.rows + row);
    }
}

template <int W, int C, class Add>
[[gnu::always_inline]] inline void float_kernel(const Tile& t, Add add) {
  if (t.b_by_row) float_rows<W, C, true>(t, add);
  else float_rows<W, C, false>(t, add);
}

template <int W, int C>
void one_by_one(const Tile& t) {
  float_kernel<W, C>(t, [](auto a, auto b, auto sum) { return fused(a, b, sum); });
}

// Where products are exact, fused and separate rounding give the same.
template <class F>
[[gnu::always_inline]] inline F add_exact(F a, F b, F sum) {
#ifdef __FMA__
  return fused(a, b, sum);
#else
  return a * b + sum;
#endif
}
template <int W, int C>
void exact_product(const Tile& t) {
  float_kernel<W, C>(t, [](auto a, auto b, auto sum) { return add_exact(a, b, sum); });
}

void add_saturated(std::uint32_t* to, const std::uint32_t* c, const std::int32_t* sums, int count) {
  for (int n = 0; n < count; ++n) {
    std::int32_t sum;
    if (__builtin_add_overflow(static_cast<std::int32_t>(c[n]), sums[n], &sum))
      sum = sums[n] < 0 ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int32_t>::max();
    to[n] = static_cast<std::uint32_t>(sum);
  }
}

// Products and their sums are below 2^24: exact as floats. The sum with C wraps or saturates.
template <int W, int C, bool by_row>
void integer_rows(const Tile& t) {
  using I = Vec<std::int32_t, W>;
  using U = Vec<std::uint32_t, W>;
  for (unsigned block = 0; block < t.blocks; ++block)
    for (unsigned row = 0; row < t.rows; row += at_once) {
      Rows<W, C> rows{};
      rows.template add_products<by_row>(t, block, row, [](auto a, auto b, auto sum) { return add_exact(a, b, sum); });
      for (unsigned i = 0; i < at_once; ++i)
        for (int c = 0; c < C; ++c) {
          const unsigned place = block * t.rows + row + i;
          const std::uint32_t* const from = t.c + t.c_at[place] + c * W;
          std::uint32_t* const to = t.d + t.d_at[place] + c * W;
          const I sums = __builtin_convertvector(rows.sums[i][c], I);
          if (!t.saturate) [[likely]] {
            store(to, load<U>(from) + bits_of<U>(sums));
          } else {
            std::int32_t each[W];
            store(each, sums);
            add_saturated(to, from, each, W);
          }
        }
    }
}
template <int W, int C>
void integer(const Tile& t) {
  if (t.b_by_row) integer_rows<W, C, true>(t);
  else integer_rows<W, C, false>(t);
}

}  // namespace

const Kernels fused_kernels{one_by_one<4, 1>, one_by_one<16, 1>, one_by_one<16, 2>};
const Kernels exact_product_kernels{exact_product<4, 1>, exact_product<16, 1>, exact_product<16, 2>};
const Kernels integer_kernels{integer<4, 1>, integer<16, 1>, integer<16, 2>};

}  // namespace rapt::sim::matrix
