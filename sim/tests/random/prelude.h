// What a random program may use, with the same bits on the host and on a device: C++20 for clang, without any header.
// Nothing here is undefined for any operand. NaNs are made equal before their bits are used, since neither C++ nor IEEE
// 754 says which NaN an operation gives; everything else is exact.
#pragma once

// u: unsigned of the same width; w: unsigned and not promoted to int; d: twice as wide.
template <typename T>
struct Of;
#define TYPES(T, U, W, D)          \
  template <>                      \
  struct Of<T> {                   \
    typedef U u;                   \
    typedef W w;                   \
    typedef D d;                   \
    enum { bits = sizeof(T) * 8 }; \
  };
TYPES(i8, u8, u32, i32)
TYPES(u8, u8, u32, u32)
TYPES(i16, u16, u32, i32)
TYPES(u16, u16, u32, u32)
TYPES(i32, u32, u32, i64)
TYPES(u32, u32, u32, u64)
TYPES(i64, u64, u64, __int128)
TYPES(u64, u64, u64, unsigned __int128)
#undef TYPES

#define T1              \
  template <typename T> \
  INLINE
#define W typename Of<T>::w
#define U typename Of<T>::u

// A value about which a compiler for devices knows nothing.
T1 T hidden(T a) {
#if ON_DEVICE
  asm("" : "+v"(a));
#endif
  return a;
}
// Not at -O0: clang-19 crashes if a __builtin_constant_p leaves a function without a call to it.
#ifdef __OPTIMIZE__
#define IS_CONSTANT(a) __builtin_constant_p(a)
#else
#define IS_CONSTANT(a) false
#endif
T1 T hidden_constant(T a) { return IS_CONSTANT(a) ? hidden(a) : a; }
T1 T hidden_zero(T a) { return IS_CONSTANT(a) && a == T(0) ? hidden(a) : a; }

