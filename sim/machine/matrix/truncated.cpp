// gfx942's sums of f16, bf16 and xf32 products.
//
// A group of products is aligned to the largest exponent among them, which is the sum of the factors' exponents, so
// that a product is below 4 there. Each is cut towards zero to 24 fraction bits, and they are added exactly. That sum
// and the one so far are aligned to the larger exponent, cut towards minus infinity to 31 and 24 fraction bits, added,
// and rounded to nearest even. (MMA-Sim's amd_fused_dot_rd_add; see tile.hpp.)
#include "sim/machine/matrix/truncated.hpp"

namespace rapt::sim::matrix {

namespace {

// For every row of a block: the exponents to align to, the sums of the aligned products, the new values. Each is a
// separate pass, so that the rows do not wait for each other.
template <int N, unsigned group, bool bounded>
struct Truncated {
  static constexpr int columns = N, W = width<N>, H_width = std::min(N, 2 * register_floats);
  using F = Vec<float, W>;
  using I = Vec<std::int32_t, W>;
  using H = Vec<std::int16_t, H_width>;

  static void run(const Tile& t, const Exponents& exponents) {
    Truncated pass{t, exponents.some_small()};
    for (unsigned block = 0; block < t.blocks; ++block)
      for (unsigned first = 0; first < t.k; first += group) {
        const unsigned at = block * t.k + first;
        pass.factors.take_a(t, exponents, t.a_at + at);
        if (!t.b_by_row) pass.factors.take_b(t, exponents, t.b_at + at);
        for (unsigned row = 0; row < t.rows; ++row) {
          if (t.b_by_row) pass.factors.take_b(t, exponents, t.b_steps(block, row) + first);
          pass.align(row);
          if (t.b_by_row) pass.sum_up(row);
        }
        if (!t.b_by_row)
          for (unsigned row = 0; row < t.rows; ++row) pass.sum_up(row);
        pass.add(block, first);
      }
  }

 private:
  Truncated(const Tile& tile, bool some_small) : t(tile), small(some_small) {}

  [[gnu::always_inline]] void align(unsigned row) {
    for (int c = 0; c < columns; c += H_width) {
      H top = lowest;
      for (unsigned k = 0; k < group; ++k)
        top = larger(top, load<H>(factors.b_exponent[k] + c) + factors.a_exponent[k][row]);
      store(tops[row] + c, top);
    }
  }

  [[gnu::always_inline]] void sum_up(unsigned row) {
    for (int c = 0; c < columns; c += W) {
      const I scale = adder.scale(widened<I>(load<Vec<std::int16_t, W>>(tops[row] + c)));
      I sum{};
      for (unsigned k = 0; k < group; ++k)
        sum += __builtin_convertvector(adder.scaled(factors.a[k][row] * load<F>(factors.b[k] + c), scale), I);
      store(sums[row] + c, sum);
    }
  }

  void add(unsigned block, unsigned first) {
    for (unsigned row = 0; row < t.rows; ++row) {
      const unsigned place = block * t.rows + row;
      const std::uint32_t* from = first == 0 ? t.c + t.c_at[place] : t.d + t.d_at[place];
      std::uint32_t* const to = t.d + t.d_at[place];
      for (int c = 0; c < columns; c += W) {
        const I exponent = widened<I>(load<Vec<std::int16_t, W>>(tops[row] + c));
        const I sum = load<I>(sums[row] + c);
        const F before = load<F>(from + c);
        I unsure{};
        F after = adder.add(sum, exponent, before, unsure);
        if (small) unsure |= (exponent == smallest_product) & ((bits_of<I>(before) >> 23 & 255) < 67);
        if (any_negative(unsure)) [[unlikely]]
          after = settled<W>(t, block, row, static_cast<unsigned>(c), first, group, before, after, sum, unsure, !small,
                             false);
        store(to + c, after);
      }
    }
  }

  const Tile& t;
  const bool small;  // a product may be so small that a float does not hold it
  const Adder<F, I, false, bounded> adder;
  const H lowest = kept(H{} + smallest_product);
  Factors<group, columns> factors;
  alignas(64) std::int16_t tops[32][columns];
  alignas(64) std::int32_t sums[32][columns];
};

template <int N, unsigned group>
void truncated(const Tile& t) {
  const Exponents exponents(t);
  if (exponents.too_large()) truncated_scalar(t, N, group);
  else if (exponents.all_bounded()) Truncated<N, group, true>::run(t, exponents);
  else Truncated<N, group, false>::run(t, exponents);
}

}  // namespace

const Kernels truncated_kernels{truncated<4, 8>, truncated<16, 8>, truncated<32, 8>};
const Kernels truncated4_kernels{truncated<4, 4>, truncated<16, 4>, truncated<32, 4>};

}  // namespace rapt::sim::matrix
