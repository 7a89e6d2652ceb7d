// What the kernels with aligned and truncated products share. See truncated.cpp.
#pragma once

#include "sim/machine/matrix/tile.hpp"
#include "sim/machine/matrix/vector.hpp"

namespace rapt::sim::matrix {

inline constexpr unsigned largest_operand = 2048;  // values of A or B

struct Range {
  int smallest, largest;  // exponents of the values that are not zero
};
// The exponent of each value for the alignment: for denormals the smallest normal one, for zero -126.
Range exponents_of(const float* values, unsigned count, int smallest_exponent, std::int16_t* exponents);

// A's and B's exponents, and what they say about the products.
struct Exponents {
  explicit Exponents(const Tile& t);
  bool too_large() const;  // for the vector form
  bool some_small() const;
  bool all_bounded() const;
  Range range_a, range_b;
  alignas(64) std::int16_t a[largest_operand], b[largest_operand];
};

// The factors of one group of k and N columns, copied to adjacent memory.
template <unsigned group, int N>
struct Factors {
  alignas(64) float b[group][N];
  alignas(64) std::int16_t b_exponent[group][N];
  float a[group][32];
  std::int16_t a_exponent[group][32];

  void take_a(const Tile& t, const Exponents& e, const std::uint16_t* at) {
    for (unsigned k = 0; k < group; ++k) {
      std::memcpy(a[k], t.a + at[k], t.rows * sizeof a[k][0]);
      std::memcpy(a_exponent[k], e.a + at[k], t.rows * sizeof a_exponent[k][0]);
    }
  }
  void take_b(const Tile& t, const Exponents& e, const std::uint16_t* at) {
    for (unsigned k = 0; k < group; ++k) {
      std::memcpy(b[k], t.b + at[k], sizeof b[k]);
      std::memcpy(b_exponent[k], e.b + at[k], sizeof b_exponent[k]);
    }
  }
};

// The whole tile, any values. `paired`: even and odd products are summed separately (fp8).
void truncated_scalar(const Tile& t, unsigned columns, unsigned group, bool paired = false);
// One value: `count` products from `first` on, added to c.
float truncated_sum(const Tile& t, unsigned block, unsigned row, unsigned column, unsigned first, unsigned count,
                    float c, bool paired);

// Sums with exponents outside this range, for which floats would lose bits, go to the scalar form. Products below the
// last one are aligned to it: they are too far below any sum in range to change it.
inline constexpr std::int32_t smallest_fast = -90, largest_fast = 120, smallest_product = -100;
inline constexpr std::int32_t farthest_fast = 170;  // how far c may be below the products for its sign not to be lost

// Adds a group to the sum so far. `drops`: fp8 drops a sum that is far below the products. `bounded`: no product
// reaches 2^(bound + 2), so that none is too far above a sum.
inline constexpr std::int32_t bound = 24;
template <class F, class I, bool drops, bool bounded>
struct Adder {
  // `sum` * 2^(exponent - 24) added to c. If `unsure` is negative, the scalar form must decide.
  [[gnu::always_inline]] F add(I sum, I exponent, F c, I& unsure) const {
    const I c_exponent =
        (bits_of<I>(c) >> 23 & byte) - bias;  // for a denormal, too low by one, which is out of range anyway
    const I top = larger(exponent, c_exponent);
    unsure |= (top - smallest) | (largest - top);
    if constexpr (!bounded) unsure |= c_exponent - top + farthest;
    const I shift = smaller(top - exponent, thirty_one);
    I c_units = rounded_down<I>(c * bits_of<F>((up - top) << 23));
    if constexpr (drops) c_units &= top - c_exponent <= 25;
    // In units of 2^(top - 24): `units` whole ones and `fraction` of 128 parts.
    const I units = (sum >> shift) + c_units;
    using U = Vec<std::uint32_t, sizeof(I) / 4>;
    const U parts = bits_of<U>(sum) << bits_of<U>(thirty_one - shift);
    const U fraction = (parts + parts) >> 25;
    // The lowest 15 bits as the mantissa of 2^16 + ...; the others minus 2^16. Their sum is rounded once.
    const U lower = (bits_of<U>(units) << 24) >> 17 | fraction | bits_of<U>(two_to_16);
    const F value = __builtin_convertvector((units & not_byte) - 65536, F) + bits_of<F>(lower);
    return value * bits_of<F>((top + down) << 23);
  }
  // The argument of scaled() that turns products into multiples of 2^(exponent - 24).
  [[gnu::always_inline]] I scale(I exponent) const { return ((bounded ? to_units : up) - exponent) << 23; }
  // For a bounded product it is enough to raise the exponent field: zeros and denormals stay below 1.
  [[gnu::always_inline]] F scaled(F product, I scale) const {
    if constexpr (bounded) return bits_of<F>(bits_of<I>(product) + scale);
    else return product * bits_of<F>(scale);
  }

  I byte = kept(I{} + 255), not_byte = kept(I{} - 256), bias = kept(I{} + 127), thirty_one = kept(I{} + 31);
  I smallest = kept(I{} + smallest_fast), largest = kept(I{} + largest_fast), farthest = kept(I{} + farthest_fast);
  I up = kept(I{} + (24 + 127)), down = kept(I{} + (127 - 24)), to_units = kept(I{} + 24);
  F two_to_16 = kept(F{} + 65536);
};

// If `unsure` is negative, the scalar form's result, else the given one. `plain`: no product is too small for a float,
// so zero factors mean that nothing is added.
template <int W, class F, class I>
[[gnu::noinline]] F settled(const Tile& t, unsigned block, unsigned row, unsigned column, unsigned first,
                            unsigned count, F c, F fast, I sum, I unsure, bool plain, bool paired) {
  for (int i = 0; i < W; ++i)
    if (unsure[i] < 0 && !(plain && c[i] == 0 && sum[i] == 0))
      fast[i] = truncated_sum(t, block, row, column + static_cast<unsigned>(i), first, count, c[i], paired);
  return fast;
}

}  // namespace rapt::sim::matrix