// Integers wrap, and shift amounts are taken modulo the width. Two things clang-19 for devices must not know. If an
// unsigned number has many leading ones, it divides by it as if it had 24 bits. If two numbers are bytes, it forgets
// the absolute value of their difference.
T1 T unknown(T a) {
  if constexpr (__clang_major__ < 20 && sizeof(T) >= 4 && T(-1) > T(0)) return hidden(a);
  return a;
}
T1 T add(T a, T b) { return T(W(a) + W(b)); }
T1 T sub(T a, T b) { return T(W(a) - W(b)); }
T1 T mul(T a, T b) { return T(W(a) * W(b)); }
T1 T mad(T a, T b, T c) { return T(W(a) * W(b) + W(c)); }
T1 T neg(T a) { return T(W(0) - W(a)); }
T1 T shl(T a, u32 n) { return T(W(a) << (n & (Of<T>::bits - 1))); }
T1 T shr(T a, u32 n) { return T(a >> (n & (Of<T>::bits - 1))); }
T1 T rotl(T a, u32 n) { return T(W(U(a)) << (n & (Of<T>::bits - 1)) | W(U(a)) >> (-n & (Of<T>::bits - 1))); }
// The double width's low bits of a:b shifted right.
T1 T funnel(T a, T b, u32 n) {
  n &= Of<T>::bits - 1;
  return n == 0 ? b : T(W(U(a)) << (Of<T>::bits - n) | W(U(b)) >> n);
}
T1 T mulhi(T a, T b) { return T((typename Of<T>::d)(a) * (typename Of<T>::d)(b) >> Of<T>::bits); }
// x / 0 is all ones, x % 0 is x; the lowest number over -1 wraps.
T1 T quotient(T a, T b) { return b == 0 ? T(-1) : T(-1) < T(0) && b == T(-1) ? neg(a) : T(unknown(a) / unknown(b)); }
T1 T remainder(T a, T b) { return b == 0 ? a : T(-1) < T(0) && b == T(-1) ? T(0) : T(unknown(a) % unknown(b)); }
// Products of 24 bits, or 26: both compilers forget the mask of 24 bits in 64-bit sums of products.
T1 T mul24(T a, T b) {
  const T mask = T(sizeof(T) == 8 ? 0x3ffffff : 0xffffff);
  return T(W(a & mask) * W(b & mask));
}
T1 T smaller(T a, T b) { return a < b ? a : b; }
T1 T larger(T a, T b) { return a < b ? b : a; }
T1 T middle(T a, T b, T c) { return larger(smaller(a, b), smaller(larger(a, b), c)); }
T1 T absolute(T a) { return a < T(0) ? neg(a) : a; }
// For numbers narrower than an int, clang-19 takes b - a for a - b where both are SDWA instructions of one pair.
T1 T distance(T a, T b) {
  if constexpr (__clang_major__ < 20 && sizeof(T) < 4) return a < b ? T(hidden(W(b)) - W(a)) : sub(a, b);
  return a < b ? sub(b, a) : sub(a, b);
}
// For numbers narrower than an int, clang-19 saturates the sum of ints.
T1 T saturated(i32 a) {
  const i32 lowest = T(-1) < T(0) ? -(1 << (Of<T>::bits - 1)) : 0, highest = lowest + ((1 << Of<T>::bits) - 1);
  return T(middle(a, lowest, highest));
}
T1 T add_sat(T a, T b) {
  if constexpr (sizeof(T) < 4) {
    return saturated<T>(a + b);
  } else {
    return __builtin_elementwise_add_sat(a, b);
  }
}
T1 T sub_sat(T a, T b) {
  if constexpr (sizeof(T) < 4) {
    return saturated<T>(a - b);
  } else {
    return __builtin_elementwise_sub_sat(a, b);
  }
}
T1 T add_carry(T a, T b) {
  T sum;
  return __builtin_add_overflow(a, b, &sum) ? T(sum ^ 1) : sum;
}
T1 T sub_borrow(T a, T b) {
  T difference;
  return __builtin_sub_overflow(a, b, &difference) ? T(~difference) : difference;
}
T1 T mul_check(T a, T b) {
  T product;
  return __builtin_mul_overflow(a, b, &product) ? add(product, b) : product;
}
T1 T ones(T a) { return T(__builtin_popcountll(u64(U(a)))); }
T1 T leading(T a) { return a == 0 ? T(Of<T>::bits) : T(__builtin_clzll(u64(U(a))) - (64 - Of<T>::bits)); }
T1 T trailing(T a) { return a == 0 ? T(Of<T>::bits) : T(__builtin_ctzll(u64(U(a)))); }
T1 T reversed(T a) { return T(__builtin_bitreverse64(u64(U(a))) >> (64 - Of<T>::bits)); }
// In halves: clang-22 -O0 for gfx11 loses the upper half of each word in a __builtin_bswap64.
T1 T swapped(T a) {
  const u64 all = u64(U(a)), turned = u64(__builtin_bswap32(u32(all))) << 32 | __builtin_bswap32(u32(all >> 32));
  return T(turned >> (64 - Of<T>::bits));
}
T1 T field(T a, u32 from, u32 width) { return T(shr(a, from) & T((u64(1) << (width & (Of<T>::bits - 1))) - 1)); }
T1 T signed_field(T a, u32 from, u32 width) { return shr(shl(a, from - width), -width); }
// a | b. The compilers must not know that a word of two is all ones, as in ~u64(u32). If they find out late, both take
// the other operand's word (clang-19: any register).
T1 T merged(T a, T b) {
  if constexpr (sizeof(T) >= 8) return hidden(a) | hidden(b);
  return T(a | b);
}
// clang-22 for gfx950 makes (n & a) | (~n & b) of it where the mask is n & b: it must not know b.
T1 T insert(T mask, T a, T b) { return merged(T(a & mask), T(hidden(W(b)) & ~mask)); }
T1 T either(T a, T b, T c) { return merged(T(a & b), T(c & merged(a, b))); }
INLINE u32 bytes(u32 a, u32 b, u32 select) {
  u32 out = 0;
  for (u32 n = 0; n < 4; ++n) {
    const u32 from = select >> 8 * n & 7;
    out |= ((from < 4 ? b : a) >> 8 * (from & 3) & 0xff) << 8 * n;
  }
  return out;
}
INLINE u32 byte_distance(u32 a, u32 b, u32 sum) {
  for (u32 n = 0; n < 32; n += 8) sum += distance(unknown(a >> n & 0xff), unknown(b >> n & 0xff));
  return sum;
}
INLINE u64 wide_mad(u32 a, u32 b, u64 c) { return u64(a) * b + c; }
INLINE i64 wide_mad(i32 a, i32 b, i64 c) { return i64(u64(i64(a) * b) + u64(c)); }
INLINE u64 square_high(u64 a, u64 b, u32 n) {
  const unsigned __int128 wide = (unsigned __int128)a * b + ((unsigned __int128)b << 61);
  return u64(wide >> (n & 127));
}

