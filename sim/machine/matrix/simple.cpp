// Kernels that add one product after the other, and kernels of integers.
#include "sim/machine/matrix/rows.hpp"

#include <limits>

namespace rapt::sim::matrix {

namespace {

template <int N, unsigned R, bool by_row, class Add>
[[gnu::always_inline]] inline void float_rows(const Tile& t, Add add) {
  for (unsigned block = 0; block < t.blocks; ++block)
    for (unsigned row = 0; row < t.rows; row += R) {
      Rows<N, R> rows;
      rows.load_from(t, block * t.rows + row);
      rows.template add_products<by_row>(t, block, row, add);
      rows.store_to(t, block * t.rows + row);
    }
}

template <int N, class Add>
[[gnu::always_inline]] inline void float_kernel(const Tile& t, Add add) {
  constexpr unsigned most = most_rows<N>, few = std::min(most, 4U);
  if (t.b_by_row) float_rows<N, few, true>(t, add);
  else if (t.rows % most == 0) float_rows<N, most, false>(t, add);
  else float_rows<N, few, false>(t, add);
}

template <int N>
void exact_product(const Tile& t) {
  float_kernel<N>(t, [](auto a, auto b, auto sum) { return add_exact(a, b, sum); });
}

template <int N>
void one_by_one(const Tile& t) {
#ifndef __FMA__
  if (products_are_exact(t, -149)) return exact_product<N>(t);
#endif
  float_kernel<N>(t, [](auto a, auto b, auto sum) { return fused(a, b, sum); });
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
template <int N, bool by_row>
void integer_rows(const Tile& t) {
  constexpr unsigned R = std::min(most_rows<N>, 4U);
  constexpr int W = width<N>, C = count<N>;
  using I = Vec<std::int32_t, W>;
  using U = Vec<std::uint32_t, W>;
  for (unsigned block = 0; block < t.blocks; ++block)
    for (unsigned row = 0; row < t.rows; row += R) {
      Rows<N, R> rows{};
      rows.template add_products<by_row>(t, block, row, [](auto a, auto b, auto sum) { return add_exact(a, b, sum); });
      for (unsigned i = 0; i < R; ++i)
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
template <int N>
void integer(const Tile& t) {
  if (t.b_by_row) integer_rows<N, true>(t);
  else integer_rows<N, false>(t);
}

}  // namespace

const Kernels fused_kernels{one_by_one<4>, one_by_one<16>, one_by_one<32>};
const Kernels exact_product_kernels{exact_product<4>, exact_product<16>, exact_product<32>};
const Kernels integer_kernels{integer<4>, integer<16>, integer<32>};

}  // namespace rapt::sim::matrix
