// The device language without ROCm's headers: attributes, vector types, wave and lane, barriers, single instructions.
// Builtins are preferred to inline assembly, because the compiler then inserts all wait counts and hazard slots.
#pragma once

#include <stdint.h>

#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define DEVICE static inline __attribute__((device, always_inline))
#define DEVICE_MEMBER inline __attribute__((device, always_inline))
// Without these attributes the compiler assumes 1024 threads per workgroup. (launch_bounds is silently ignored.)
#define KERNEL(threads, waves_per_eu)                                              \
  extern "C" __attribute__((global, amdgpu_flat_work_group_size(threads, threads), \
                            amdgpu_waves_per_eu(waves_per_eu, waves_per_eu))) void

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define RAPT_CDNA 1
#elif defined(__gfx906__)
#define RAPT_DOT 1
#elif !defined(__GFX11__) && !defined(__GFX12__)
#error "no kernels for this architecture"
#endif

namespace rapt::amd {

template <class T, int N>
using vec __attribute__((ext_vector_type(N))) = T;
using u32x2 = vec<uint32_t, 2>;
using u32x4 = vec<uint32_t, 4>;
using u32x8 = vec<uint32_t, 8>;
using f32x2 = vec<float, 2>;
using f32x4 = vec<float, 4>;
using f32x8 = vec<float, 8>;
using f32x16 = vec<float, 16>;

template <bool Condition, class Then, class Else>
struct Choose {
  using type = Then;
};
template <class Then, class Else>
struct Choose<false, Then, Else> {
  using type = Else;
};

#ifdef __GFX9__
inline constexpr int kWave = 64;
#else
inline constexpr int kWave = 32;
#endif

inline constexpr float kLog2e = 1.44269504088896340736f, kLn2 = 0.693147180559945309417f;
inline constexpr float kLowest = -3.402823466e38f;

DEVICE int thread_id() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
DEVICE int workgroup_id() { return static_cast<int>(__builtin_amdgcn_workgroup_id_x()); }
DEVICE int uniform(int x) { return __builtin_amdgcn_readfirstlane(x); }
DEVICE int64_t uniform(int64_t x) {
  const uint32_t low = static_cast<uint32_t>(uniform(static_cast<int>(x)));
  return static_cast<int64_t>(uniform(static_cast<int>(x >> 32))) << 32 | low;
}

// An opaque copy keeps LICM from hoisting what is computed from x out of a loop, where it would occupy registers that
// the loop needs.
DEVICE int opaque_copy(int x) {
  asm volatile("" : "+v"(x));
  return x;
}
DEVICE int opaque_uniform(int x) {  // for values that are the same in all lanes
  asm volatile("" : "+s"(x));
  return x;
}
// What follows is computed after x and y: interleaved, many such pairs would take too many registers.
DEVICE void in_turn(float& x, float& y) { asm volatile("" : "+v"(x), "+v"(y)); }

// Computed here, not later, where the compiler would move it, when its operands' registers are needed for something
// else.
template <class X>
DEVICE void computed_here(X& x) {
  asm volatile("" : "+v"(x));
}
// Gives x any value. A variable that is declared in a loop without a value would keep the last round's value, in
// registers.
template <class X>
DEVICE void any_value(X& x) {
  asm volatile("" : "=v"(x));
}
DEVICE int opaque_thread_id() { return opaque_copy(thread_id()); }

// All waves' LDS accesses before the barrier complete before any after it start.
DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

// The same for global memory too.
DEVICE void global_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

DEVICE float exp2(float x) { return __builtin_amdgcn_exp2f(x); }  // v_exp_f32: 1 ulp, denormal results are 0
DEVICE float log2(float x) { return __builtin_amdgcn_logf(x); }   // v_log_f32: 1 ulp
DEVICE float reciprocal(float x) { return __builtin_amdgcn_rcpf(x); }
DEVICE float max(float a, float b) { return __builtin_fmaxf(a, b); }
DEVICE constexpr int min(int a, int b) { return a < b ? a : b; }
DEVICE int max(int a, int b) { return a > b ? a : b; }
DEVICE int clamp(int x, int low, int high) { return min(max(x, low), high); }

// A set of a wave's lanes, as bits.
#ifdef __GFX9__
using Lanes = uint64_t;
DEVICE Lanes lanes_where(bool x) { return __builtin_amdgcn_ballot_w64(x); }
DEVICE int first_of(Lanes x) { return __builtin_ctzll(x); }
#else
using Lanes = uint32_t;
DEVICE Lanes lanes_where(bool x) { return __builtin_amdgcn_ballot_w32(x); }
DEVICE int first_of(Lanes x) { return __builtin_ctz(x); }
#endif

// True in every lane if x is true in any.
DEVICE bool any_lane(bool x) { return lanes_where(x) != 0; }

// Transposes blocks of 4 rows by 4 elements of 16 bits: column j of 4 rows of 4 elements.
DEVICE u32x2 column(const u32x2* row, int j) {
  const uint32_t select = j % 2 ? 0x07060302u : 0x05040100u;
  return {__builtin_amdgcn_perm(row[1][j / 2], row[0][j / 2], select),
          __builtin_amdgcn_perm(row[3][j / 2], row[2][j / 2], select)};
}

// The value of the lane half a wave away, which owns the same query.
template <class T>
DEVICE T other_half(T x) {
  const int bits = __builtin_bit_cast(int, x);
#ifdef __GFX9__
  return __builtin_bit_cast(T, __builtin_amdgcn_ds_bpermute((thread_id() ^ 32) * 4, bits));
#else
  return __builtin_bit_cast(T, __builtin_amdgcn_permlanex16(bits, bits, 0x76543210, 0xfedcba98, true, false));
#endif
}

// Combines the values that a query's two lanes have. Without a matrix unit, a query has one lane.
#ifdef RAPT_DOT
DEVICE float query_max(float x) { return x; }
DEVICE float query_sum(float x) { return x; }
#else
DEVICE float query_max(float x) { return max(x, other_half(x)); }
DEVICE float query_sum(float x) { return x + other_half(x); }
#endif

// x = fraction * 2^exponent with a fraction in [0.5, 1); 0, Inf and NaN are their own fractions.
DEVICE float exponent_of(float x) { return static_cast<float>(__builtin_amdgcn_frexp_expf(x)); }
DEVICE float fraction_of(float x) { return __builtin_amdgcn_frexp_mantf(x); }

// Rows may begin at any element. Vector loads and stores need 4-byte alignment.
DEVICE bool aligned(const char* row, int64_t stride) {
  return ((reinterpret_cast<uint64_t>(row) | static_cast<uint64_t>(stride)) & 3) == 0;
}
template <class V, int Align>
struct __attribute__((packed, aligned(Align))) Unaligned {
  V value;
};
template <class V, int Align>
DEVICE V load_unaligned(const char* p) {
  return reinterpret_cast<const Unaligned<V, Align>*>(p)->value;
}
// From a base address in SGPRs and a 32-bit offset per lane: an instruction form that the compiler selects only if it
// sees the addition, so the base is an opaque copy.
template <class V, int Align>
DEVICE V load_unaligned(const char* uniform_base, uint32_t lane_offset) {
  using Global = const __attribute__((address_space(1))) char;
  uint64_t address = reinterpret_cast<uint64_t>(uniform_base);
  asm("" : "+s"(address));
  Global* const p = reinterpret_cast<Global*>(address) + lane_offset;
  return reinterpret_cast<const __attribute__((address_space(1))) Unaligned<V, Align>*>(p)->value;
}
template <class V, int Align>
DEVICE void store_unaligned(char* p, V value) {
  reinterpret_cast<Unaligned<V, Align>*>(p)->value = value;
}

}  // namespace rapt::amd
