// What the kernels with aligned and cut products share. See matrix_truncated.cpp.
#pragma once

#include "sim/machine/matrix_tile.hpp"
#include "sim/machine/matrix_vector.hpp"

namespace rapt::sim::matrix {

inline constexpr unsigned largest_operand = 2048;  // values of A or B

struct Range {
  int smallest, largest;  // exponents of the values that are not zero
};
// The exponent of each value as the alignment takes it: of denormals the smallest normal one, of zero -126.
Range exponents_of(const float* values, unsigned count, int smallest_exponent, std::int16_t* exponents);

// A's and B's exponents, and what they say of the products.
struct Exponents {
  explicit Exponents(const Tile& t);
  bool too_large() const;  // for the vector form
  bool some_small() const;
  Range range_a, range_b;
  alignas(64) std::int16_t a[largest_operand], b[largest_operand];
};

// The factors of one group of k and N columns, close together.
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

// The whole tile, any values. `paired`: even and odd products apart (fp8).
void truncated_scalar(const Tile& t, unsigned columns, unsigned group, bool paired = false);
// One value: `count` products, of which `first` is the first, added to c.
float truncated_sum(const Tile& t, unsigned block, unsigned row, unsigned column, unsigned first, unsigned count,
                    float c, bool paired);

// Sums with exponents outside this range, where floats would lose bits, go to the scalar form. Products below the last
// one are aligned to it: they are too far below any sum in range to change it.
inline constexpr std::int32_t smallest_fast = -90, largest_fast = 120, smallest_product = -100;
inline constexpr std::int32_t farthest_fast = 170;  // how far c may lie below the products for its sign not to be lost

template <class F, class I>
[[gnu::always_inline]] inline F power_of_two(I exponent) {
  return bits_of<F>((exponent + 127) << 23);
}

// `sum` * 2^(exponent - 24) added to c. Where `unsure` is negative the scalar form must have a look. fp8 drops a c that
// is far below the products.
template <class F, class I, bool drops>
[[gnu::always_inline]] inline F add_to_sum(I sum, I exponent, F c, I& unsure) {
  const I c_exponent = larger(bits_of<I>(c) >> 23 & 255, I{} + 1) - 127;
  const I top = larger(exponent, c_exponent);
  unsure |= (top - smallest_fast) | (largest_fast - top) | (c_exponent + farthest_fast - top);
  const I shift = smaller(top - exponent, I{} + 31);
  I c_units = rounded_down<I>(c * power_of_two<F>(24 - top));
  if constexpr (drops) c_units &= top - c_exponent <= 25;
  // In units of 2^(top - 24): `units` whole ones and `fraction` of 128 parts.
  const I units = (sum >> shift) + c_units;
  using U = Vec<std::uint32_t, sizeof(I) / 4>;
  const U parts = bits_of<U>(sum) << bits_of<U>(31 - shift);
  const I fraction = bits_of<I>((parts << 1) >> 25);
  const I upper = units & ~255, lower = (units & 255) << 7 | fraction;
  const F value = __builtin_convertvector(upper, F) + __builtin_convertvector(lower, F) * 0x1p-7F;  // rounds once
  return value * power_of_two<F>(top - 24);
}

// Where `unsure` is negative the scalar form, else what is there. `plain`: no product is too small for a float, so that
// zeros show that nothing is added to nothing.
template <int W, class F, class I>
[[gnu::noinline]] F settled(const Tile& t, unsigned block, unsigned row, unsigned column, unsigned first,
                            unsigned count, F c, F fast, I sum, I unsure, bool plain, bool paired) {
  for (int i = 0; i < W; ++i)
    if (unsure[i] < 0 && !(plain && c[i] == 0 && sum[i] == 0))
      fast[i] = truncated_sum(t, block, row, column + static_cast<unsigned>(i), first, count, c[i], paired);
  return fast;
}

}  // namespace rapt::sim::matrix
