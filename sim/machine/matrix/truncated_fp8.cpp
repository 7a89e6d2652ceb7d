// gfx942's sums of fp8 and bf8 products, 16 at a time. The even and the odd ones are aligned and added separately, then
// both are added to the sum so far (MMA-Sim; rounding as in truncated.cpp).
#include "sim/machine/matrix/truncated.hpp"

namespace rapt::sim::matrix {

namespace {

constexpr unsigned group = 16;

template <int N>
void truncated_fp8(const Tile& t) {
  constexpr int W = width<N>;
  using F = Vec<float, W>;
  using I = Vec<std::int32_t, W>;
  using H = Vec<std::int16_t, W>;
  const Exponents exponents(t);
  if (exponents.too_large()) return truncated_scalar(t, N, group, true);
  Factors<group, N> factors;
  const H lowest = kept(H{} + smallest_product);
  const Adder<F, I, true, false> adder;
  for (unsigned block = 0; block < t.blocks; ++block)
    for (unsigned first = 0; first < t.k; first += group) {
      const std::uint16_t* a_at = t.a_at + block * t.k + first;
      factors.take_a(t, exponents, a_at);
      for (unsigned row = 0; row < t.rows; ++row) {
        if (row == 0 || t.b_by_row) factors.take_b(t, exponents, t.b_steps(block, row) + first);
        const unsigned place = block * t.rows + row;
        const std::uint32_t* from = first == 0 ? t.c + t.c_at[place] : t.d + t.d_at[place];
        for (int c = 0; c < count<N>; ++c) {
          I tops[2], sums[2];
          for (unsigned odd = 0; odd < 2; ++odd) {
            H top = lowest;
            for (unsigned k = odd; k < group; k += 2)
              top = larger(top, load<H>(factors.b_exponent[k] + c * W) + factors.a_exponent[k][row]);
            tops[odd] = widened<I>(top);
            const I scale = adder.scale(tops[odd]);
            sums[odd] = I{};
            for (unsigned k = odd; k < group; k += 2)
              sums[odd] +=
                  __builtin_convertvector(adder.scaled(factors.a[k][row] * load<F>(factors.b[k] + c * W), scale), I);
          }
          const I exponent = larger(tops[0], tops[1]);
          const I sum =
              (sums[0] >> smaller(exponent - tops[0], I{} + 31)) + (sums[1] >> smaller(exponent - tops[1], I{} + 31));
          const F before = load<F>(from + c * W);
          I unsure{};
          F after = adder.add(sum, exponent, before, unsure);
          if (any_negative(unsure)) [[unlikely]]
            after = settled<W>(t, block, row, c * W, first, group, before, after, sum, unsure, true, true);
          store(t.d + t.d_at[place] + c * W, after);
        }
      }
    }
}

}  // namespace

const Kernels truncated_fp8_kernels{truncated_fp8<4>, truncated_fp8<16>, truncated_fp8<32>};

}  // namespace rapt::sim::matrix
