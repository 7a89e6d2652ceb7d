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

// Stores a lane's part of a row times a factor, rounded: `dims` elements of it exist, a multiple of 4. Lanes that are
// neighbours exchange halves, so that each stores four elements at once. All lanes call it; only those whose row exists
// store.
template <class T, int Tiles>
DEVICE void store_row(char* row, int dims, const Accumulators<Tiles>& o, int half, int lane, float factor,
                      bool exists) {
  const bool odd = lane % 2 != 0;
  const int first = lane % 2 * 8 + lane % 4 / 2 * 4;  // of the four elements
#pragma unroll
  for (int i = 0; i < Tiles; i += 2) {
    const auto pair = [&](int tile) { return T::pack(o[tile][2 * half] * factor, o[tile][2 * half + 1] * factor); };
    const uint32_t even_tile = pair(i), odd_tile = pair(i + 1);
    const uint32_t other = __shfl_xor_sync(~0u, odd ? even_tile : odd_tile, 1);
    const uint2 four = odd ? make_uint2(other, odd_tile) : make_uint2(even_tile, other);
    const int dim = i * 8 + first;
    auto* const to = reinterpret_cast<typename T::element*>(row) + dim;
    if (exists && dim < dims) *reinterpret_cast<uint2*>(to) = four;
  }
}

}  // namespace rapt::nvidia