// ---- floating point; the host has no libm for _Float16 and no run-time for __bf16
INLINE u32 bits(f32 a) { return a != a ? 0x7fc00000U : __builtin_bit_cast(u32, a); }
INLINE u64 bits(f64 a) { return a != a ? 0x7ff8000000000000UL : __builtin_bit_cast(u64, a); }
INLINE u16 bits(f16 a) { return a != a ? u16(0x7e00) : __builtin_bit_cast(u16, a); }
INLINE u16 bits(bf16 a) { return f32(a) != f32(a) ? u16(0x7fc0) : __builtin_bit_cast(u16, a); }
T1 T bits(T a) { return a; }
INLINE f32 from_bits(u32 a) { return __builtin_bit_cast(f32, a); }
INLINE f64 from_bits(u64 a) { return __builtin_bit_cast(f64, a); }
INLINE f16 half_from_bits(u16 a) { return __builtin_bit_cast(f16, a); }
INLINE bf16 brain_from_bits(u16 a) { return __builtin_bit_cast(bf16, a); }

#if !ON_DEVICE
// The run-time functions that __bf16 needs. Both types are returned in the same register; to return a __bf16, clang
// would call the function itself.
extern "C" __attribute__((used)) f16 __truncsfbf2(f32 a) {
  const u32 b = __builtin_bit_cast(u32, a);
  return __builtin_bit_cast(f16, a != a ? u16(0x7fc0) : u16((b + 0x7fff + (b >> 16 & 1)) >> 16));
}
// If `a` is not the exact result and its last digit is even: the next number towards the exact result. Rounding it
// again, to much fewer digits, then gives what rounding the exact result gives.
INLINE f64 odd(f64 a, f64 rest) {
  const u64 b = bits(a);
  if (!(rest > 0 || rest < 0) || (b & 1)) return a;
  return from_bits((rest > 0) == (a > 0) ? b + 1 : b - 1);
}
extern "C" __attribute__((used)) f16 __truncdfbf2(f64 a) {
  const f32 b = f32(a);
  const u32 c = __builtin_bit_cast(u32, b);
  const f64 rest = a - f64(b);
  if (!(rest > 0 || rest < 0) || (c & 1)) return __truncsfbf2(b);
  return __truncsfbf2(__builtin_bit_cast(f32, (rest > 0) == (a > 0) ? c + 1 : c - 1));
}
#endif

