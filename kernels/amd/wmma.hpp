// Products of 16x16 tiles by the WMMA instructions of RDNA3 and RDNA4 (wave32). As mfma.hpp, with tiles of 16; layouts:
// AMD's matrix instruction calculator and the RDNA4 ISA document.
//
// RDNA4: lane l holds of each 16 elements of row l % 16 the 8 from 8 * (l / 16) on; result register r is row
// 8 * (l / 16) + r. RDNA3: both halves of a wave hold all 16 elements; result register r is row 2 * r + l / 16, so that
// slot makes its rows consecutive too, and P^T is exchanged between the halves.
#pragma once

#include "kernels/amd/numbers.hpp"

namespace rapt::amd {

inline constexpr int kTile = 16;
inline constexpr int kRegisters = 8;
using Tile = f32x8;

struct Matrix16 {
  static constexpr int step = 16, each = 8;
  DEVICE int element(int r, int half) { return 8 * half + r; }
#ifdef __GFX12__
  using Fragment = u32x4;
  static constexpr int fragment_bytes = 16;
  DEVICE int offset(int half) { return 16 * half; }
  DEVICE int slot(int row) { return row; }
  DEVICE int unslot(int place) { return place; }
#else
  using Fragment = u32x8;
  static constexpr int fragment_bytes = 32;
  DEVICE int offset(int) { return 0; }
  DEVICE int slot(int row) { return (row & ~15) | (row & 7) << 1 | (row & 8) >> 3; }
  DEVICE int unslot(int place) { return (place & ~15) | (place & 1) << 3 | (place & 14) >> 1; }
#endif
};

template <class T>
struct Matrix;

template <>
struct Matrix<fp16> : Matrix16 {
  DEVICE Tile multiply(Fragment a, Fragment b, Tile c) {
    using half = vec<_Float16, sizeof(Fragment) / 2>;
#ifdef __GFX12__
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(__builtin_bit_cast(half, a), __builtin_bit_cast(half, b), c);
#else
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(__builtin_bit_cast(half, a), __builtin_bit_cast(half, b), c);
#endif
  }
};

template <>
struct Matrix<bf16> : Matrix16 {
  DEVICE Tile multiply(Fragment a, Fragment b, Tile c) {
    using brain = vec<short, sizeof(Fragment) / 2>;
#ifdef __GFX12__
    return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(__builtin_bit_cast(brain, a), __builtin_bit_cast(brain, b),
                                                             c);
#else
    return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(__builtin_bit_cast(brain, a), __builtin_bit_cast(brain, b), c);
#endif
  }
};

// P^T as an operand: 8 values of one column, packed.
template <class T>
DEVICE Matrix16::Fragment p_fragment(const float* p) {
  const u32x4 own = {T::pack_p(p[0], p[1]), T::pack_p(p[2], p[3]), T::pack_p(p[4], p[5]), T::pack_p(p[6], p[7])};
#ifdef __GFX12__
  return own;
#else
  const bool upper = thread_id() & 16;
  Matrix16::Fragment whole;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t other = other_half(own[i]);
    whole[i] = upper ? other : own[i];
    whole[i + 4] = upper ? own[i] : other;
  }
  return whole;
#endif
}

}  // namespace rapt::amd
