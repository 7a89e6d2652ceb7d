// What takes a matrix unit's place where there is none. A lane computes all of a query's products with a tile of keys:
// a wave's lanes are the columns of a result, a tile's registers its rows. Rows of K and V are the same for all lanes,
// and in scalar registers.
//
// Products of fp16 are v_dot2_f32_f16, two at a time, which takes operands below 2^-14 for zero. Those of bf16 and fp32
// are float32's.
#pragma once

#include "kernels/amd/isa/numbers.hpp"

namespace rapt::amd {

inline constexpr int kTile = kWave, kTileRows = 4, kRegisters = kTileRows;
using Tile = f32x4;

// A step is 16 bytes of a row.
template <class T>
struct Matrix {
  static constexpr int size = sizeof(typename T::element), step = 16 / size, each = kRegisters;
  using A = u32x4;
  using B = u32x4;
  DEVICE int b_offset(int) { return 0; }
  DEVICE int element(int r, int) { return r; }
};

// The elements of a word of bf16, as float32.
DEVICE float low_bf16(uint32_t word) { return __builtin_bit_cast(float, word << 16); }
DEVICE float high_bf16(uint32_t word) { return __builtin_bit_cast(float, word & 0xffff0000u); }

// In assembly: with the builtin, clang puts the sums of a loop in other registers than they come from, and has too few.
DEVICE float dot2(uint32_t scalar, uint32_t own, float sum) {
  asm("v_dot2_f32_f16 %0, %1, %2, %0" : "+v"(sum) : "s"(scalar), "v"(own));
  return sum;
}

// sum + the product of a word of a row in scalar registers with the same word of the lane's row.
template <class T>
DEVICE float add_product(uint32_t scalar, uint32_t own, float sum) {
  if constexpr (__is_same(T, fp16)) return dot2(scalar, own, sum);
  else if constexpr (__is_same(T, bf16))
    return __builtin_fmaf(high_bf16(scalar), high_bf16(own), __builtin_fmaf(low_bf16(scalar), low_bf16(own), sum));
  else return __builtin_fmaf(__builtin_bit_cast(float, scalar), __builtin_bit_cast(float, own), sum);
}

// The weights of two rows, in float32 or as a pair of fp16.
struct Weights {
  float a, b;
  DEVICE_MEMBER Weights(float a, float b) : a(a), b(b) {}
};
struct HalfWeights {
  uint32_t both;
  DEVICE_MEMBER HalfWeights(float a, float b) : both(fp16::pack_p(a, b)) {}
};

// Adds a word of two rows, each times its weight, to the sums of the word's elements.
DEVICE void add_rows(uint32_t a, uint32_t b, const HalfWeights& weights, float (&sums)[2]) {
  uint32_t low, high;
  asm("s_pack_ll_b32_b16 %0, %1, %2" : "=s"(low) : "s"(a), "s"(b));
  asm("s_pack_hh_b32_b16 %0, %1, %2" : "=s"(high) : "s"(a), "s"(b));  // clang would take three instructions
  sums[0] = dot2(low, weights.both, sums[0]);
  sums[1] = dot2(high, weights.both, sums[1]);
}

// One row of them.
template <class T>
DEVICE void add_row(uint32_t row, float weight, float (&sums)[4 / Matrix<T>::size]) {
  if constexpr (__is_same(T, fp16)) {
    asm("v_fma_mix_f32 %0, %1, %2, %0 op_sel_hi:[1,0,0]" : "+v"(sums[0]) : "s"(row), "v"(weight));
    asm("v_fma_mix_f32 %0, %1, %2, %0 op_sel:[1,0,0] op_sel_hi:[1,0,0]" : "+v"(sums[1]) : "s"(row), "v"(weight));
  } else if constexpr (__is_same(T, bf16)) {
    sums[0] = __builtin_fmaf(low_bf16(row), weight, sums[0]);
    sums[1] = __builtin_fmaf(high_bf16(row), weight, sums[1]);
  } else {
    sums[0] = __builtin_fmaf(__builtin_bit_cast(float, row), weight, sums[0]);
  }
}
template <class T>
DEVICE void add_rows(uint32_t a, uint32_t b, const Weights& weights, float (&sums)[4 / Matrix<T>::size]) {
  add_row<T>(a, weights.a, sums);
  add_row<T>(b, weights.b, sums);
}

}  // namespace rapt::amd
