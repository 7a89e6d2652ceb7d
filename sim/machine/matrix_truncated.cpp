// gfx942's sums of f16, bf16 and xf32 products.
//
// A group of products is aligned to the largest exponent among them (the sum of the factors' exponents, so a product is
// below 4 there): each is cut towards zero to 24 fraction bits, and they are added exactly. That sum and the one so far
// are aligned to the larger exponent, cut towards minus infinity to 31 and 24 fraction bits, added, and rounded to
// nearest even. (MMA-Sim's amd_fused_dot_rd_add; see matrix_tile.hpp.)
#include "sim/machine/matrix_truncated.hpp"

namespace rapt::sim::matrix {

namespace {

template <int W, int C, unsigned group>
void truncated(const Tile& t) {
  using F = Vec<float, W>;
  using I = Vec<std::int32_t, W>;
  using H = Vec<std::int16_t, W * C>;
  const Exponents exponents(t);
  if (exponents.too_large()) return truncated_scalar(t, W * C, group);
  const bool small = exponents.some_small();
  Factors<group, W * C> factors;
  for (unsigned block = 0; block < t.blocks; ++block)
    for (unsigned first = 0; first < t.k; first += group) {
      const std::uint16_t* a_at = t.a_at + block * t.k + first;
      factors.take_a(t, exponents, a_at);
      for (unsigned row = 0; row < t.rows; ++row) {
        if (row == 0 || t.b_by_row) factors.take_b(t, exponents, t.b_steps(block, row) + first);
        const unsigned place = block * t.rows + row;
        const std::uint32_t* from = first == 0 ? t.c + t.c_at[place] : t.d + t.d_at[place];
        H top = H{} + smallest_product;
        for (unsigned k = 0; k < group; ++k)
          top = larger(top, load<H>(factors.b_exponent[k]) + factors.a_exponent[k][row]);
        std::int16_t tops[W * C];
        store(tops, top);
        for (int c = 0; c < C; ++c) {
          const I exponent = widened<I>(load<Vec<std::int16_t, W>>(tops + c * W));
          const F scale = power_of_two<F>(24 - exponent);
          I sum{};
          for (unsigned k = 0; k < group; ++k)
            sum += __builtin_convertvector(factors.a[k][row] * load<F>(factors.b[k] + c * W) * scale, I);
          const F before = load<F>(from + c * W);
          I unsure{};
          F after = add_to_sum<F, I, false>(sum, exponent, before, unsure);
          if (small) unsure |= (exponent == smallest_product) & ((bits_of<I>(before) >> 23 & 255) < 67);
          if (any_negative(unsure)) [[unlikely]]
            after = settled<W>(t, block, row, c * W, first, group, before, after, sum, unsure, !small, false);
          store(t.d + t.d_at[place] + c * W, after);
        }
      }
    }
}

}  // namespace

const Kernels truncated_kernels{truncated<4, 1, 8>, truncated<16, 1, 8>, truncated<16, 2, 8>};
const Kernels truncated4_kernels{truncated<4, 1, 4>, truncated<16, 1, 4>, truncated<16, 2, 4>};

}  // namespace rapt::sim::matrix