// Both compilers make -b of 0 - b and of 0 + -b where an instruction can negate what it reads: wrong where b is 0.
T1 T fadd(T a, T b) { return hidden_zero(a) + hidden_zero(b); }
T1 T fsub(T a, T b) { return hidden_zero(a) - b; }
// clang-22 for gfx950 makes -b of 0 - b and of 0 + -b in __bf16, which is wrong if b is 0: it must not see the 0.
INLINE bf16 fadd(bf16 a, bf16 b) { return hidden_constant(a) + hidden_constant(b); }
INLINE bf16 fsub(bf16 a, bf16 b) { return hidden(a) - b; }
T1 T fmul(T a, T b) { return a * b; }
T1 T fdiv(T a, T b) { return a / b; }
T1 T fneg(T a) { return -a; }
T1 T fabsolute(T a) { return __builtin_elementwise_abs(a); }
T1 T fmultiply_add(T a, T b, T c) { return fadd(T(a * b), c); }
T1 T ffma(T a, T b, T c) { return __builtin_elementwise_fma(a, b, c); }
INLINE bf16 ffma(bf16 a, bf16 b, bf16 c) { return fadd(bf16(a * b), c); }
INLINE f16 ffma(f16 a, f16 b, f16 c) {
#if ON_DEVICE
  return __builtin_elementwise_fma(a, b, c);
#else
  const f64 product = f64(a) * f64(b), sum = product + f64(c), back = sum - product;
  return f16(odd(sum, (product - (sum - back)) + (f64(c) - back)));
#endif
}
T1 T froot(T a) { return __builtin_elementwise_sqrt(a); }
INLINE f16 froot(f16 a) { return f16(__builtin_elementwise_sqrt(f32(a))); }
INLINE bf16 froot(bf16 a) { return bf16(__builtin_elementwise_sqrt(f32(a))); }
INLINE f16 fdiv(f16 a, f16 b) { return f16(f32(a) / f32(b)); }
T1 T ffloor(T a) { return __builtin_elementwise_floor(a); }
T1 T fceil(T a) { return __builtin_elementwise_ceil(a); }
T1 T ftrunc(T a) { return __builtin_elementwise_trunc(a); }
T1 T feven(T a) { return __builtin_elementwise_roundeven(a); }
INLINE bf16 ffloor(bf16 a) { return bf16(ffloor(f32(a))); }
INLINE bf16 fceil(bf16 a) { return bf16(fceil(f32(a))); }
INLINE bf16 ftrunc(bf16 a) { return bf16(ftrunc(f32(a))); }
INLINE bf16 feven(bf16 a) { return bf16(feven(f32(a))); }
// The sign of a NaN is not known.
T1 T fsign(T a, T b) { return __builtin_elementwise_copysign(a, b != b ? T(1.0F) : b); }
// With a conditional: no compiler supports copysign from one 16-bit type to the other.
INLINE f16 fsign(f16 a, f16 b) { return bits(b) >> 15 ? -fabsolute(a) : fabsolute(a); }
INLINE bf16 fsign(bf16 a, bf16 b) { return bits(b) >> 15 ? -fabsolute(a) : fabsolute(a); }
// Both compilers make maxNum of `a > b ? a : b` with a constant b, even -0.0, and minNum likewise: wrong if a is 0.
T1 T fsmaller(T a, T b) { return a < b ? a : hidden_constant(b); }
T1 T flarger(T a, T b) { return a > b ? a : hidden_constant(b); }
// minNum and maxNum: a signalling NaN may count as a number or not, and the zeros may come in any order.
T1 T quiet(T a) { return a != a ? T(__builtin_nanf("")) : a; }
T1 T fleast(T a, T b) { return fadd(T(__builtin_elementwise_min(quiet(a), quiet(b))), T(0.0F)); }
T1 T fmost(T a, T b) { return fadd(T(__builtin_elementwise_max(quiet(a), quiet(b))), T(0.0F)); }
INLINE bf16 fleast(bf16 a, bf16 b) { return bf16(fleast(f32(a), f32(b))); }
INLINE bf16 fmost(bf16 a, bf16 b) { return bf16(fmost(f32(a), f32(b))); }
T1 T fclamp(T a) { return fleast(fmost(a, T(0.0F)), T(1.0F)); }
T1 bool unordered(T a, T b) { return a != a || b != b; }

// Numbers outside the type, and NaN, become 0.
template <typename T, typename F>
INLINE T to_int(F a) {
  const f64 value = f64(a);
  const f64 end = from_bits(u64(1023 + Of<T>::bits - (T(-1) < T(0))) << 52);  // 2^31 for i32, 2^32 for u32
  const f64 lowest = T(-1) < T(0) ? -end : 0.0;
  const bool inside = Of<T>::bits == 64 ? value >= lowest && value < end : value > lowest - 1 && value < end;
  return inside ? T(a) : T(0);
}
template <typename F, typename T>
INLINE F to_float(T a) {
  if constexpr (sizeof(F) == 2) {
    return F(f32(a));
  } else {
    return F(a);
  }
}
template <typename F>
INLINE F to_float(f64 a) {
  return F(a);
}
// Both compilers turn a product in f32, converted to f16, into v_fma_mixlo_f16 with 0 to add, which loses the sign of
// -0.
template <typename F>
INLINE F to_float(f32 a) {
  return F(__is_same(F, f16) ? hidden(a) : a);
}

