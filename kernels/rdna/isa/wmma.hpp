// Products of 16x16 tiles with the WMMA instructions of RDNA3 and RDNA4 (wave32). Like mfma.hpp, with tiles of 16;
// layouts: AMD's matrix instruction calculator and the RDNA4 ISA document. WMMA takes no float32 operands, so the
// vector unit multiplies those, and DPP broadcasts A's elements to all lanes of a half.
//
// RDNA4: lane l holds 8 of every 16 elements of row l % 16, from 8 * (l / 16) on; result register r is row
// 8 * (l / 16) + r. RDNA3: both halves of a wave hold all 16 elements; result register r is row 2 * r + l / 16. There
// slot() makes a lane's rows consecutive too, and the halves exchange P^T.
#pragma once

#include "kernels/amd/isa/numbers.hpp"

namespace rapt::amd {

inline constexpr int kTile = 16, kTileRows = kTile;
inline constexpr int kRegisters = 8;
using Tile = f32x8;

DEVICE bool upper_half() { return thread_id() & 16; }

// A lane keeps half of the 32 bytes that a step has of its row.
struct HalvesKept {
  using Kept = u32x4;
  DEVICE int kept_offset(int lane) { return lane / 16 * 16; }
  // Where both halves of a wave need all of them: the lower half's part, then the upper half's.
  DEVICE u32x8 both_halves(const Kept& own) {
    u32x8 row;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t other = other_half(own[i]);
      row[i] = upper_half() ? other : own[i];
      row[i + 4] = upper_half() ? own[i] : other;
    }
    return row;
  }
};

template <class T>
struct Matrix16 : HalvesKept {
  static constexpr int step = 16, each = 8;
  DEVICE int a_row(int lane) { return lane % 16; }
  DEVICE int element(int r, int half) { return 8 * half + r; }
#ifdef __GFX12__
  using A = u32x4;
  using B = u32x4;
  DEVICE int a_offset(int lane) { return lane / 16 * 16; }
  DEVICE int b_offset(int lane) { return lane / 16 * 16; }
  DEVICE int slot(int row) { return row; }
  DEVICE int unslot(int place) { return place; }
  DEVICE B whole(const Kept& own) { return own; }
#else
  using A = u32x8;
  using B = u32x8;
  DEVICE int a_offset(int) { return 0; }
  DEVICE int b_offset(int) { return 0; }
  DEVICE int slot(int row) { return (row & ~15) | (row & 7) << 1 | (row & 8) >> 3; }
  DEVICE int unslot(int place) { return (place & ~15) | (place & 1) << 3 | (place & 14) >> 1; }
  DEVICE B whole(const Kept& own) { return both_halves(own); }
#endif
  // A result as operand B.
  DEVICE B operand(const Tile& x, int) {
    return whole({T::pack_p(x[0], x[1]), T::pack_p(x[2], x[3]), T::pack_p(x[4], x[5]), T::pack_p(x[6], x[7])});
  }
};

template <class T>
struct Matrix;

template <>
struct Matrix<fp16> : Matrix16<fp16> {
  DEVICE Tile multiply(A a, B b, Tile c) {
    using half = vec<_Float16, sizeof(A) / 2>;
#ifdef __GFX12__
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(__builtin_bit_cast(half, a), __builtin_bit_cast(half, b),
                                                            c);
#else
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(__builtin_bit_cast(half, a), __builtin_bit_cast(half, b), c);
#endif
  }
};

template <>
struct Matrix<bf16> : Matrix16<bf16> {
  DEVICE Tile multiply(A a, B b, Tile c) {
    using brain = vec<short, sizeof(A) / 2>;
#ifdef __GFX12__
    return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(__builtin_bit_cast(brain, a), __builtin_bit_cast(brain, b),
                                                             c);
#else
    return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(__builtin_bit_cast(brain, a), __builtin_bit_cast(brain, b), c);
#endif
  }
};

// In a step of 8, lane l has the first or last 4 elements of A's row 8 * (l / 16) + l % 8, and all 8 of B's column
// l % 16. So each half of the wave has the rows that its results need.
template <>
struct Matrix<fp32> : HalvesKept {
  static constexpr int step = 8, each = 8;
  using A = u32x4;
  using B = u32x8;
  DEVICE int a_row(int lane) { return lane / 16 * 8 + lane % 8; }
  DEVICE int a_offset(int lane) { return (lane & 8) * 2; }
  DEVICE int b_offset(int) { return 0; }
  DEVICE int slot(int row) { return row; }
  DEVICE int unslot(int place) { return place; }
  DEVICE int element(int r, int half) { return 8 * half + r; }
  DEVICE B whole(const Kept& own) { return both_halves(own); }

  // Rows [8 * part, 8 * part + 8) of a result, which are in one half of the wave.
  DEVICE B operand(const Tile& x, int part) {
    B whole;
#pragma unroll
    for (int i = 0; i < 8; ++i) whole[i] = bits(upper_half() == (part == 1) ? x[i] : other_half(x[i]));
    return whole;
  }
  DEVICE Tile multiply(A a, B b, Tile c) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      multiply_rows<0>(a[i], b[i], c);
      multiply_rows<8>(a[i], b[i + 4], c);
    }
    // Otherwise the compiler loads the operands of all steps first and runs out of registers.
    __builtin_amdgcn_sched_barrier(0);
    return c;
  }

 private:
  // Register R of the result takes A from lane First + R of its half. In assembly, because the compiler does not fold
  // the DPP move into the multiply-add; the hardware inserts the waits it needs.
  template <int First, int R = 0>
  DEVICE void multiply_rows(uint32_t a, uint32_t b, Tile& c) {
    float sum = c[R];
    asm("v_fmac_f32_dpp %0, %1, %2 row_share:%3 row_mask:0xf bank_mask:0xf bound_ctrl:1"
        : "+v"(sum)
        : "v"(a), "v"(b), "n"(First + R));
    c[R] = sum;
    if constexpr (R + 1 < kRegisters) multiply_rows<First, R + 1>(a, b, c);
  }
};

}  // namespace rapt::amd
