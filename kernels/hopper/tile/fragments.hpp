// A group's accumulators as kernels/common and the next product see them.
#pragma once

#include "kernels/hopper/isa/wgmma.hpp"
#include "kernels/nvidia/tile/not_finite.hpp"
#include "kernels/nvidia/tile/result.hpp"

namespace rapt::nvidia {

inline constexpr int kGroupThreads = 4 * kWave, kGroupRows = 64, kWarpRows = 16;

// Rounded, two neighbouring tiles are an operand A of 16 columns.
template <class T, int Tiles>
DEVICE void round_to_operand(const Accumulators<Tiles>& s, Fragment (&p)[Tiles / 2]) {
#pragma unroll
  for (int i = 0; i < Tiles; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t& pair = p[i / 2].x[i % 2 * 2 + half];
      pair = T::pack(s[i][2 * half], s[i][2 * half + 1]);
      asm volatile("" : "+r"(pair));  // here, and not where it is used
    }
}

template <int Tiles>
DEVICE void multiply_rows_by(Accumulators<Tiles>& o, const float (&factor)[2]) {
#pragma unroll
  for (int i = 0; i < Tiles; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) o[i][e] *= factor[e / 2];
}

// sum += 0 * pair, of two elements: NaN if an element is not finite.
DEVICE void add_zero_times(uint32_t& sum, uint32_t pair, fp16) {
  asm("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(sum) : "r"(pair), "r"(0));
}
DEVICE void add_zero_times(uint32_t& sum, uint32_t pair, bf16) {
  asm("fma.rn.bf16x2 %0, %1, %2, %0;" : "+r"(sum) : "r"(pair), "r"(0));
}

// Stores a lane's part of a row times a factor, rounded: `dims` elements of it exist, a multiple of 4. Lanes that are
// neighbours exchange halves, so that each stores four elements at once. All lanes call it; only those whose row exists
// store. Returns whether the lane's elements are finite.
template <class T, int Tiles>
DEVICE bool store_row(char* row, int dims, const Accumulators<Tiles>& o, int half, int lane, float factor,
                      bool exists) {
  uint32_t zeros = 0;
  const bool odd = lane % 2 != 0;
  const int first = lane % 2 * 8 + lane % 4 / 2 * 4;  // of the four elements
#pragma unroll
  for (int i = 0; i < Tiles; i += 2) {
    const auto pair = [&](int tile) { return T::pack(o[tile][2 * half] * factor, o[tile][2 * half + 1] * factor); };
    const uint32_t even_tile = pair(i), odd_tile = pair(i + 1);
    add_zero_times(zeros, even_tile, T());
    add_zero_times(zeros, odd_tile, T());
    const uint32_t other = __shfl_xor_sync(~0u, odd ? even_tile : odd_tile, 1);
    const uint2 four = odd ? make_uint2(other, odd_tile) : make_uint2(even_tile, other);
    const int dim = i * 8 + first;
    auto* const to = reinterpret_cast<typename T::element*>(row) + dim;
    if (exists && dim < dims) *reinterpret_cast<uint2*>(to) = four;
  }
  return (zeros & 0x7fff7fffu) == 0;  // each is a zero, or NaN
}

}  // namespace rapt::nvidia