// ---- vectors
template <typename V, typename T>
INLINE V with(V a, u32 n, T value) {
  a[n] = value;
  return a;
}

// ---- memory: any address, or one that is aligned to the type
T1 T load(const u8* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
T1 T load_aligned(const u8* from) {
  T value;
  __builtin_memcpy(&value, __builtin_assume_aligned(from, sizeof value), sizeof value);
  return value;
}
T1 void store(u8* to, T value) { __builtin_memcpy(to, &value, sizeof value); }
T1 void store_aligned(u8* to, T value) {
  __builtin_memcpy(__builtin_assume_aligned(to, sizeof value), &value, sizeof value);
}

// ---- atomics whose order does not matter: what they return is not used
#if ON_DEVICE
#define ATOMIC(name)                                                                  \
  T1 void atomic_##name(T* at, T value) {                                             \
    __hip_atomic_fetch_##name(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
  }
ATOMIC(add)
ATOMIC(and)
ATOMIC(or)
ATOMIC(xor)
ATOMIC(min)
ATOMIC(max)
#undef ATOMIC
T1 void atomic_swap_mul(T* at, T value) {
  T old = __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  while (!__hip_atomic_compare_exchange_strong(at, &old, mul(old, T(value | 1)), __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                               __HIP_MEMORY_SCOPE_AGENT)) {
  }
}
#else
T1 void atomic_add(T* at, T value) { *at = T(*at + value); }
T1 void atomic_and(T* at, T value) { *at &= value; }
T1 void atomic_or(T* at, T value) { *at |= value; }
T1 void atomic_xor(T* at, T value) { *at ^= value; }
T1 void atomic_min(T* at, T value) { *at = smaller(*at, value); }
T1 void atomic_max(T* at, T value) { *at = larger(*at, value); }
T1 void atomic_swap_mul(T* at, T value) { *at = mul(*at, T(value | 1)); }
#endif

// Kernels have three phases; between them a workgroup waits for all its threads. Defined before: GROUP threads in each
// of GROUPS workgroups, INPUT bytes to read and OUTPUT bytes to write for each thread.
enum { SHARED = 128 };

// The same for all threads.
struct Uniform {
  u32 a;
  i64 b;
  f32 c;
  u16 d;
  i8 e;
  f64 f;
};

struct Shared {
  u64 words[SHARED];
  u32 narrow[SHARED];
  u32 totals[8];
};

// What a thread has: bytes to read and to write, and totals of all threads.
struct Thread {
  const u8* in;
  u8* out;
  u64* totals;
  Shared* shared;
  u32 id, group;
};

#if ON_DEVICE
#define KERNEL(name)                                                                              \
  extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(GROUP, GROUP))) void name(     \
      const u8* in, u8* out, u64* totals, Uniform uniform) {                                      \
    __shared__ Shared shared;                                                                     \
    const u32 id = TID, group = BID;                                                              \
    name##_state state;                                                                           \
    const u64 place = group * GROUP + id;                                                         \
    const Thread thread = {in + place * INPUT, out + place * OUTPUT, totals, &shared, id, group}; \
    name##_0(thread, uniform, state);                                                             \
    SYNC();                                                                                       \
    name##_1(thread, uniform, state);                                                             \
    SYNC();                                                                                       \
    name##_2(thread, uniform, state);                                                             \
  }
#else
#define KERNEL(name)                                                                                    \
  extern "C" __attribute__((visibility("default"))) void name(const u8* in, u8* out, u64* totals,       \
                                                              const Uniform& uniform) {                 \
    static Shared shared;                                                                               \
    static name##_state states[GROUP];                                                                  \
    for (u32 group = 0; group < GROUPS; ++group)                                                        \
      for (u32 phase = 0; phase < 3; ++phase)                                                           \
        for (u32 id = 0; id < GROUP; ++id) {                                                            \
          const u64 place = group * GROUP + id;                                                         \
          const Thread thread = {in + place * INPUT, out + place * OUTPUT, totals, &shared, id, group}; \
          (phase == 0 ? name##_0 : phase == 1 ? name##_1 : name##_2)(thread, uniform, states[id]);      \
        }                                                                                               \
  }
#endif
