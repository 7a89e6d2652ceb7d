// Products of 32x32 tiles with CDNA's MFMA instructions (wave64). Layouts: AMD's matrix instruction calculator.
//
// An operand's fragment is 16 bytes of one row per lane. Lane l has row l % 32 and, in every `step` elements, the
// `each` elements from each * (l / 32) on. The order of the contraction index within a step is free as long as both
// operands agree, so one wide load gives a fragment. In a result, register 4 * a + b of lane l is column l % 32 of row
// 8 * a + 4 * (l / 32) + b. Row x of A is put at slot(x), so that register r of lane l holds row element(r, l / 32).
// Then `each` consecutive registers are consecutive rows: a fragment of the transposed operand. P^T needs no exchange
// between lanes.
#pragma once

#include "kernels/amd/isa/numbers.hpp"

namespace rapt::amd {

inline constexpr int kTile = 32, kTileRows = kTile;
inline constexpr int kRegisters = 16;  // of a result, per lane
using Tile = f32x16;

#define RAPT_MFMA(name, a, b, c) __builtin_amdgcn_mfma_f32_32x32##name(a, b, c, 0, 0, 0)

// clang 22 has the results of all products in accumulation registers, or of none, and decides by whether the kernel
// asks for some, as in_accumulators() does. There, products that the vector unit reads come from instructions of our
// own, whose other operand stays in accumulation registers. The compiler does not know that their result takes up to 18
// wait states: other products must come before it is read, or settle().
template <class X>
DEVICE void in_accumulators(X& sum) {
  asm volatile("" : "+a"(sum));
}
#ifdef __gfx908__
DEVICE void settle(Tile&) {}
#else
DEVICE void settle(Tile& product) { asm volatile("s_nop 15\n\ts_nop 1" : "+v"(product)); }
#endif
#define RAPT_MFMA_TO_VECTOR(name, a, b, c, first)                                       \
  if (first) asm("v_mfma_f32_32x32" name " %0, %1, %2, 0" : "=&v"(c) : "v"(a), "a"(b)); \
  else asm("v_mfma_f32_32x32" name " %0, %1, %2, %0" : "+v"(c) : "v"(a), "a"(b))

// Not .lo and .hi: clang's bit_cast takes the first elements for both.
DEVICE u32x2 pair(u32x4 x, int i) { return {x[2 * i], x[2 * i + 1]}; }

// The product of a fragment takes M::parts instructions, each of an M::Part of it.
template <class M>
DEVICE Tile multiply_parts(u32x4 a, u32x4 b, Tile c) {
#pragma unroll
  for (int i = 0; i < M::parts; ++i) c = M::multiply_part(a, b, i, c);
  return c;
}

struct MatrixLanes {
  using A = u32x4;
  using B = u32x4;
  DEVICE int a_row(int lane) { return lane % 32; }
  DEVICE int a_offset(int lane) { return lane / 32 * 16; }  // bytes of a lane's part of a step
  DEVICE int b_offset(int lane) { return lane / 32 * 16; }
  using Kept = B;
  DEVICE int kept_offset(int lane) { return b_offset(lane); }
  DEVICE B whole(const Kept& own) { return own; }
};

template <class T>
struct Matrix16 : MatrixLanes {
  static constexpr int step = 16, each = 8;
  DEVICE int slot(int row) { return (row & ~12) | (row & 4) << 1 | (row & 8) >> 1; }
  DEVICE int unslot(int place) { return slot(place); }
  DEVICE int element(int r, int half) { return 16 * (r / 8) + 8 * half + r % 8; }
  // A result's rows [16 * part, 16 * part + 16) as operand B.
  DEVICE B operand(const Tile& x, int part) {
    const int r = part * each;
    return {T::pack_p(x[r], x[r + 1]), T::pack_p(x[r + 2], x[r + 3]), T::pack_p(x[r + 4], x[r + 5]),
            T::pack_p(x[r + 6], x[r + 7])};
  }
};

template <class T>
struct Matrix;

template <>
struct Matrix<fp16> : Matrix16<fp16> {
#ifdef __gfx950__
  static constexpr int parts = 1;
  using Part = u32x4;
  DEVICE Part part(u32x4 x, int) { return x; }
  DEVICE Tile multiply_one(Part a, Part b, Tile c) {
    using h8 = vec<_Float16, 8>;
    return RAPT_MFMA(x16_f16, __builtin_bit_cast(h8, a), __builtin_bit_cast(h8, b), c);
  }
  DEVICE void multiply_to_vector(Part a, Part b, Tile& c, bool first) {
    RAPT_MFMA_TO_VECTOR("x16_f16", a, b, c, first);
  }
#else
  static constexpr int parts = 2;
  using Part = u32x2;
  DEVICE Part part(u32x4 x, int i) { return pair(x, i); }
  DEVICE Tile multiply_one(Part a, Part b, Tile c) {
    using h4 = vec<_Float16, 4>;
    return RAPT_MFMA(x8f16, __builtin_bit_cast(h4, a), __builtin_bit_cast(h4, b), c);
  }
#ifdef __gfx908__
  DEVICE void multiply_to_vector(Part a, Part b, Tile& c, bool first) { c = multiply_one(a, b, first ? Tile{} : c); }
#else
  DEVICE void multiply_to_vector(Part a, Part b, Tile& c, bool first) { RAPT_MFMA_TO_VECTOR("x8f16", a, b, c, first); }
#endif
#endif
  DEVICE Tile multiply_part(A a, B b, int i, Tile c) { return multiply_one(part(a, i), part(b, i), c); }
  DEVICE Tile multiply(A a, B b, Tile c) { return multiply_parts<Matrix>(a, b, c); }
};

template <>
struct Matrix<bf16> : Matrix16<bf16> {
#if defined(__gfx950__)
  static constexpr int parts = 1;
  using Part = u32x4;
  DEVICE Part part(u32x4 x, int) { return x; }
  DEVICE Tile multiply_one(Part a, Part b, Tile c) {
    using b8 = vec<__bf16, 8>;
    return RAPT_MFMA(x16_bf16, __builtin_bit_cast(b8, a), __builtin_bit_cast(b8, b), c);
  }
  DEVICE void multiply_to_vector(Part a, Part b, Tile& c, bool first) {
    RAPT_MFMA_TO_VECTOR("x16_bf16", a, b, c, first);
  }
#elif defined(__gfx908__)
  static constexpr int parts = 4;
  using Part = uint32_t;
  DEVICE Part part(u32x4 x, int i) { return x[i]; }
  DEVICE Tile multiply_one(Part a, Part b, Tile c) {
    using s2 = vec<short, 2>;
    return RAPT_MFMA(x4bf16, __builtin_bit_cast(s2, a), __builtin_bit_cast(s2, b), c);
  }
  DEVICE void multiply_to_vector(Part a, Part b, Tile& c, bool first) { c = multiply_one(a, b, first ? Tile{} : c); }
#else
  static constexpr int parts = 2;
  using Part = u32x2;
  DEVICE Part part(u32x4 x, int i) { return pair(x, i); }
  DEVICE Tile multiply_one(Part a, Part b, Tile c) {
    using s4 = vec<short, 4>;
    return RAPT_MFMA(x8bf16_1k, __builtin_bit_cast(s4, a), __builtin_bit_cast(s4, b), c);
  }
  DEVICE void multiply_to_vector(Part a, Part b, Tile& c, bool first) {
    RAPT_MFMA_TO_VECTOR("x8bf16_1k", a, b, c, first);
  }
#endif
  DEVICE Tile multiply_part(A a, B b, int i, Tile c) { return multiply_one(part(a, i), part(b, i), c); }
  DEVICE Tile multiply(A a, B b, Tile c) { return multiply_parts<Matrix>(a, b, c); }
};

template <>
struct Matrix<fp32> : MatrixLanes {
  static constexpr int step = 8, each = 4;
  DEVICE int slot(int row) { return row; }
  DEVICE int unslot(int place) { return place; }
  DEVICE int element(int r, int half) { return 8 * (r / 4) + 4 * half + r % 4; }
  DEVICE B operand(const Tile& x, int part) {
    const int r = part * each;
    return {bits(x[r]), bits(x[r + 1]), bits(x[r + 2]), bits(x[r + 3])};
  }
  static constexpr int parts = 4;
  DEVICE Tile multiply_part(A a, B b, int part, Tile c) {
    const uint32_t x = a[part], y = b[part];
    return RAPT_MFMA(x2f32, __builtin_bit_cast(float, x), __builtin_bit_cast(float, y), c);
  }
  DEVICE Tile multiply(A a, B b, Tile c) { return multiply_parts<Matrix>(a, b, c); }
};

#undef RAPT_MFMA
#undef RAPT_MFMA_TO_VECTOR

}  // namespace rapt::amd
