// Products with 16 rows of q, for split-KV: S^T = K Q^T for a block of keys, O^T = V^T P^T for 16 dimensions. A lane
// has the scores of row lane % 16 of q with `scores` neighbouring keys, computed in `products` products, and has loaded
// the rows value_row(i, lane) of V, a column of which is operand A of the second product: so neither K nor V goes
// through LDS. That product has `steps` parts of the keys, each with as many of these rows.
//
// Layouts: AMD's matrix instruction calculator; of RDNA, wmma.hpp.
#pragma once

#include "kernels/amd/isa/matrix.hpp"

namespace rapt::amd {

#ifdef RAPT_CDNA

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

#else

using Result16 = Tile;  // register r of lane l is row 8 * (l / 16) + r of A, column l % 16
inline constexpr int kQueryLanes = 2;

// Blocks of 16 keys. Of 32 bytes of a row, lane l has the 16 from 16 * (l / 16) on, on RDNA3 too: there the halves
// exchange theirs before a product, which costs less than the registers that whole fragments would.
template <class T>
struct Rows16 {
  using M = Matrix<T>;
  using A = u32x4;
  using B = u32x4;
  static constexpr int step = 16, keys = 16, products = 1, scores = 8, steps = 1;
  DEVICE int a_offset(int lane) { return lane / 16 * 16; }
  DEVICE int b_offset(int lane) { return lane / 16 * 16; }
  DEVICE int column(int lane) { return M::unslot(lane % 16); }
  DEVICE int result_row(int r, int lane) { return M::element(r, lane / 16); }
  DEVICE int key_row(int, int lane) { return M::unslot(lane % 16); }
  DEVICE int value_row(int i, int lane) { return lane / 16 * 8 + i; }
  DEVICE B weights(const float (&p)[scores], int) {
    return {T::pack_p(p[0], p[1]), T::pack_p(p[2], p[3]), T::pack_p(p[4], p[5]), T::pack_p(p[6], p[7])};
  }
  DEVICE Result16 multiply(A a, B b, Result16 c) {
    c = M::multiply(M::whole(a), M::whole(b), c);
    // Otherwise the compiler makes the operands of all products first and runs out of registers.
    __builtin_amdgcn_sched_barrier(0);
    return c;
  }
};

// As wmma.hpp has it: A's rows are those of the lane's half, and each lane has whole columns of B.
template <>
struct Rows16<fp32> {
  using M = Matrix<fp32>;
  using A = M::A;
  using B = M::B;
  static constexpr int step = 8, keys = 16, products = 1, scores = 8, steps = 2;
  DEVICE int a_offset(int lane) { return M::a_offset(lane); }
  DEVICE int b_offset(int) { return 0; }
  DEVICE int column(int lane) { return M::a_row(lane); }
  DEVICE int result_row(int r, int lane) { return M::element(r, lane / 16); }
  DEVICE int key_row(int, int lane) { return M::a_row(lane); }
  DEVICE int value_row(int i, int lane) { return i / 4 * 8 + (lane & 8) / 2 + i % 4; }
  DEVICE B weights(const float (&p)[scores], int part) {
    return M::operand(Tile{p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]}, part);
  }
  DEVICE Result16 multiply(A a, B b, Result16 c) { return M::multiply(a, b, c); }
};

#endif

// Keeps what computes x above what follows. Without it, the compiler moves RDNA's products below the next loads, and
// their operands need registers beside what is loaded.
template <class X>
DEVICE void keep_above(X& x) {
#ifndef RAPT_CDNA
  computed_here(x);
#endif
}

// The lanes that have keys of one row of q.
struct RowLanes {
  DEVICE float max(float x) {
    x = amd::max(x, other_half(x));
#ifdef RAPT_CDNA
    x = amd::max(x, from_lane(x, 16));
#endif
    return x;
  }
  DEVICE float sum(float x) {
    x += other_half(x);
#ifdef RAPT_CDNA
    x += from_lane(x, 16);
#endif
    return x;
  }

 private:
#ifdef RAPT_CDNA
  DEVICE float from_lane(float x, int distance) {
    const int bits = __builtin_bit_cast(int, x);
    return __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute((thread_id() ^ distance) * 4, bits));
  }
#endif
};

}  // namespace rapt::amd
