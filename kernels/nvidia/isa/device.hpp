// The device language: attributes, warp and lane, single instructions of PTX. A wave is a warp.
#pragma once

#include <stdint.h>

#define DEVICE static __device__ __forceinline__
#define DEVICE_MEMBER __device__ __forceinline__
#define KERNEL(threads, workgroups) extern "C" __global__ void __launch_bounds__(threads, workgroups)

namespace rapt::nvidia {

inline constexpr int kWave = 32;
inline constexpr float kLog2e = 1.44269504088896340736f, kLn2 = 0.693147180559945309417f;
inline constexpr float kLowest = -3.402823466e38f;

// Both are read anew at each call. Values that are computed from them again, at the end of a kernel or in each pass
// over the keys, then occupy no registers in between.
DEVICE int thread_id() {
  int id;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(id));
  return id;
}
DEVICE int workgroup_id() {
  int id;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(id));
  return id;
}

DEVICE int uniform(int x) { return x; }  // the same in all lanes: the compiler sees it without help

// All threads' accesses of shared memory before the barrier complete before any access after it starts.
DEVICE void barrier() { __syncthreads(); }
DEVICE void global_barrier() { __syncthreads(); }  // and of global memory
// The same for the lanes of a wave, and for global memory too.
DEVICE void wave_barrier() { __syncwarp(); }
// True in every thread of a workgroup if it is true in any.
DEVICE bool any_thread(bool x) { return __syncthreads_or(x) != 0; }
DEVICE bool any_lane(bool x) { return __any_sync(~0u, x) != 0; }
// A set of a wave's lanes, as bits.
using Lanes = uint32_t;
DEVICE Lanes lanes_where(bool x) { return __ballot_sync(~0u, x); }
DEVICE int first_of(Lanes x) { return __ffs(static_cast<int>(x)) - 1; }

DEVICE float exp2(float x) {  // within 2 ulp; denormal results are 0
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
DEVICE float log2(float x) {  // within 2^-22 for x in [0.5, 2]
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
DEVICE float reciprocal(float x) { return 1 / x; }
DEVICE float max(float a, float b) { return fmaxf(a, b); }
DEVICE int min(int a, int b) { return a < b ? a : b; }
DEVICE int max(int a, int b) { return a > b ? a : b; }
DEVICE int clamp(int x, int low, int high) { return min(max(x, low), high); }
DEVICE uint32_t bits(float x) { return __float_as_uint(x); }
DEVICE float from_bits(uint32_t x) { return __uint_as_float(x); }

// Reduces over a query's four lanes (mma.hpp).
DEVICE float query_max(float x) {
  x = max(x, __shfl_xor_sync(~0u, x, 1));
  return max(x, __shfl_xor_sync(~0u, x, 2));
}
DEVICE float query_sum(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}

// x = fraction * 2^exponent with a fraction in [0.5, 1), for normal x above 0; 0, Inf and NaN are their own fractions.
DEVICE bool has_exponent(float x) { return x > 0 && x < __builtin_inff(); }
DEVICE float exponent_of(float x) {
  return has_exponent(x) ? static_cast<float>(static_cast<int>(bits(x) >> 23) - 126) : 0;
}
DEVICE float fraction_of(float x) { return has_exponent(x) ? from_bits((bits(x) & 0x7FFFFFu) | 0x3F000000u) : x; }

template <class V, int Align>
DEVICE V load_unaligned(const char* p) {
  static_assert(sizeof(V) == Align, "one access");
  return *reinterpret_cast<const V*>(p);
}

// True for rows that can be copied 16 bytes at a time.
DEVICE bool aligned(const char* row, int64_t stride) {
  return ((reinterpret_cast<uint64_t>(row) | static_cast<uint64_t>(stride)) & 15) == 0;
}

}  // namespace rapt::nvidia
