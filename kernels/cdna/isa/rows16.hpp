// Products with 16 rows of q (amd/isa/rows16.hpp) by CDNA's instructions for tiles of 16x16.
#pragma once

#include "kernels/amd/isa/matrix.hpp"

namespace rapt::amd {

using Result16 = f32x4;  // of 16 rows of A; register r of lane l is row 4 * (l / 16) + r, column l % 16
inline constexpr int kQueryLanes = 4;

struct Rows16Lanes {
  using A = u32x4;  // of lane l: of 64 bytes of a row, the 16 from 16 * (l / 16) on
  using B = u32x4;
  DEVICE int a_offset(int lane) { return lane / 16 * 16; }
  DEVICE int b_offset(int lane) { return lane / 16 * 16; }
  DEVICE int column(int lane) { return lane % 16; }  // of V, of the 16 of an operand
  DEVICE int result_row(int r, int lane) { return lane / 16 * 4 + r; }
};

// Blocks of 32 keys, in two products of 16. Row p of A in product t is key 8 * (p / 4) + 4 * t + p % 4, so that a lane
// has 8 neighbouring keys.
template <class T>
struct Rows16Of16Bits : Rows16Lanes {
  static constexpr int step = 32, keys = 32, products = 2, scores = 8, steps = 1;
  DEVICE int key_row(int product, int lane) { return lane % 16 / 4 * 8 + product * 4 + lane % 4; }
  DEVICE int value_row(int i, int lane) { return lane / 16 * 8 + i; }
  DEVICE B weights(const float (&p)[scores], int) {
    return {T::pack_p(p[0], p[1]), T::pack_p(p[2], p[3]), T::pack_p(p[4], p[5]), T::pack_p(p[6], p[7])};
  }
};

template <class T>
struct Rows16;

#define RAPT_MFMA(name, a, b, c) __builtin_amdgcn_mfma_f32_16x16##name(a, b, c, 0, 0, 0)

template <>
struct Rows16<fp16> : Rows16Of16Bits<fp16> {
  DEVICE Result16 multiply(A a, B b, Result16 c) {
#ifdef __gfx950__
    using h8 = vec<_Float16, 8>;
    return RAPT_MFMA(x32_f16, __builtin_bit_cast(h8, a), __builtin_bit_cast(h8, b), c);
#else
    using h4 = vec<_Float16, 4>;
#pragma unroll
    for (int i = 0; i < 2; ++i)
      c = RAPT_MFMA(x16f16, __builtin_bit_cast(h4, pair(a, i)), __builtin_bit_cast(h4, pair(b, i)), c);
    return c;
#endif
  }
};

template <>
struct Rows16<bf16> : Rows16Of16Bits<bf16> {
  DEVICE Result16 multiply(A a, B b, Result16 c) {
#if defined(__gfx950__)
    using b8 = vec<__bf16, 8>;
    return RAPT_MFMA(x32_bf16, __builtin_bit_cast(b8, a), __builtin_bit_cast(b8, b), c);
#elif defined(__gfx908__)
    using s2 = vec<short, 2>;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t x = a[i], y = b[i];
      c = RAPT_MFMA(x8bf16, __builtin_bit_cast(s2, x), __builtin_bit_cast(s2, y), c);
    }
    return c;
#else
    using s4 = vec<short, 4>;
#pragma unroll
    for (int i = 0; i < 2; ++i)
      c = RAPT_MFMA(x16bf16_1k, __builtin_bit_cast(s4, pair(a, i)), __builtin_bit_cast(s4, pair(b, i)), c);
    return c;
#endif
  }
};

template <>
struct Rows16<fp32> : Rows16Lanes {
  static constexpr int step = 16, keys = 16, products = 1, scores = 4, steps = 1;
  DEVICE int key_row(int, int lane) { return lane % 16; }
  DEVICE int value_row(int i, int lane) { return lane / 16 * 4 + i; }
  DEVICE B weights(const float (&p)[scores], int) { return {bits(p[0]), bits(p[1]), bits(p[2]), bits(p[3])}; }
  DEVICE Result16 multiply(A a, B b, Result16 c) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t x = a[i], y = b[i];
      c = RAPT_MFMA(x4f32, __builtin_bit_cast(float, x), __builtin_bit_cast(float, y), c);
    }
    return c;
  }
};

#undef RAPT_MFMA

}  // namespace rapt::amd
